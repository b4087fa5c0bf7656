"""hushpoll_shared."""
