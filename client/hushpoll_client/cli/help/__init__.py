"""What the help of every command has beside its own words: examples, and plain names of numbers."""
