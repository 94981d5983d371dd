"""What is measured for contingency tables: integer queries with their sensitivity, and the classes that people name."""
