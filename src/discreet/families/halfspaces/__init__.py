"""Linear inequalities over numeric columns."""
