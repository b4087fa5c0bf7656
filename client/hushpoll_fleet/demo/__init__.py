"""The demonstration: one survey from publishing to a fairness table, by real commands."""
