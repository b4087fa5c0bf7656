"""What the server does, without HTTP and without SQL."""
