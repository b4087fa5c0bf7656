"""What an author may write: the fields of a manifest, their JSON Schema, and how they are read."""
