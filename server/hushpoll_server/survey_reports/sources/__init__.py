"""What a report is made from: the choices, the counts of one release, and facts about it."""
