"""The figures of the README and the docs: ratios to peers and limits, each measured in one run."""
