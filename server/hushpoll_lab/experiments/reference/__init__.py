"""The reference engine: the paper's way, respondent by respondent."""
