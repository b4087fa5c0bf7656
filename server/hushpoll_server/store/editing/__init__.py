"""What editors make besides published surveys: drafts, and public results."""
