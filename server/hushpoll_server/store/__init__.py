"""The database: tables, transactions and every statement of the package."""
