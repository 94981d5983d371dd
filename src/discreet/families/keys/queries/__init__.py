"""What is measured of undeclared values, and the class that people name."""
