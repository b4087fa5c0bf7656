"""Merging groups in clear until no figures together tell of few reports.

A reader without the right to export sees counts of groups by attributes in clear: of a group, how
many reports support each answer. Such figures can be added and subtracted. Write what is computed
as a sum of w(r) y(r) over the reports r, y(r) being what a report says of some answer: every w that
figures can give is a sum of functions of one attribute in clear each. The groups are merged until
each such w that is not zero everywhere has at least ``smallest`` reports with w(r) != 0.

It holds where every report's leverage h(r) in these functions is below 1/(smallest - 1). For w is
its own projection, w(r) = sum of H(r, s) w(s), and |H(r, s)| <= max h; at the report with the
largest |w(r)| it follows that 1 <= (reports with w != 0) * max h. With one attribute h is 1/(size
of the group). With more, h(r) = x(r)' G^+ x(r), x(r) being the report's groups and G their counts
in pairs: which groups meet in a report is known of two at a time, so the largest value of each pair
is taken, and their sum bounds h.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.records.counts import PairCounts, paired_fields
from hushpoll_shared.survey.published import Published

MOST_GROUPS: Final = 256
"""All attributes in clear together have at most so many: the inverse of their counts is needed."""

_ZERO: Final = 1e-11
"""An eigenvalue below it, of counts that are scaled to a diagonal of ones, is zero."""

_ROUNDING: Final = 1e-9
"""Part of the largest leverage that may be lost to rounding: groups at the limit are merged."""

Places = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]


class Merging:
    """Groups while they are being merged."""

    def __init__(self, counts: PairCounts, names: Sequence[str], smallest: int) -> None:
        self._counts = counts
        self._smallest = smallest
        self.places: dict[str, Places] = {
            name: np.arange(len(counts.counts.support[name])) for name in names
        }

    def merge_small(self) -> None:
        """Merge each group of too few reports with the next smallest one."""
        for name in list(self.places):
            while name in self.places and self._sizes(name).min() < self._smallest:
                code = int((self.places[name] == self._sizes(name).argmin()).argmax())
                while name in self.places and self._size_of(name, code) < self._smallest:
                    self._merge(name, int(self.places[name][code]))
        while sum(map(number_of, self.places.values())) > MOST_GROUPS:
            del self.places[max(self.places, key=lambda name: number_of(self.places[name]))]

    def merge_revealing(self) -> None:
        """Merge groups by which figures together would tell of too few reports."""
        while self.places:
            worst = self._revealing()
            if not worst:
                return
            for name in dict.fromkeys(name for name, _ in worst):
                group = next(place for other, place in worst if other == name)
                self._merge(name, group)

    def apart(self) -> Iterator[tuple[str, str]]:
        """Yield the pairs of attributes whose table has a cell of too few reports."""
        for a, b in combinations(self.places, 2):
            cells = self._table(a, b)
            if ((cells > 0) & (cells < self._smallest)).any():
                yield a, b

    def _merge(self, name: str, group: int) -> None:
        """Merge a group with the smallest other one; an attribute of one group is not shown."""
        sizes = self._sizes(name).astype(np.float64)
        sizes[group] = np.inf
        if number_of(self.places[name]) <= 2:
            del self.places[name]
            return
        joined = np.where(self.places[name] == group, int(sizes.argmin()), self.places[name])
        self.places[name] = _in_order(joined)

    def _sizes(self, name: str) -> Places:
        places = self.places[name]
        sizes = np.zeros(number_of(places), np.int64)
        np.add.at(sizes, places, self._counts.counts.support[name])
        return sizes

    def _size_of(self, name: str, code: int) -> int:
        return int(self._sizes(name)[self.places[name][code]])

    def _table(self, a: str, b: str) -> Places:
        joint = self._counts.of_pair(a, b)
        assert joint is not None  # noqa: S101  # `countable` chose them
        return merged_cells(joint.both, self.places[a], self.places[b])

    def _revealing(self) -> list[tuple[str, int]]:
        """Return groups to merge, a smaller one of each pair that meets; none if all is well."""
        limit = (1 - _ROUNDING) / (self._smallest - 1)
        names = list(self.places)
        inverse, starts = self._inverse(names)
        own = {name: inverse[start, start].diagonal() for name, start in starts.items()}
        if len(names) == 1:
            worst = int(own[names[0]].argmax())
            return [(names[0], worst)] if own[names[0]][worst] >= limit else []
        bound, largest = 0.0, (-np.inf, [("", 0)])
        for a, b in combinations(names, 2):
            cells = self._table(a, b) > 0
            both = (own[a][:, None] + own[b][None, :]) / (len(names) - 1)
            both = np.where(cells, both + 2 * inverse[starts[a], starts[b]], -np.inf)
            row, column = np.unravel_index(int(both.argmax()), both.shape)
            bound += float(both[row, column])
            if both[row, column] > largest[0]:
                sizes = self._sizes(a)[row], self._sizes(b)[column]
                smaller = (a, int(row)) if sizes[0] <= sizes[1] else (b, int(column))
                largest = float(both[row, column]), [smaller]
        return largest[1] if bound >= limit else []

    def _inverse(self, names: Sequence[str]) -> tuple[Numbers, dict[str, slice]]:
        """Return the pseudo-inverse of the groups' counts in pairs, and where each one stands."""
        ends = np.cumsum([0, *(number_of(self.places[name]) for name in names)]).tolist()
        starts = {name: slice(ends[at], ends[at + 1]) for at, name in enumerate(names)}
        gram = np.zeros((ends[-1], ends[-1]))
        for name, here in starts.items():
            gram[here, here] = np.diag(self._sizes(name))
        for a, b in combinations(names, 2):
            gram[starts[a], starts[b]] = self._table(a, b)
            gram[starts[b], starts[a]] = gram[starts[a], starts[b]].T
        scale = 1 / np.sqrt(gram.diagonal())
        values, vectors = np.linalg.eigh(gram * scale[:, None] * scale[None, :])
        kept = values > _ZERO
        scaled = vectors[:, kept] * scale[:, None]
        return (scaled / values[kept]) @ scaled.T, starts


def merged_cells(cells: npt.NDArray[Any], rows: Places | None, columns: Places | None) -> Places:
    """Return a table of groups, given that of categories and the group of each; None: as it is."""
    found = np.asarray(cells, dtype=np.int64)
    if rows is not None:
        merged = np.zeros((number_of(rows), found.shape[1]), np.int64)
        np.add.at(merged, rows, found)
        found = merged
    return (
        found if columns is None else np.ascontiguousarray(merged_cells(found.T, columns, None).T)
    )


def merged_support(support: npt.NDArray[Any], places: Places) -> Places:
    """Return the support counts of groups."""
    return merged_cells(support[:, None], places, None)[:, 0]


def countable(published: Published, clear: Mapping[str, Places]) -> list[str]:
    """Return the attributes in clear whose counts in pairs are kept, or the only one there is."""
    paired = {field.name for field in paired_fields(published)}
    kept = [name for name in clear if name in paired]
    return kept or sorted(clear, key=lambda name: len(clear[name]))[:1]


def number_of(places: Places) -> int:
    """Return how many groups there are."""
    return int(places.max()) + 1


def _in_order(places: Places) -> Places:
    """Return groups that are numbered by their first categories."""
    _, first, inverse = np.unique(places, return_index=True, return_inverse=True)
    order = np.empty(len(first), np.int64)
    order[np.argsort(first)] = np.arange(len(first))
    return np.asarray(order[inverse])


def members_of(places: Places) -> list[list[int]]:
    """Return the codes of each group."""
    return [np.flatnonzero(places == group).tolist() for group in range(number_of(places))]
