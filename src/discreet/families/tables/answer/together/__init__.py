"""All tables of a release together: what they say, and how their answers add up."""
