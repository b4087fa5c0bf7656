"""The process that takes what devices send: an ASGI application on an event loop.

``application`` routes and answers; ``requests`` reads a request within its limits; ``routes`` has
the routes of devices; ``group_commit`` stores reports that have arrived, with one thread; ``rates``
limits clients; ``forwarding`` hands everything else to the web process; ``connections`` bounds what
a connection may hold. ``processes.ingest`` runs it all under uvicorn.
"""
