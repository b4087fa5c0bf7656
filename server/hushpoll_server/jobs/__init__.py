"""The worker's side of background jobs: queue, kinds of work, and the process around them."""
