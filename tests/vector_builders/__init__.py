"""Golden vectors, shared by every implementation: built here, run by Python and by JavaScript.

``scripts/make_vectors`` writes them to tests/vectors. Everything is deterministic: running it again
gives the same bytes. 64-bit integers are strings of 16 hexadecimal digits, because a JSON number
does not hold them.
"""
