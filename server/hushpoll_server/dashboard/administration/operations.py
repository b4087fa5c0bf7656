"""How the server does: load, sealing, disk and jobs, for admins of every survey."""

from __future__ import annotations

from typing import Final

from flask import Response

from hushpoll_server.dashboard.frame import dashboard, member, page, private
from hushpoll_server.errors import Refused
from hushpoll_server.http.endpoint import services

LOOK_AGAIN_SECONDS: Final = 5
# Below this share of the disk, the page warns.
LITTLE_ROOM: Final = 0.1


@dashboard.get("/operations")
@private
def operations() -> Response:
    """Show how the server does, and keep the figures up to date while the page is seen."""
    if not member().administers:
        raise Refused("forbidden", "this needs an administrator of every survey; ask one")
    look = services().operations.look()
    free, whole = look["disk_free_bytes"], look["disk_bytes"]
    return page(
        "operations.html",
        o=look,
        little_room=whole is not None and free is not None and free < LITTLE_ROOM * whole,
        goes_on=LOOK_AGAIN_SECONDS,
    )
