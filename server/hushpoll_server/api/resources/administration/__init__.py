"""What administrators of every survey manage: users, and the server itself."""
