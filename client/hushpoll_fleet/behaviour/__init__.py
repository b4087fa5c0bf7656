"""How simulated respondents behave: when they arrive, and which of them misbehave or poison."""
