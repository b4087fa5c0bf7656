"""The words of reports, charts and public results in each language, and its numbers."""
