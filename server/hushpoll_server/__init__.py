"""hushpoll_server."""
