"""From SQL to a plan: questions to be measured, and work on their answers."""
