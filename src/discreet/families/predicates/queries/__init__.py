"""What is measured for predicates: integer queries with their sensitivity, and the classes that people name."""
