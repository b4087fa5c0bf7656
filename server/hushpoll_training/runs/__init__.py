"""One training with its record: on collected records, in a simulation, or a cell of a grid."""
