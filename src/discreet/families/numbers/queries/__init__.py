"""What is measured for single numbers: integer queries with their sensitivity, and the classes that people name."""
