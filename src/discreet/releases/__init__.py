"""Release algorithms, the planner, and `release`: kernel verbs plus post-processing.

May import kernel, inference and the rooms below them.
"""
