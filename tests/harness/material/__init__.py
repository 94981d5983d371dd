"""Small parts that several harnesses and tests share."""
