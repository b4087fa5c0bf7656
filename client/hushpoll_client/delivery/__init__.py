"""Requests to a server: connections, retries and deadlines."""
