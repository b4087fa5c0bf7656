"""From records and clear rows to features."""
