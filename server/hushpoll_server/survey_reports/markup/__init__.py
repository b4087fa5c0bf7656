"""How a report looks: its figures, its tables, and its page."""
