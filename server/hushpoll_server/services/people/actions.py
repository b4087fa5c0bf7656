"""The action log: who looked at, exported, changed or deleted what; never what was sent.

A line names a user or a token's public id, an act, and a survey. The database refuses to change or
delete a line. Looks at the same thing by the same person are one line for ten minutes.
"""

from __future__ import annotations

import threading
from typing import Final

from hushpoll_server.errors import Refused
from hushpoll_server.logs import get_logger
from hushpoll_server.store.users import ActionRow, ActionStore
from hushpoll_shared.spelling.clock import Clock

log = get_logger(__name__)

LOOKED: Final = "looked-at-"
"""How the code of a look begins; the name of what was looked at follows."""
LOOK_SECONDS: Final = 600
MOST_LOOKS: Final = 10_000


class Actions:
    """Records acts, and lists them."""

    def __init__(self, store: ActionStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._lock = threading.Lock()
        self._looks: dict[tuple[str, str, str, int | None, str | None], int] = {}

    def record(
        self,
        actor: str,
        act: str,
        *,
        survey: str | None = None,
        version: int | None = None,
        subject: str | None = None,
    ) -> None:
        """Write one line: `actor`, ``user:NAME`` or ``token:PUBLIC_ID``, did `act` to a survey.

        An act is such as ``exported``. `subject` is a further name: a user, a token's public id, a
        job's id, a format.
        """
        self._store.add(
            at=self._now(), actor=actor, act=act, survey=survey, version=version, subject=subject
        )

    def looked(
        self, actor: str, view: str, survey: str, version: int | None, subject: str | None = None
    ) -> None:
        """Write that a user or token looked at a result, unless the same was written lately.

        The subject is the domain that the result is about, where it is not about all reports.

        A look is answered even where the line cannot be stored; the server's log says so then.
        """
        key, now = (actor, view, survey, version, subject), self._now()
        with self._lock:
            if now < self._looks.get(key, -LOOK_SECONDS) + LOOK_SECONDS:
                return
            if len(self._looks) >= MOST_LOOKS:
                self._looks.clear()
            self._looks[key] = now
        try:
            self.record(actor, f"{LOOKED}{view}", survey=survey, version=version, subject=subject)
        except Refused:
            log.error("look-not-recorded", survey=survey, view=view)
            with self._lock:
                self._looks.pop(key, None)

    def newest(self, most: int, *, survey: str | None = None) -> list[ActionRow]:
        """Return at most so many lines, of one survey or of all, the newest first."""
        return self._store.newest(most, survey=survey)

    def _now(self) -> int:
        return int(self._clock.now().timestamp())
