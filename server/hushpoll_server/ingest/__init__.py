"""The process that takes what devices send: an ASGI application on an event loop."""
