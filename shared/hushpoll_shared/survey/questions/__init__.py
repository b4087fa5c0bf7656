"""What a survey asks: its questions, their domains, and which of them depend on each other."""
