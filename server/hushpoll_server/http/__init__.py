"""The HTTP surface: one blueprint per resource."""
