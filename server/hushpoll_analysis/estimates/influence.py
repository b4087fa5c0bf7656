"""How far fake reports can move an estimate: closed forms, which tests compare with brute force.

A respondent's device may send any well-formed record, and the estimate is the mean of the records'
weights W_v = D_v - c_v T (:mod:`hushpoll_protocols.estimation.weights`). An honest answer counts as
one on average. A fake counts as the most that a weight can be, or the least. The maximal gain
attack of Cao, Jia and Gong (USENIX Security 2021) sends nothing else. The smaller epsilon, the more
a fake weighs: privacy keeps it from being told from an honest report.

For a set of t categories let x of them be supported, and r of the k - t others. Then

    W = (x - t q - c (x + r - k q - (p - q)))/(p - q)

is linear in x and in r, so its extremes are at the ends of what one record can support:

    protocol                x                                  r
    in clear, GRR           0 or 1, 1 if t = k                 (T is 0)
    SS                      max(0, omega - (k - t)) to min(omega, t)    (T is 0)
    OUE, RAPPOR, THE        0 to t                             0 to k - t
    BLH, OLH                0 to t, at most                    0 to k - t, at most

A hash may be sent that puts all categories in one bucket, but for a large domain and few buckets
none may exist that singles out one category: there the closed form is a bound.

Fakes also move c, since it follows from the frequency. With s the share of the reports that are
fake, D and T the fake's, b + d f the share c of the excess, and a mean excess T' of the genuine
reports, the estimate moves by exactly

    s (W(c) - f)/((1 - s)(1 + d T') + s (1 + d T)),        c = b + d f.

Weights that sum to one make honest estimates less variable and fakes heavier: a record that
supports one category alone also stands against the others. A fake removes far more than D would.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

import numpy as np
import numpy.typing as npt

from hushpoll_protocols import FrequencyOracle
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.queries.parts import Poisoning
from hushpoll_shared.querying.documents import to_json
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_shared.survey.questions.attributes import PublishedAttribute
from hushpoll_shared.survey.randomization.draws import Draw

QUOTED_SHARE = Fraction(1, 100)
"""Share of fake reports at which a shift is quoted with every estimate."""


@dataclass(frozen=True, slots=True)
class Influence:
    """What one fake report counts as in the estimate of a category, or of several together."""

    corners: tuple[tuple[Fraction, Fraction], ...]
    """D and T of the records that are extreme; one of them is the best of every attack."""
    base: Fraction
    """With `slope`: c = base + slope f, the share of the excess of categories of frequency f."""
    slope: Fraction
    drawn: Fraction = Fraction(1)
    """How many respondents there are for one who answers it, d/s; else 1. All else is about those
    who answer: a fake always does, so that it counts as `drawn` times as much among all reports."""

    def weights(self, frequency: float | Fraction) -> tuple[Fraction, Fraction]:
        """Return the least and the most that a fake counts as, at a frequency of the estimate."""
        share = self.base + self.slope * Fraction(frequency)
        weights = [debiased - share * excess for debiased, excess in self.corners]
        return min(weights), max(weights)

    @property
    def up(self) -> Fraction:
        """The most, at a frequency of 0; at least 1."""
        return self.weights(0)[1]

    @property
    def down(self) -> Fraction:
        """The least, at a frequency of 1; at most 0 (or 1, if each record counts as 1 anyway)."""
        return self.weights(1)[0]

    def shift(
        self,
        *,
        fakes: int,
        genuine: int,
        frequency: float | Fraction,
        excess: float | Fraction = 0,
    ) -> tuple[Fraction, Fraction]:
        """Return by how much fakes can lower, at most 0, and raise, at least 0, an estimate: exact.

        `frequency` is what the genuine reports alone give, unbiased, which may lie outside [0, 1],
        and `excess` the mean of T over them; 0 is its expectation. It refuses less than one genuine
        report.
        """
        _check(fakes, genuine)
        share, alone = Fraction(fakes, fakes + genuine), Fraction(frequency)
        shifts = [self._moved(corner, share, alone, Fraction(excess)) for corner in self.corners]
        return min(*shifts, Fraction(0)), max(*shifts, Fraction(0))

    def _moved(
        self, corner: tuple[Fraction, Fraction], share: Fraction, alone: Fraction, excess: Fraction
    ) -> Fraction:
        debiased, own = corner
        weight = debiased - (self.base + self.slope * alone) * own
        under = (1 - share) * (1 + self.slope * excess) + share * (1 + self.slope * own)
        return share * (weight - alone) / under

    def without(
        self,
        frequency: float,
        share: Fraction = QUOTED_SHARE,
        *,
        excess: float | Fraction = 0,
    ) -> tuple[float, float]:
        """Return what the genuine reports alone may have given, if this share of all is fake.

        Every value between the smallest and the largest is what some fakes would hide. `excess` is
        the mean of T over all reports. It refuses a share outside [0, 1), or so large that nothing
        is known.
        """
        if not 0 <= share < 1:
            raise InvalidParameter(
                f"share is {share}; the share of fake reports lies in [0, 1)", field="share"
            )
        whole = 1 + self.slope * Fraction(excess)
        frequencies = []
        for debiased, own in self.corners:
            rest = whole - share * (1 + self.slope * own)
            if rest <= 0:
                raise InvalidParameter(
                    f"share is {share}; so many fakes leave nothing known: give a smaller share",
                    field="share",
                )
            frequencies.append(
                (whole * Fraction(frequency) - share * (debiased - self.base * own)) / rest
            )
        return float(min(frequencies)), float(max(frequencies))

    def to_dict(self) -> JsonMembers:
        """Return the row as JSON."""
        document: JsonMembers = to_json(self.row())
        return document

    def row(self) -> Poisoning:
        """Return the influence as a row of a result, with the shift that 1 % fakes can cause."""
        fakes, genuine = QUOTED_SHARE.numerator, QUOTED_SHARE.denominator - QUOTED_SHARE.numerator
        # All fakes are among those who answer a question in a draw, and some of the genuine.
        fakes, genuine = fakes * self.drawn.numerator, genuine * self.drawn.denominator
        return _row(
            self.up * self.drawn,
            self.down * self.drawn,
            # a category may have the frequency 0, or 1
            self.shift(fakes=fakes, genuine=genuine, frequency=0)[1],
            self.shift(fakes=fakes, genuine=genuine, frequency=1)[0],
        )


@dataclass(frozen=True, slots=True)
class TableInfluence:
    """What one fake report counts as in a cell of a cross-table.

    A fake's product of weights is bilinear, so its extremes are products of the extremes of both
    attributes. The constants c are those of the table; that fakes move them too is of the second
    order in their share.
    """

    up: Fraction
    """The most, over all cells of the table; `down` is the least."""
    down: Fraction
    drawn: Fraction = Fraction(1)
    """How many respondents there are for one who answers both questions; see :class:`Influence`."""

    def to_dict(self) -> JsonMembers:
        """Return the row as JSON."""
        document: JsonMembers = to_json(self.row())
        return document

    def row(self) -> Poisoning:
        """Return the influence as a row of a result, with the shift that 1 % fakes can cause."""
        share = QUOTED_SHARE * self.drawn / (1 - QUOTED_SHARE + QUOTED_SHARE * self.drawn)
        return _row(
            self.up * self.drawn, self.down * self.drawn, share * self.up, share * (self.down - 1)
        )


def _row(up: Fraction, down: Fraction, raised: Fraction, lowered: Fraction) -> Poisoning:
    return Poisoning(
        one_fake_adds=float(up),
        one_fake_removes=float(-down),
        fake_share=float(QUOTED_SHARE),
        raised_by=float(raised),
        lowered_by=float(-lowered),
    )


def table_influence(
    first: Influence,
    second: Influence,
    frequencies: tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]],
) -> TableInfluence:
    """Return what one fake report can count as in a cell of two questions of different blocks."""
    ends = [_ends(fake, shares) for fake, shares in zip((first, second), frequencies, strict=True)]
    products = [weight * other for weight, other in product(*ends)]
    return TableInfluence(max(products), min(products))


def _ends(fake: Influence, frequencies: npt.NDArray[np.float64]) -> Sequence[Fraction]:
    """Return the least and the most weight over all categories; weights are linear in f."""
    weights = [
        weight for end in (frequencies.min(), frequencies.max()) for weight in fake.weights(end)
    ]
    return min(weights), max(weights)


def influence(
    oracle: FrequencyOracle | None, *, k: int | None = None, targets: int = 1
) -> Influence:
    """Return what one fake report can count as; refuses targets outside [1, k].

    Estimates of so many categories (`targets`) are added up; above one, k is needed in clear.
    """
    size = oracle.k if oracle is not None else k or 2
    if not 1 <= targets <= size:
        raise InvalidParameter(
            f"targets is {targets}; it must lie in [1, {size}], the categories", field="targets"
        )
    if oracle is None:
        values = {Fraction(int(targets == size)), Fraction(1)}
        return Influence(tuple((value, Fraction(0)) for value in sorted(values)), *_ZEROS)
    p, q, omega = oracle.p, oracle.q, oracle.support_size
    gap = p - q
    if omega is not None:
        most, least = min(omega, targets), max(0, omega - (size - targets))
        ends = sorted({(least - targets * q) / gap, (most - targets * q) / gap})
        return Influence(tuple((end, Fraction(0)) for end in ends), *_ZEROS)
    excess = p * (1 - p) + (size - 1) * q * (1 - q)
    return Influence(
        tuple(
            ((x - targets * q) / gap, (x + r - size * q) / gap - 1)
            for x, r in product((0, targets), (0, size - targets))
        ),
        targets * q * (1 - q) / excess,
        (p * (1 - p) - q * (1 - q)) / excess,
    )


def influence_of(attribute: PublishedAttribute, draw: Draw | None = None) -> Influence:
    """Return what one fake report can count as in a category of a question, in a block or not.

    A category of a question in a block with others is a set of the block's combinations. Of sets of
    different sizes the largest is meant, in which a fake counts most. In a draw it is what a fake
    counts as that answers the question, as a fake always can.
    """
    oracle, targets = attribute.oracle, 1
    if oracle is not None:
        targets = max(attribute.set_sizes or (oracle.k // attribute.k,))
    found = influence(oracle, targets=targets)
    return found if draw is None else replace(found, drawn=draw.weight)


_ZEROS = (Fraction(0), Fraction(0))


def _check(fakes: int, genuine: int) -> None:
    if fakes < 0 or genuine < 1:
        raise InvalidParameter(
            f"there are {fakes} fake and {genuine} genuine reports; give at least 0 and at least 1",
            field="fakes" if fakes < 0 else "genuine",
        )
