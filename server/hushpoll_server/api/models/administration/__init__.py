"""Requests and answers of administrators of every survey."""
