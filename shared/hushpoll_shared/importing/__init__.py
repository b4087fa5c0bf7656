"""Questionnaires of other tools made into drafts, with a report of every question."""
