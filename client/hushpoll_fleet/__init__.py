"""hushpoll_fleet."""
