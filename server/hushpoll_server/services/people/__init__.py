"""People who sign in: users, their roles in surveys, their sessions, and the log of their acts."""
