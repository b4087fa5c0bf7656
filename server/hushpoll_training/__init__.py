"""hushpoll_training."""
