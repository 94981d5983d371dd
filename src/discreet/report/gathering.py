gather = None
