"""What is measured by group: integer queries with their sensitivity, and the classes that people name."""
