"""What is measured for ranges: integer queries with their sensitivity, and the classes that people name."""
