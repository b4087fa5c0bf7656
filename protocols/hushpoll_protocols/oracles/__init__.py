"""The protocols: one module each, with its privacy rule, its law and its randomizer."""
