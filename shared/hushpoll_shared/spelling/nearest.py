"""The name that was probably meant by one that does not exist."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Final

from hushpoll_shared.spelling.text import show

_MOST_NAMED: Final = 20


def nearest_name(given: str, names: Sequence[str]) -> str | None:
    """Return the nearest of the known names, whatever the case; None if none is near."""
    folded = {name.casefold(): name for name in reversed(names)}
    close = difflib.get_close_matches(given, names, n=1)
    close = close or [folded[one] for one in difflib.get_close_matches(given.casefold(), folded)]
    return close[0] if close else None


def remedy_for(given: str, names: Sequence[str]) -> str:
    """Return what a refusal ends with: the nearest name, and those that there are."""
    listed = ", ".join(names[:_MOST_NAMED]) + (" ..." if len(names) > _MOST_NAMED else "")
    close = nearest_name(given, names)
    if close is not None:
        return f"; did you mean {show(close)}? There are {listed}"
    return f"; give one of {listed}"
