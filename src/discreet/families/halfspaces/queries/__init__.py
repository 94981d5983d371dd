"""What is measured for halfspaces: integer queries with their sensitivity, and the classes that people name."""
