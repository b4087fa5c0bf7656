"""How a fleet sends: over HTTP by real clients, in bulk, into a file, or from a cluster."""
