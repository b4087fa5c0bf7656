"""How the server does: load, sealing, disk and jobs, for those who operate it."""

from __future__ import annotations

from hushpoll_server.api.routes import Routes
from hushpoll_server.http.endpoint import services
from hushpoll_shared.wire.documents.administration import OperationsDocument

api = Routes("operations")


@api.operation("GET", "/operations", scope="admin")
def operations() -> OperationsDocument:
    """Return how the server does as a whole; nothing in it is about one survey."""
    return services().operations.look()
