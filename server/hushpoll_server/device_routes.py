"""The routes of devices, which ``ingest.routes`` answers and OpenAPI documents."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from hushpoll_shared.wire.paths import (
    API_PREFIX,
    redemptions_path,
    reports_path,
    survey_path,
    version_path,
    withdrawals_path,
)

LARGEST_VERSION: Final = 2**31 - 1

Kind = Literal["submit", "read"]
"""What a limit of requests is for."""


@dataclass(frozen=True)
class Route:
    """One route of devices."""

    template: str
    """As metrics and the log name it."""
    method: str
    """The one method besides HEAD (of GET) and OPTIONS."""
    kind: Kind | None = "read"
    """Limit that its requests count for; None is not limited."""
    crosses: bool = False
    """Whether pages of other origins may use it, if the survey's publisher names them."""
    logged: bool = True
    """Whether requests may be logged. A line for each report would be a history of arrivals."""

    @property
    def methods(self) -> str:
        """The methods of CORS."""
        return "GET, HEAD" if self.method == "GET" else self.method

    @property
    def allowed(self) -> str:
        """The value of the ``Allow`` header."""
        return f"{self.methods}, OPTIONS"


def _template(path: tuple[str, ...]) -> str:
    return "/".join((API_PREFIX, *path))


def _sent(path: tuple[str, ...]) -> Route:
    """Return a route to which devices send what tells of them: no request is logged."""
    return Route(_template(path), "POST", kind="submit", crosses=True, logged=False)


_NAME: Final = "<name>"
_VERSION: Final = "<int:version>"

REPORTS: Final = _sent(reports_path(_NAME))
# A body, since an address is written into the logs of proxies.
WITHDRAWALS: Final = _sent(withdrawals_path(_NAME))
REDEMPTIONS: Final = _sent(redemptions_path(_NAME))
SURVEY: Final = Route(_template(survey_path(_NAME)), "GET", crosses=True)
VERSION: Final = Route(_template(version_path(_NAME, _VERSION)), "GET", crosses=True)
HEALTH: Final = Route("/health", "GET", kind=None)
READY: Final = Route("/ready", "GET", kind=None)
ROUTES: Final = (REPORTS, WITHDRAWALS, REDEMPTIONS, SURVEY, VERSION, HEALTH, READY)

# One group for each template, and in it those of its name and version.
_TEMPLATES: Final = re.compile(
    "|".join(
        f"({route.template.replace(_NAME, '([^/]+)').replace(_VERSION, '([0-9]+)')})"
        for route in ROUTES
    ),
    re.DOTALL,
)


class Match(NamedTuple):
    """A route, with the survey's name and version in the path.

    No survey may have such a name; it is empty for other routes.
    """

    route: Route
    name: str = ""
    version: int | None = None


def _groups() -> dict[int, Route]:
    """Return the route of each template, by the number of its group."""
    numbers: dict[int, Route] = {}
    number = 1
    for route in ROUTES:
        numbers[number] = route
        number += 1 + route.template.count("<")
    return numbers


_ROUTE_OF_GROUP: Final = _groups()


def match(path: str) -> Match | None:
    """Return the route of a path; None if it is not a device's."""
    matched = _TEMPLATES.fullmatch(path)
    if matched is None or matched.lastindex is None:
        return None
    # the group of the whole template is closed last
    route = _ROUTE_OF_GROUP[matched.lastindex]
    if route is HEALTH or route is READY:
        return Match(route)
    name = matched[matched.lastindex + 1]
    if route is not VERSION:
        return Match(route, name)
    # Compared as a text: thousands of digits are no number that int() reads.
    version = matched[matched.lastindex + 2]
    small = len(version) <= len(str(LARGEST_VERSION))
    return Match(route, name, int(version) if small else LARGEST_VERSION + 1)
