"""Whether a draft could answer what is wanted, for analysts; nothing of it is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from hushpoll_analysis.auditing.power import AuditAssumptions
from hushpoll_analysis.planning.goals import Goal
from hushpoll_analysis.planning.verdicts import verdicts
from hushpoll_protocols import K_MAX
from hushpoll_protocols.errors import InvalidParameter, ManifestRefused
from hushpoll_server.services.surveys.turns import Turns
from hushpoll_shared.drafts.manifest import Manifest

MOST_WAITING: Final = 4
MOST_CATEGORIES: Final = 1 << 18
"""Most categories of all attributes of a draft together: all are in memory while it is planned."""


class Plans:
    """Computes plans, one at a time: one may keep a core busy for some seconds."""

    def __init__(self) -> None:
        self.turns = Turns("other plans are being computed", most=MOST_WAITING)

    def plan(
        self,
        draft: object,
        goals: Sequence[Mapping[str, Any]],
        population: Mapping[str, Any],
        **more: Any,
    ) -> dict[str, Any]:
        """Return the verdicts of :mod:`hushpoll_analysis.planning.verdicts` on a manifest as JSON.

        `goals` have members of `Goal`, `population` those of `AuditAssumptions`; `more` are n,
        epsilon, delta and crowd. Refused is a draft with more than `MOST_CATEGORIES` categories,
        and a plan while too many others are being computed.
        """
        with self.turns.take():
            wanted, given = [Goal(**goal) for goal in goals], AuditAssumptions(**population)
            require_few_categories(draft)
            try:
                manifest = Manifest.from_dict(draft)
                manifest.resolve()
            except InvalidParameter as error:
                raise ManifestRefused(str(error), field=error.field) from error
            return verdicts(manifest, wanted, given=given, **more)


def require_few_categories(draft: object) -> None:
    """Refuse a draft with many categories before one of its ranges is expanded."""
    attributes = draft.get("attributes") if isinstance(draft, Mapping) else None
    if not isinstance(attributes, list):
        return  # which the manifest refuses
    categories = sum(map(_declared_categories, attributes))
    if categories > MOST_CATEGORIES:
        raise ManifestRefused(
            f"attributes declares {categories} categories together, and a server plans and checks "
            f"drafts of at most {MOST_CATEGORIES}; use hushpoll plan and hushpoll survey publish "
            "--dry-run on your machine, or declare fewer categories",
            field="attributes",
        )


def _declared_categories(attribute: object) -> int:
    """Return how many categories an attribute of a draft has; 0 if it is malformed."""
    match attribute:
        case {"range": [int(low), int(high)]}:
            # a longer range is refused by the manifest, which does not expand it
            return high - low + 1 if 0 <= high - low < K_MAX else 0
        case {"categories": list(categories)}:
            return len(categories)
    return 0
