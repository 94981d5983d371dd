"""Commands on a release file. `compare` alone opens the true table beside it, and says NOT PRIVATE."""
