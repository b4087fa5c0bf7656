"""hushpoll_protocols."""
