"""Who answers: simulated respondents, drawn from a described population or read from a file."""
