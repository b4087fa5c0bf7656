"""Parts of the command line that client and server share (extra ``cli``): options, output."""
