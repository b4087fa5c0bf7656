"""What is predicted where questions are randomised together."""
