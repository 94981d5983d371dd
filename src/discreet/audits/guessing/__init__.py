"""Lower bounds on epsilon from a guessing game: which of two neighbouring tables was it?"""
