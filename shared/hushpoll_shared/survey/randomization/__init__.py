"""What is randomised together, as a block or in a draw, and with which share of the budget."""
