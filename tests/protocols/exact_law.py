"""The law of `randomize`, derived from its code and not from its formulas.

`randomize` is run with words that are not numbers but sets of numbers. Each comparison, division or
remainder splits the set, every branch is followed in turn, and the share of the 2^64 words that
leads to a record is its probability, an exact Fraction: even a modulo bias of 2^-64 shows.

A word that enters the record itself (a hash seed) meets arithmetic that a set does not have. It is
then fixed to a given number, and the law found is conditional on it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from hushpoll_protocols import FrequencyOracle

Q = 1 << 64
_HOPELESS = Fraction(1, 1 << 110)
"""A path this rare that asks for yet another word is rejection sampling going round: abandoned."""


@dataclass(frozen=True)
class ExactLaw:
    """Probability of each record; the true one lies within `abandoned` above it."""

    probabilities: dict[bytes, Fraction]
    abandoned: Fraction


class _FixWordError(Exception):
    def __init__(self, index: int) -> None:
        super().__init__(index)
        self.index = index


class _AbandonedError(Exception):
    pass


class _Word:
    """The words of [low, high); after a remainder was taken, only those of one residue class."""

    def __init__(self, path: _Path, index: int) -> None:
        self._path, self._index = path, index
        self._low, self._high = 0, Q
        self._residue_known = False

    def _below(self, threshold: int) -> bool:
        self._must_be_interval()
        low, high = self._low, self._high
        if threshold <= low:
            return False
        if threshold >= high:
            return True
        below = self._path.choose(2, lambda i: (threshold - low, high - threshold)[i], high - low)
        if below == 0:
            self._high = threshold
            return True
        self._low = threshold
        return False

    def __lt__(self, other: int) -> bool:
        return self._below(other)

    def __le__(self, other: int) -> bool:
        return self._below(other + 1)

    def __ge__(self, other: int) -> bool:
        return not self._below(other)

    def __gt__(self, other: int) -> bool:
        return not self._below(other + 1)

    def __floordiv__(self, divisor: int) -> int:
        self._must_be_interval()
        low, high = self._low, self._high
        first, last = low // divisor, (high - 1) // divisor

        def span(i: int) -> tuple[int, int]:
            return max(low, (first + i) * divisor), min(high, (first + i + 1) * divisor)

        def count(i: int) -> int:
            start, end = span(i)
            return end - start

        taken = self._path.choose(last - first + 1, count, high - low)
        self._low, self._high = span(taken)
        return first + taken

    def __rshift__(self, places: int) -> int:
        return self // (1 << places)

    def __mod__(self, modulus: int) -> int:
        self._must_be_interval()
        self._residue_known = True
        low, high = self._low, self._high
        residues = range(modulus)
        if high - low < modulus:
            residues = sorted(word % modulus for word in range(low, high))

        def count(i: int) -> int:
            return (high - 1 - residues[i]) // modulus - (low - 1 - residues[i]) // modulus

        return residues[self._path.choose(len(residues), count, high - low)]

    def _must_be_interval(self) -> None:
        if self._residue_known:
            raise _FixWordError(self._index)

    def _fix(self, *_: object) -> int:
        raise _FixWordError(self._index)

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _fix
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __lshift__ = _fix
    __int__ = __index__ = __bool__ = __hash__ = __eq__ = _fix  # type: ignore[assignment]


class _Path:
    """One way through `randomize`, and the bits that it is given."""

    def __init__(self, script: list[int], fixed: dict[int, int]) -> None:
        self._script, self._fixed = script, fixed
        self.widths: list[int] = []
        self._drawn = 0
        self._numerator = self._denominator = 1

    @property
    def probability(self) -> Fraction:
        return Fraction(self._numerator, self._denominator)

    def choose(self, width: int, count: Callable[[int], int], total: int) -> int:
        """Take one of `width` branches; `count(i)` > 0 of the `total` words lead into the i-th."""
        step = len(self.widths)
        taken = self._script[step] if step < len(self._script) else 0
        self.widths.append(width)
        self._numerator *= count(taken)
        self._denominator *= total
        return taken

    def word(self) -> int:
        return self.words(1)[0]

    def words(self, count: int) -> Sequence[int]:
        if self.probability < _HOPELESS:
            raise _AbandonedError
        indices = range(self._drawn, self._drawn + count)
        self._drawn += count
        return [self._fixed.get(index, _Word(self, index)) for index in indices]  # type: ignore[misc]

    def next_script(self) -> list[int] | None:
        """Return the script of the next way, or None after the last one."""
        script = self._script + [0] * (len(self.widths) - len(self._script))
        while script and script[-1] + 1 == self.widths[len(script) - 1]:
            script.pop()
        if not script:
            return None
        script[-1] += 1
        return script


def law_of_randomize(oracle: FrequencyOracle, value: int, public: Sequence[int]) -> ExactLaw:
    """Follow every way through ``oracle.randomize(value, ...)``.

    Parameters
    ----------
    oracle : FrequencyOracle
        At a small k: there are as many ways as records, or somewhat more.
    value : int
        In [0, k).
    public : sequence of int
        Numbers for the words that turn out to be public: the i-th word is fixed to public[i].

    Returns
    -------
    ExactLaw
    """
    fixed: dict[int, int] = {}
    while True:
        try:
            return _follow_all(oracle, value, fixed)
        except _FixWordError as error:
            fixed[error.index] = public[error.index]


def _follow_all(oracle: FrequencyOracle, value: int, fixed: dict[int, int]) -> ExactLaw:
    probabilities: defaultdict[bytes, Fraction] = defaultdict(Fraction)
    abandoned = Fraction(0)
    script: list[int] | None = []
    while script is not None:
        path = _Path(script, fixed)
        try:
            record = oracle.randomize(value, path)
        except _AbandonedError:
            abandoned += path.probability
        else:
            probabilities[record] += path.probability
        script = path.next_script()
    return ExactLaw(dict(probabilities), abandoned)
