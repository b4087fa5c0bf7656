"""How far fake reports can move a result, and a test that finds careless ones."""
