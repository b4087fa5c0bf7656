"""The hosted survey page: what its form asks, and the files that it loads."""
