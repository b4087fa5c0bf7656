"""What qualifies a result: its verdict, of which reports it is, and what its numbers can be."""
