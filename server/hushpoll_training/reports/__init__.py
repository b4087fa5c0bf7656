"""Reports and model cards as text and as HTML."""
