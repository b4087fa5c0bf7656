"""The files of a report: HTML, PDF and the bundle, from which it is made again offline."""
