"""Pages for admins of every survey: users and tokens, and how the server does."""
