"""Central differential privacy: mechanisms that a curator runs on rows in clear, and accounting."""
