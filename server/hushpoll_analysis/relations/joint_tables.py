"""The joint table of two or three attributes as it is shown: unbiased shares, and likelihood.

By maximum likelihood a table is consistent and never negative, without an interval. A record's
likelihood given its answers is the product of one factor per attribute: 1 where the record supports
the answer, and 1/r where not, r being the protocol's likelihood ratio (1/r = 0 in clear). With
l_i(v) the product for record i and the cell v, the shares f of the cells have the log-likelihood

    L(f) = sum over records of ln(sum over cells of l_i(v) f_v),

which is concave. Expectation-maximisation multiplies each f_v by m_v, the mean over records of
l_i(v) over the likelihood at f (Dempster, Laird and Rubin, JRSS B 39, 1977). Two such steps are
extrapolated as by Varadhan and Roland (Scandinavian Journal of Statistics 35, 2008, scheme S3),
where that does not lower L. At any f the maximum is at most n ln(max m) above L(f) (Cover, IEEE
Trans. Inf. Theory 30, 1984): that bound decides when to stop.

The table is never negative, sums to 1, and its margins agree with each other. It is biased where
cells are rare, so no interval is given for it; the unbiased table beside it has intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.estimates.cross_table import CrossTable, cross_table
from hushpoll_analysis.estimates.frequencies import require_rows
from hushpoll_analysis.frames.tabular import Tabular, filled
from hushpoll_analysis.records.answering import require_answered
from hushpoll_analysis.records.records import CELLS, Records
from hushpoll_analysis.relations.three_way import (
    JointTableDocument,
    TableSide,
    UnbiasedTable,
    as_asked,
    table_attributes,
    table_sides,
    three_way_table,
)
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.estimation.likelihood import distinct_supports
from hushpoll_protocols.estimation.marginals import Marginal, UnevenSets
from hushpoll_shared.survey.published import Published

Array = npt.NDArray[np.float64]
Supports = npt.NDArray[np.uint8]

TOLERANCE = 1e-3
"""Accepted deficit of the log-likelihood, nats: within 0.045 standard errors of the maximum."""

MOST_ITERATIONS = 2_000

NO_INTERVAL = (
    "Maximum likelihood shares have no interval: they are biased where cells are rare. The "
    "unbiased shares beside them have intervals."
)


@dataclass(frozen=True, slots=True)
class LikelihoodTable:
    """The joint shares under which the records are likeliest; no interval.

    Attributes
    ----------
    attributes : tuple of str
        In the order of the axes.
    categories : tuple of tuple of str
        Of each attribute, in code order.
    n : int
        Records behind it.
    frequency : f64[k1, k2] or f64[k1, k2, k3]
        In [0, 1], summing to 1.
    deficit : float
        Nats by which the log-likelihood may be below its maximum.
    iterations : int
        Passes over the records.
    """

    attributes: tuple[str, ...]
    categories: tuple[tuple[str, ...], ...]
    n: int
    frequency: Array
    deficit: float
    iterations: int


def likelihood_table(
    records: Records,
    attributes: Sequence[str],
    *,
    tolerance: float = TOLERANCE,
    max_iterations: int = MOST_ITERATIONS,
    on_progress: Callable[[float], object] | None = None,
) -> LikelihoodTable:
    """Return the joint table of two or three attributes by maximum likelihood.

    Assumptions: respondents are drawn independently from their population, and their devices follow
    the protocol.

    Parameters
    ----------
    records : Records
        Held at once; each pass reads all of them.
    attributes : sequence of str
        Two or three different ones, each perturbed or in clear.
    tolerance : float
        Nats, above 0; see `TOLERANCE`.
    max_iterations : int
        Passes over the records after which the table is returned as it is, at least 1; its
        `deficit` is then above the tolerance.
    on_progress : callable, optional
        Called after each pass with the part that is done, in [0, 1], by the logarithm of the
        deficit.

    Raises
    ------
    InvalidParameter
        As :func:`hushpoll_analysis.relations.three_way.table_attributes`; for a parameter outside
        its interval, or no records.
    """
    if not tolerance > 0:
        raise InvalidParameter(
            f"tolerance is {tolerance!r}, not above 0; give nats such as {TOLERANCE}",
            field="tolerance",
        )
    if max_iterations < 1:
        raise InvalidParameter(
            f"max_iterations is {max_iterations!r}; give at least 1", field="max_iterations"
        )
    chosen = table_attributes(records.published, attributes)
    require_rows(len(records))
    sides = table_sides(records.published, chosen)
    for side in sides:
        _refuse_part(records.published, side)
    likelihood = _Likelihood(records, sides)
    frequency, deficit, iterations = _maximise(
        likelihood, tolerance, max_iterations, on_progress or (lambda _: None)
    )
    return LikelihoodTable(
        attributes=tuple(attributes),
        categories=tuple(attribute.domain for attribute in chosen),
        n=len(records),
        frequency=as_asked(frequency, sides, chosen),
        deficit=deficit,
        iterations=iterations,
    )


def _refuse_part(published: Published, side: TableSide) -> None:
    block = published.block_of(side.names[0])
    if isinstance(side.law, Marginal | UnevenSets) and block is not None:
        others = [one.name for one in block.questions if one.name not in side.names]
        raise InvalidParameter(
            f"{', '.join(side.names)} is randomised together with {', '.join(others)}, in the "
            f"block {block.name}, and how likely a record is depends on all of them; name all "
            "questions of the block, or ask for the table without the likelihood",
            field="attributes",
        )


class _Likelihood:
    """The log-likelihood of joint shares, f64[cells], from the distinct supports of records."""

    def __init__(self, records: Records, sides: Sequence[TableSide]) -> None:
        self.n = len(records)
        self._sizes = [side.k for side in sides]
        self._outside = [
            0.0
            if side.law is None or isinstance(side.law, Marginal | UnevenSets)
            else float(1 / side.law.likelihood_ratio)
            for side in sides
        ]
        parts = [side.numbers(records).astype(np.uint8) for side in sides]
        if len(sides) == 1:
            # a last side with one category that every record has
            self._sizes.append(1)
            self._outside.append(0.0)
            parts.append(np.ones((self.n, 1), np.uint8))
        supports = np.hstack(parts)
        self._supports, self._weights = distinct_supports(supports)
        self.cells = int(np.prod(self._sizes))
        self._rows = max(1, CELLS // self.cells)

    def at(self, frequency: Array) -> tuple[Array, float]:
        """Return the multipliers m f64[cells], and L."""
        last = self._sizes[-1]
        table, sums, total = frequency.reshape(-1, last), np.zeros((self.cells // last, last)), 0.0
        for start in range(0, len(self._supports), self._rows):
            rows = slice(start, start + self._rows)
            left, right = self._factors(self._supports[rows])
            likelihood = ((left @ table) * right).sum(axis=1)
            weights = self._weights[rows]
            total += float(weights @ np.log(likelihood))
            sums += left.T @ (right * (weights / likelihood)[:, None])
        return sums.ravel() / self.n, total

    def _factors(self, supports: Supports) -> tuple[Array, Array]:
        """Return the likelihoods of all attributes but the last, and of the last."""
        ends = np.cumsum(self._sizes)
        parts: list[Array] = [
            np.asarray(outside + (1.0 - outside) * supports[:, end - size : end], np.float64)
            for size, end, outside in zip(self._sizes, ends, self._outside, strict=True)
        ]
        left = parts[0]
        for part in parts[1:-1]:
            left = (left[:, :, None] * part[:, None, :]).reshape(len(left), -1)
        return left, parts[-1]


def _maximise(
    likelihood: _Likelihood, tolerance: float, most: int, tell: Callable[[float], object]
) -> tuple[Array, float, int]:
    current = np.full(likelihood.cells, 1 / likelihood.cells)
    multipliers, reached = likelihood.at(current)
    passes, started = 1, None
    while True:
        deficit = likelihood.n * float(np.log(max(multipliers.max(), 1.0)))
        started = started or max(deficit, tolerance)
        steps = np.log(started / tolerance)
        if deficit <= tolerance or passes >= most:
            tell(1.0)
            return current, deficit, passes
        tell(min(1.0, max(0.0, float(np.log(started / deficit) / steps))))
        first = _normalised(current * multipliers)
        multipliers, _ = likelihood.at(first)
        second = _normalised(first * multipliers)
        passes += 1
        step, bend = first - current, second - 2 * first + current
        length = float(np.sqrt(step @ step)) / max(float(np.sqrt(bend @ bend)), 1e-300)
        tried = second
        if length > 1:
            far = current + 2 * length * step + length**2 * bend
            # a share nears 0 by a factor and is never set to it
            tried = _normalised(np.maximum(far, second / 100))
        multipliers, likely = likelihood.at(tried)
        passes += 1
        if likely < reached and tried is not second:
            tried = second
            multipliers, likely = likelihood.at(tried)
            passes += 1
        current, reached = tried, likely


def _normalised(frequency: Array) -> Array:
    return np.asarray(frequency / frequency.sum())


@dataclass(frozen=True, slots=True)
class JointTable(Tabular):
    """Unbiased shares with intervals, and beside them those by maximum likelihood.

    Attributes
    ----------
    unbiased : UnbiasedTable
        Of two or of three attributes.
    likelihood : LikelihoodTable or None
        Of the same cells, without an interval.
    """

    statistic_name: ClassVar[str] = "joint-table"

    unbiased: UnbiasedTable
    likelihood: LikelihoodTable | None

    def to_dict(self) -> JointTableDocument:
        """Return the table as the job and ``--json`` give it: one entry per cell."""
        table, likely = self.unbiased.to_dict(), self.likelihood
        if likely is not None:
            for cell, share in zip(table["cells"], likely.frequency.ravel().tolist(), strict=True):
                cell["likelihood"] = share
            table["likelihood"] = {
                "interval": NO_INTERVAL,
                "deficit": likely.deficit,
                "iterations": likely.iterations,
            }
        return table


def joint_table(
    records: Records,
    attributes: Sequence[str],
    *,
    confidence: float = 0.95,
    likelihood: bool = True,
    on_progress: Callable[[float], object] | None = None,
) -> JointTable:
    """Estimate the joint table of two or three attributes.

    Parameters
    ----------
    records : Records
        Held at once.
    attributes : sequence of str
        Two or three different ones.
    confidence : float
        Of each interval, in (0, 1).
    likelihood : bool
        Whether to compute the shares by maximum likelihood as well.
    on_progress : callable, optional
        See :func:`hushpoll_analysis.relations.joint_tables.likelihood_table`.

    Raises
    ------
    InvalidParameter
        As :func:`hushpoll_analysis.relations.three_way.three_way_table`.
    """
    table_attributes(records.published, attributes)
    require_answered(records.published, attributes)
    records = records.answering(attributes)
    if len(attributes) == 2:
        a, b = attributes
        unbiased = _as_table(cross_table(records, a, b, confidence=confidence))
    else:
        a, b, c = attributes
        unbiased = three_way_table(records, a, b, c, confidence=confidence)
    likely = likelihood_table(records, attributes, on_progress=on_progress) if likelihood else None
    return JointTable(unbiased, likely)


def _as_table(table: CrossTable) -> UnbiasedTable:
    return filled(
        UnbiasedTable,
        table,
        attributes=(table.a, table.b),
        categories=(table.categories_a, table.categories_b),
    )
