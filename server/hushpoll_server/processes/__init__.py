"""The processes of ``hushpoll serve``: the parent, and the children that it starts."""
