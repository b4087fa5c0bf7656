"""Attributes in clear whose answers a reader's figures may combine, so that none is about few.

The groups of :mod:`hushpoll_analysis.records.hidden_groups` hold for figures that are sums of
functions of one attribute in clear each. A regression on several is a function of how many reports
are in each cell of all of them together. So one set of attributes is chosen for a survey, whatever
is asked: figures are then sums of a function of that set's cells and of functions of one attribute
each. The theorem of :mod:`hushpoll_analysis.records.merging` holds for these, too: each such sum
that is not zero everywhere has at least ``smallest`` reports where every report's leverage is below
1/(smallest - 1). With the records at hand the leverage is computed, not bounded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.records.hidden_groups import ClearGroups
from hushpoll_analysis.records.merging import MOST_GROUPS
from hushpoll_analysis.records.records import Records
from hushpoll_protocols.errors import InvalidParameter

Places = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]

_ZERO: Final = 1e-11
"""An eigenvalue below it, of counts that are scaled to a diagonal of ones, is zero."""
_ROUNDING: Final = 1e-9
"""Part of the largest leverage that may be lost to rounding: attributes at the limit are left."""


@dataclass(frozen=True)
class JointGroups:
    """The attributes in clear that figures of one survey may combine."""

    groups: ClearGroups
    """What may be seen of each alone."""
    together: tuple[str, ...]
    """In the order of the manifest; fewer than two: none may be combined."""

    def require(self, names: Sequence[str], *, field: str) -> None:
        """Refuse attributes in clear that may not be combined."""
        if len(names) < 2 or set(names) <= set(self.together):
            return
        allowed = "one attribute in clear, alone"
        if len(self.together) > 1:
            allowed += f", or {' and '.join(self.together)} together"
        raise InvalidParameter(
            f"{' and '.join(names)} are answered in clear, and by all together figures can be "
            f"about fewer than {self.groups.smallest} reports. Readers without the right to export "
            f"ask for {allowed}; {self.groups.remedy}",
            field=field,
        )


def joint_groups(groups: ClearGroups, records: Records) -> JointGroups:
    """Return the attributes that may be combined, of all reports of a survey that has ended.

    An attribute joins, in the order of their numbers of groups, where figures still tell of no
    fewer reports than each group has.
    """
    codes = {name: places[records.codes(name)] for name, places in groups.places.items()}
    order = sorted(codes, key=lambda name: int(groups.places[name].max()))
    if groups.smallest <= 1:
        return JointGroups(groups, tuple(name for name in codes))
    chosen: list[str] = []
    for name in order:
        tried = [*chosen, name]
        if _enough(codes, tried, groups.smallest):
            chosen = tried
    return JointGroups(groups, tuple(name for name in codes if name in chosen))


def _enough(codes: Mapping[str, Places], tried: Sequence[str], smallest: int) -> bool:
    """Return whether no figure is about fewer reports where these attributes are combined."""
    cells = _cells([codes[name] for name in tried])
    sizes = np.bincount(cells)
    if sizes.min() < smallest or len(sizes) > MOST_GROUPS:
        return False
    parts = [cells, *(code for name, code in codes.items() if name not in tried)]
    distinct, counts = np.unique(np.stack(parts, axis=1), axis=0, return_counts=True)
    rows = np.hstack([np.eye(int(part.max()) + 1)[part] for part in distinct.T])
    limit = (1 - _ROUNDING) / (smallest - 1)
    return bool(_leverages(rows, counts.astype(np.float64)).max() < limit)


def _cells(codes: Sequence[Places]) -> Places:
    found = np.zeros(len(codes[0]), np.int64)
    for code in codes:
        joined = found * (int(code.max(initial=0)) + 1) + code
        found = np.unique(joined, return_inverse=True)[1].astype(np.int64)
    return found


def _leverages(rows: Numbers, counts: Numbers) -> Numbers:
    """Return x' G^+ x of distinct rows x that come so often, G the sum of x x'."""
    gram = (rows * counts[:, None]).T @ rows
    scale = 1 / np.sqrt(np.maximum(gram.diagonal(), 1.0))
    values, vectors = np.linalg.eigh(gram * scale[:, None] * scale[None, :])
    kept = values > _ZERO
    found = (rows * scale) @ vectors[:, kept]
    return np.asarray((found**2 / values[kept]).sum(axis=1), np.float64)
