"""Whether a draft could answer what is wanted, for analysts; nothing of it is stored."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any, Final

from hushpoll_analysis.planning.goals import Goal
from hushpoll_analysis.planning.power import AuditAssumptions
from hushpoll_analysis.planning.verdicts import verdicts
from hushpoll_protocols.errors import InvalidParameter, ManifestRefused
from hushpoll_server.errors import Refused
from hushpoll_shared.survey.manifest import Manifest

WAIT_SECONDS: Final = 0.1
RETRY_AFTER_SECONDS: Final = 5


class Plans:
    """Computes plans, one at a time: one may keep a core busy for some seconds."""

    def __init__(self) -> None:
        self._turn = threading.Lock()

    def plan(
        self,
        draft: object,
        goals: Sequence[Mapping[str, Any]],
        population: Mapping[str, Any],
        **more: Any,
    ) -> dict[str, Any]:
        """Return what :func:`hushpoll_analysis.planning.verdicts.verdicts` says.

        Parameters
        ----------
        draft : object
            The manifest as JSON.
        goals : sequence of mapping
            Members of `Goal`.
        population : mapping
            Members of `AuditAssumptions`.
        **more
            n, epsilon, delta and crowd.

        Raises
        ------
        Refused
            ``unavailable``: another plan is being computed.
        ManifestRefused
            The draft is no manifest.
        InvalidParameter
            A goal, or a number, is outside its interval.
        """
        if not self._turn.acquire(timeout=WAIT_SECONDS):
            raise Refused(
                "unavailable",
                f"another plan is being computed; send the same after {RETRY_AFTER_SECONDS} s",
                retry_after=RETRY_AFTER_SECONDS,
            )
        try:
            wanted, given = [Goal(**goal) for goal in goals], AuditAssumptions(**population)
            try:
                manifest = Manifest.from_dict(draft)
                manifest.resolve()
            except InvalidParameter as error:
                raise ManifestRefused(str(error), field=error.field) from error
            return verdicts(manifest, wanted, given=given, **more)
        finally:
            self._turn.release()
