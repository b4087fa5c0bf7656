"""Pages that compare: the answers of groups, and of two waves or surveys."""
