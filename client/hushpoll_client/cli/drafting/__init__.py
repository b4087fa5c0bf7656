"""Commands that write surveys: drafts that a server checks and keeps."""
