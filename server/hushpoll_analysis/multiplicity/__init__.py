"""Many answers at once: intervals that hold together or at every look, and discoveries."""
