"""What is done without being asked: sealing, retention, and the samples for metrics."""
