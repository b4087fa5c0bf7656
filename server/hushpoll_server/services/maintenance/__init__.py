"""Work by the clock: sealing, retention, and the samples for metrics."""
