"""Small surveys of one ordered question, with or without a category for skipped answers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.survey.published import Published

MISSING = "no answer"


def ordered(
    protocol: str | None,
    categories: int | list[str],
    epsilon: str = "",
    *,
    missing: bool = False,
    **changes: object,
) -> Published:
    """A survey with the attribute a, whose categories are the numbers 0, 1, 2 ... or as given."""
    names = [str(one) for one in range(categories)] if isinstance(categories, int) else categories
    first: dict[str, object] = {"name": "a", "categories": names}
    first |= {"role": "sensitive", "protocol": protocol} if protocol else {"role": "plain"}
    if missing:
        first["missing"] = MISSING
    attributes = [first]
    if not protocol:
        attributes.append({"name": "z", "role": "sensitive", "protocol": "GRR", "range": [1, 2]})
    draft = {
        "name": "ordered",
        "version": 1,
        "title": "Ordered",
        "epsilon": epsilon or "1",
        "attributes": attributes,
        **changes,
    }
    return Manifest.from_dict(draft).resolve()


def falling(k: int, rate: float = 0.1) -> npt.NDArray[np.float64]:
    """Shares of k categories, each smaller than the one before by the factor e^-rate."""
    shares = np.exp(-rate * np.arange(k))
    return np.asarray(shares / shares.sum())
