"""Learners that are private by noise of their own: a curator fits them to rows in clear."""
