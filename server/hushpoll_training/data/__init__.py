"""The rows that a training is given: records, clear rows, files of codes, and the target."""
