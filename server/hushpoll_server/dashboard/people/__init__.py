"""People and programs that come in: sign-in, the account, users, roles, tokens, the action log."""
