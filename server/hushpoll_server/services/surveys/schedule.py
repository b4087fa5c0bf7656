"""When a survey's periods end: each end is a chance of a release, the same for everybody."""

from __future__ import annotations

from typing import Final

from hushpoll_shared.survey.terms import DAILY, WEEKLY

DAY_SECONDS: Final = 86_400
# 1970 began on a Thursday; weeks begin on Mondays.
FIRST_MONDAY: Final = 4 * DAY_SECONDS
_PERIODS: Final = {DAILY: (DAY_SECONDS, 0), WEEKLY: (7 * DAY_SECONDS, FIRST_MONDAY)}


def period_end(release: str, now: int) -> int | None:
    """Return the first end of a period of a release's term after `now`, in seconds since 1970, UTC.

    That is midnight UTC, of every day or before a Monday; None where releases do not go by periods.
    """
    if release not in _PERIODS:
        return None
    length, first = _PERIODS[release]
    return ((now - first) // length + 1) * length + first
