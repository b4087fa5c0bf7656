"""Published surveys, who may do what with them, and when their periods end."""
