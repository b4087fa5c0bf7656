"""How simulated respondents behave: when they arrive, and which misbehave or send fake reports."""
