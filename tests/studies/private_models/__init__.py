"""Studies of certificates for private models, and of what the papers report of them."""
