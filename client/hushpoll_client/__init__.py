"""hushpoll_client."""
