"""Published surveys, the tokens and origins that may use them, and the ends of their periods."""
