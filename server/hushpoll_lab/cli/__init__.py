"""The commands of data sets, experiments and certificates."""
