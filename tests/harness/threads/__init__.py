"""The drills of the concurrency audit, and the world that they run in."""
