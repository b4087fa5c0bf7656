"""The protected attribute's groups, as codes per row."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from hushpoll_shared.survey.published import Published
from hushpoll_training.evaluation.metrics import NEITHER


def groups(
    published: Published, codes: Mapping[str, npt.NDArray[np.int64]]
) -> npt.NDArray[np.int64] | None:
    """Return 1 privileged, 0 unprivileged, -1 neither per clear row; None if none is declared."""
    protected = published.protected
    if protected is None:
        return None
    domain = published.attribute(protected.attribute).domain
    side = np.full(len(domain), NEITHER, dtype=np.int64)
    side[[domain.index(category) for category in protected.privileged]] = 1
    side[[domain.index(category) for category in protected.unprivileged]] = 0
    return side[codes[protected.attribute]]
