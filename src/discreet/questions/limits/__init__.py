"""What a question may cost those who answer it: how long it may become when it is written out, and how much work it may make."""
