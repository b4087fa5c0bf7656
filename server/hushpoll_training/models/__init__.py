"""Fitted models: used, saved, and read again safely."""
