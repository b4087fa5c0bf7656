"""A test of whether reports look like those that devices make: it finds careless fake reports.

What a record *says* depends on its answer, but parts of its *shape* have the same law for all:

- OUE, RAPPOR, THE: the number of set bits is a Bernoulli(p) plus a binomial(k-1, q).
- BLH, OLH: the words a and b are uniform, no two reports share a, the bucket y is uniform, and the
  number of supported categories is p + (k-1)/g on average.
- A draw: each block is chosen by a binomial(n, s/d) of the n devices.
- SS fixes the number of bits (another one is malformed), and GRR names one code: nothing is left.

So the law under honest reports is known exactly, without knowing the population. Fakes of the
maximal gain attack set few bits or all, random bytes set half of them, and copies repeat a hash.
An attacker who draws the rest of a record like a device passes the test;
:mod:`hushpoll_analysis.estimates.influence` bounds what such a careful attacker can do.

Each p-value is valid for any number of reports: exact binomial tails, the inequality of Dvoretzky,
Kiefer and Wolfowitz, the birthday bound, and, for the mean support of local hashing, Maurer and
Pontil's empirical Bernstein inequality (COLT 2009). They are joined by Bonferroni. No p-value rests
on a normal approximation, which is worst in the tails.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.estimates.frequencies import require_rows
from hushpoll_analysis.frames.tabular import Tabular
from hushpoll_analysis.records.records import CELLS, Records, RecordStream
from hushpoll_protocols import FrequencyOracle
from hushpoll_protocols.kernels import indicators
from hushpoll_protocols.record_forms import BitForm, CodeForm
from hushpoll_shared.jobs.analyses import SHAPE_ALPHA
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_shared.survey.codec import Field, Mask


def upper_tail(count: int, n: int, probability: float) -> float:
    """Return Pr[X >= count] for X binomial(n, probability), or 1 where count is below the mean."""
    if count <= n * probability:
        return 1.0
    from scipy.special import bdtrc  # slow to import, and a server starts without it

    return float(bdtrc(count - 1, n, probability))


def largest_excess(
    counts: npt.NDArray[np.int64], law: npt.NDArray[np.float64]
) -> tuple[float, int]:
    """Return a p-value for the cell of a multinomial that is fullest beyond chance, and the cell.

    The smallest exact tail over the cells f64[m] times their number (Bonferroni) is under the law
    at most x with probability at most x.
    """
    n = int(counts.sum())
    if n == 0:
        return 1.0, 0
    # Chernoff's bound is at least the tail, so only the cells with the lowest bounds are summed.
    share = counts / n
    with np.errstate(divide="ignore", invalid="ignore"):
        hit = np.where(counts > 0, share * np.log(share / law), 0.0)
        miss = np.where(counts < n, (1 - share) * np.log((1 - share) / (1 - law)), 0.0)
    exponent = np.where(share > law, n * (hit + miss), 0.0)
    best, cell = 1.0, int(exponent.argmax())
    for at in np.argsort(-exponent)[:_SUMMED].tolist():
        tail = upper_tail(int(counts[at]), n, float(law[at]))
        if tail < best:
            best, cell = tail, at
    return min(1.0, best * len(counts)), cell


_SUMMED = 8
"""Cells whose tails are summed; the order of the bounds is that of the tails, nearly."""


def uniform_distance(counts: npt.NDArray[np.int64], law: npt.NDArray[np.float64]) -> float:
    """Return a p-value for the largest distance of two distribution functions.

    It is Massart's constant in the inequality of Dvoretzky, Kiefer and Wolfowitz: valid for every n
    and for a law of steps.
    """
    n = int(counts.sum())
    if n == 0:
        return 1.0
    distance = float(np.abs(np.cumsum(counts / n - law)).max())
    return min(1.0, 2 * math.exp(-2 * n * distance**2))


def bernoulli_plus_binomial(p: float, n: int, q: float) -> npt.NDArray[np.float64]:
    """Return the law f64[n + 2] of B + X, B Bernoulli(p) and X binomial(n, q), q in (0, 1)."""
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])
    hits = np.arange(n + 1)
    law = np.exp(logs[n] - logs - logs[::-1] + hits * math.log(q) + (n - hits) * math.log1p(-q))
    total = np.zeros(n + 2)
    total[:-1] += (1 - p) * law
    total[1:] += p * law
    return np.asarray(total / total.sum())


ALPHA = SHAPE_ALPHA
"""Chance, at most, that a survey without a fake is flagged."""

_WORD = 2.0**64


@dataclass(frozen=True, slots=True)
class AttributeShape:
    """What one attribute's reports look like."""

    name: str
    protocol: str | None
    """None in clear."""
    p_value: float | None
    """Valid in any number of reports; None where nothing of a report's shape is fixed."""
    finding: str
    """What deviates most, or why there is nothing to test."""


@dataclass(frozen=True, slots=True)
class ReportShape(Tabular):
    """Whether a survey's reports look like those that devices make."""

    statistic_name: ClassVar[str] = "shape"

    n: int
    attributes: tuple[AttributeShape, ...]
    alpha: float = ALPHA
    """Chance, at most, that honest reports are flagged."""

    @property
    def p_value(self) -> float | None:
        """Over all attributes (Bonferroni); None where no attribute can be tested."""
        p_values = [shape.p_value for shape in self.attributes if shape.p_value is not None]
        return min(1.0, len(p_values) * min(p_values)) if p_values else None

    @property
    def flagged(self) -> bool:
        """Whether honest devices would hardly have sent these reports."""
        return self.p_value is not None and self.p_value <= self.alpha

    def to_dict(self) -> JsonMembers:
        """Return the test as the API and ``--json`` give it."""
        return {
            "n": self.n,
            "alpha": self.alpha,
            "p_value": self.p_value,
            "flagged": self.flagged,
            "attributes": [asdict(shape) for shape in self.attributes],
        }


def report_shape(records: Records | RecordStream, *, alpha: float = ALPHA) -> ReportShape:
    """Test the shape of records against the law of honest devices.

    Records are read in blocks; of local hashing 8 bytes a record are kept. `alpha` is the chance,
    at most, that honest reports are flagged.
    """
    layout = records.published.layout
    tests = {field.name: _test_of(field) for field in layout.fields}
    masks = [_Masks(mask) for mask in layout.masks]
    n = 0
    for block in records.blocks(CELLS // max(field.k for field in layout.fields)):
        n += len(block)
        for field in layout.fields:
            tests[field.name].add(block.answers_of(field))
        for mask in masks:
            mask.add(block.rows[:, mask.place])
    require_rows(n)
    return ReportShape(n, tuple(test.shape() for test in (*tests.values(), *masks)), alpha)


class _Masks:
    """How often each block of a draw was chosen: fakes for one question choose its block always."""

    def __init__(self, mask: Mask) -> None:
        self.place = slice(mask.offset, mask.end)
        self._draw = mask.draw
        self._chosen = np.zeros(len(mask.draw.blocks), np.int64)
        self._n = 0

    def add(self, part: npt.NDArray[np.uint8]) -> None:
        d = len(self._chosen)
        self._chosen += np.unpackbits(part, axis=1, count=d, bitorder="little").sum(
            axis=0, dtype=np.int64
        )
        self._n += len(part)

    def shape(self) -> AttributeShape:
        draw, share = self._draw, float(1 / self._draw.weight)
        # The number who answer a block is binomial; all of them together are not multinomial.
        tails = [
            min(upper_tail(count, self._n, share), upper_tail(self._n - count, self._n, 1 - share))
            for count in self._chosen.tolist()
        ]
        at = int(np.argmin(tails))
        what = (
            f"{self._chosen[at]} of {self._n} records answer {draw.blocks[at]}, where "
            f"{self._n * share:.1f} are expected"
        )
        return AttributeShape(draw.name, None, min(1.0, 2 * len(tails) * tails[at]), what)


class _Untestable:
    """A part of the record whose reports have no shape of their own."""

    def __init__(self, field: Field) -> None:
        self._field = field

    def add(self, part: npt.NDArray[np.uint8]) -> None:
        """Ignore the records."""

    def shape(self) -> AttributeShape:
        name, oracle = self._field.name, self._field.oracle
        if oracle is None:
            return AttributeShape(name, None, None, "in clear: any answer is a report")
        what = (
            "every record has the same number of bits, or is malformed"
            if isinstance(oracle.form, BitForm)
            else "a record is one code, and any is possible"
        )
        return AttributeShape(name, oracle.name, None, what)


class _Popcounts:
    """How many bits each record has set."""

    def __init__(self, name: str, oracle: FrequencyOracle) -> None:
        self._name, self._oracle = name, oracle
        self._law = popcount_law(oracle)
        self._counts = np.zeros(oracle.k + 1, np.int64)

    def add(self, part: npt.NDArray[np.uint8]) -> None:
        set_bits = np.bitwise_count(part).sum(axis=1, dtype=np.int64)
        self._counts += np.bincount(set_bits, minlength=len(self._counts))

    def shape(self) -> AttributeShape:
        excess, cell = largest_excess(self._counts, self._law)
        shift = uniform_distance(self._counts, self._law)
        n = int(self._counts.sum())
        if excess <= shift:
            bits = "1 bit" if cell == 1 else f"{cell} bits"
            what = (
                f"{self._counts[cell]:,} records have {bits} set, where "
                f"{n * self._law[cell]:,.1f} are expected"
            )
        else:
            sizes = np.arange(len(self._law))
            what = (
                f"records have {self._counts @ sizes / n:.2f} bits set on average, where "
                f"{self._law @ sizes:.2f} are expected"
            )
        return AttributeShape(self._name, self._oracle.name, min(1.0, 2 * min(excess, shift)), what)


class _Hashes:
    """Seeds, buckets and support sizes of local hashing."""

    def __init__(self, name: str, oracle: FrequencyOracle, form: CodeForm) -> None:
        self._name, self._oracle, self._form = name, oracle, form
        self._bytes = np.zeros((form.seed_size, 256), np.int64)
        self._buckets = np.zeros(form.below, np.int64)
        self._first: list[npt.NDArray[np.uint64]] = []
        self._sizes = np.zeros(oracle.k + 1, np.int64)

    def add(self, part: npt.NDArray[np.uint8]) -> None:
        for at, counts in enumerate(self._bytes):
            counts += np.bincount(part[:, at], minlength=256)
        code = np.ascontiguousarray(part[:, self._form.seed_size :])
        buckets = code.view(f"<u{self._form.code_size}").ravel().astype(np.int64)
        self._buckets += np.bincount(buckets, minlength=len(self._buckets))
        self._first.append(np.ascontiguousarray(part[:, :8]).view("<u8").ravel())
        sizes = indicators(self._oracle, part).sum(axis=1, dtype=np.int64)
        self._sizes += np.bincount(sizes, minlength=len(self._sizes))

    def shape(self) -> AttributeShape:
        tests = [self._copies(), self._seeds(), self._bucket(), self._support()]
        p_value, what = min(tests)
        return AttributeShape(self._name, self._oracle.name, min(1.0, len(tests) * p_value), what)

    def _copies(self) -> tuple[float, str]:
        first = np.concatenate(self._first)
        n = len(first)
        copies = n - len(np.unique(first))
        # The birthday bound: any pair of n uniform words is equal with this chance at most.
        bound = min(1.0, n * (n - 1) / 2 / _WORD)
        return (bound if copies else 1.0), f"{copies} records repeat the hash of another"

    def _seeds(self) -> tuple[float, str]:
        excesses = [largest_excess(counts, np.full(256, 1 / 256)) for counts in self._bytes]
        (p_value, value), at = min((excess, at) for at, excess in enumerate(excesses))
        what = f"byte {at} of the hash seed is {value} in {self._bytes[at, value]} records"
        return min(1.0, len(excesses) * p_value), what

    def _bucket(self) -> tuple[float, str]:
        g = len(self._buckets)
        p_value, y = largest_excess(self._buckets, np.full(g, 1 / g))
        return p_value, f"{self._buckets[y]} records name bucket {y}"

    def _support(self) -> tuple[float, str]:
        k, n = self._oracle.k, int(self._sizes.sum())
        values = np.arange(k + 1)
        expected = float(self._oracle.p + (k - 1) * self._oracle.q)
        mean = float(self._sizes @ values) / n
        what = (
            f"records support {mean:.3f} categories on average, where {expected:.3f} are expected"
        )
        if n < 2:
            return 1.0, what
        variance = float(self._sizes @ (values - mean) ** 2) / (n - 1)
        return bernstein(abs(mean - expected), variance, n, k), what


def _test_of(field: Field) -> _Untestable | _Popcounts | _Hashes:
    oracle = field.oracle
    if oracle is None:
        return _Untestable(field)
    match oracle.form:
        case BitForm(omega=None):
            return _Popcounts(field.name, oracle)
        case CodeForm(seed_size=size) as form if size:
            return _Hashes(field.name, oracle, form)
        case _:
            return _Untestable(field)


def popcount_law(oracle: FrequencyOracle) -> npt.NDArray[np.float64]:
    """Return the law f64[k + 1] of the bits that a device sets, whatever the answer."""
    return bernoulli_plus_binomial(float(oracle.p), oracle.k - 1, float(oracle.q))


def bernstein(distance: float, variance: float, n: int, largest: float) -> float:
    """Return a p-value for a mean of n values in [0, largest] to be so far from its expectation.

    Solves Maurer and Pontil's bound, theorem 4, both sides, for its confidence: with x = ln(4/p),
    distance = sqrt(2 variance x/n) + 7 largest x/(3 (n - 1)).
    """
    if distance <= 0:
        return 1.0
    a, b = 7 * largest / (3 * (n - 1)), math.sqrt(2 * variance / n)
    root = (math.sqrt(b * b + 4 * a * distance) - b) / (2 * a)
    return min(1.0, 4 * math.exp(-root * root))
