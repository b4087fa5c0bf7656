"""hushpoll_analysis."""
