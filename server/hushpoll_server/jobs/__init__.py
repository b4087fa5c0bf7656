"""The worker: the table of kinds of jobs, what each kind does, and the process around them."""
