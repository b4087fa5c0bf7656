"""The processes of ``hushpoll serve``: the parent, and what it starts."""
