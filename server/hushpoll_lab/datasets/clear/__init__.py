"""Data sets as people's rows in clear, with numbers: for learners that a curator runs."""
