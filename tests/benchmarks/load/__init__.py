"""What a server takes: honest reports, too many of them, and clients that cost it something.

Run by ``scripts/load``. Cases are in ``honest`` (reports as fast as they are taken, beside a peer
and beside slow clients), ``overload`` (more than is taken), ``analysts``, ``fleet``, ``workers``
(two servers that are restarted in turn) and ``carriers`` (uvicorn beside granian). ``wrk`` and
``open_loop`` send reports, ``hostile`` holds slow connections, ``figures`` prints.
"""
