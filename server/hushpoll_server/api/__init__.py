"""The operations of the API: one blueprint per resource."""
