"""What the commands of both sides share (extra ``cli``)."""
