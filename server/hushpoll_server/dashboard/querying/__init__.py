"""The form and the page of any query, read from its declaration."""
