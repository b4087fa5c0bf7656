"""The analyst's side of the API."""
