"""The results of several queries in one table, a row an estimate."""
