"""What a select-all is published as: the resolution of least variance, by the protocols' laws.

`RESOLUTIONS` lists them: one block of subsets, m yes/no questions that share the question's
epsilon, and a draw over m yes/no blocks, of which a device answers the number with the least
variance. A question that is itself in a draw is one block there.

Variances are those of n times an estimate, every selection within the limits being equally
frequent: of an option's share, averaged over nothing since all options have the same; and of the
share of those who select two given options. The domain of a block has K subsets, s of which have an
option and t two given ones. For the sum S of the supports of a set of values the variance is

    Var[S | truth in it] = p(1-p) + (s-1) q(1-q) + 2(s-1) c + (s-1)(s-2) c'
    Var[S | elsewhere]   = s q(1-q) + s(s-1) c'

with c and c' the covariances of two indicators, with the truth and without it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import comb
from typing import Final

from hushpoll_protocols import (
    EPSILON_MIN,
    K_MAX,
    FrequencyOracle,
    InvalidParameter,
    create,
    format_epsilon,
)
from hushpoll_shared.survey.questions.selects import MOST_OPTIONS, PAIRS, SelectAll, subsets
from hushpoll_shared.survey.randomization.budget import part_of

TOGETHER: Final = "together"
APART: Final = "apart"
DRAWN: Final = "drawn"


@dataclass(frozen=True)
class Resolution:
    """One way to publish a select-all, and what it tells."""

    kind: str
    """`TOGETHER`, one block of subsets; `APART`, m yes/no questions; `DRAWN`, a draw over these."""
    share: Fraction
    """Variance of an option's share, times the number of respondents."""
    pair: Fraction | None
    """The same of a pair's; None where nobody may select two options, or no device answers two."""
    record_size: int
    """Bytes of a record that it takes."""
    answer: int = 0
    """How many options of a draw a device answers."""

    @property
    def form(self) -> tuple[str, int]:
        """What :func:`hushpoll_shared.drafts.select_expansion.expansion` needs of it."""
        return self.kind, self.answer


@dataclass(frozen=True)
class Choice:
    """What a select-all is published as, and what else it could have been."""

    name: str
    options: int
    """m, its options."""
    want: str
    """``"shares"`` or ``"pairs"``."""
    epsilon: Decimal
    """What the whole question is charged."""
    best: Resolution
    """The one of least variance of what is wanted."""
    others: tuple[Resolution, ...]
    """The others that are possible."""
    in_draw: str | None = None
    """Name of the draw that the question is in as a whole."""

    @property
    def reason(self) -> str:
        """Why, in one sentence."""
        m, best = self.options, self.best
        form = {
            TOGETHER: f"one block, whose answers are the selections of its {m} options",
            APART: f"{m} yes/no questions, each with epsilon divided by {m}",
            DRAWN: f"{m} yes/no questions, of which a device answers {best.answer} at random",
        }[best.kind]
        told = ""
        if best.kind == DRAWN and best.answer == 1:
            told = (
                " Nobody answers two options, so pairs of them are not told: want pairs for that."
            )
        what = "a pair of options" if self.want == PAIRS else "an option's share"
        begin = f"{self.name} (select all that apply) is published as {form}"
        if self.in_draw is not None:
            return (
                f"{begin}: it is in the draw {self.in_draw}, of which a block is sent as a whole."
            )
        if not self.others:
            return f"{begin}: the block of its selections would be too large."
        words = {TOGETHER: "one block", APART: "questions apart", DRAWN: "a draw of them"}
        rest = " and ".join(
            f"{float(_weight(other, self.want) / _weight(best, self.want)):.2f} times as large "
            f"for {words[other.kind]}"
            for other in self.others
        )
        return (
            f"{begin}: with epsilon {self.epsilon:f} the variance of {what} would be {rest}.{told}"
        )


def choose(
    select: SelectAll, protocol: str, epsilon: Decimal, *, room: int, draw: str | None = None
) -> Choice:
    """Return what a sensitive select-all is published as, at the epsilon of the whole question.

    It may take `room` bytes of a record, if it is a block; in a draw, as a whole, it is one.
    """
    possible = [
        found
        for resolve in (RESOLUTIONS if draw is None else RESOLUTIONS[:1])
        if (found := resolve(select, protocol, epsilon, room)) is not None
    ]
    if not possible and draw is not None:
        raise InvalidParameter(
            f"{select.name} is in the draw {draw}, and its selections are too many for one block; "
            "take it out of the draw, so that its options can be drawn, or lower select.at_most",
            field=f"attributes[{select.name}].select",
        )
    if not possible:
        raise InvalidParameter(
            f"{select.name} has {len(select.categories)} options and epsilon "
            f"{format_epsilon(epsilon)}, which is too little for each of them apart, and its "
            "selections are too many for one block: raise epsilon, or lower select.at_most",
            field=f"attributes[{select.name}].select",
        )
    ordered = sorted(possible, key=lambda one: _weight(one, select.want))
    return Choice(
        select.name,
        len(select.categories),
        select.want,
        epsilon,
        ordered[0],
        tuple(ordered[1:]),
        draw,
    )


def _weight(resolution: Resolution, want: str) -> Fraction:
    wanted = resolution.pair if want == PAIRS else resolution.share
    return resolution.share if wanted is None else wanted


def _together(select: SelectAll, protocol: str, epsilon: Decimal, room: int) -> Resolution | None:
    m = len(select.categories)
    k = subsets(m, select.fewest, select.most)
    if m > MOST_OPTIONS or not 2 <= k <= K_MAX:
        return None
    oracle = create(protocol, k=k, epsilon=epsilon)
    if oracle.record_size > room:
        return None
    both = _members(select, 2)
    return Resolution(
        TOGETHER,
        set_variance(oracle, _members(select, 1)),
        set_variance(oracle, both) if both else None,
        oracle.record_size,
    )


def _apart(select: SelectAll, protocol: str, epsilon: Decimal, room: int) -> Resolution | None:
    del room  # a survey with too many such questions is refused as a whole
    return _yes_or_no(select, protocol, epsilon, len(select.categories))


def _draw_of_options(
    select: SelectAll, protocol: str, epsilon: Decimal, room: int
) -> Resolution | None:
    """Return the draw over yes/no blocks with the least variance of what is wanted."""
    m = len(select.categories)
    if m > MOST_DRAWN:
        return None
    found = [_yes_or_no(select, protocol, epsilon, answer) for answer in range(1, m)]
    possible = [
        one
        for one in found
        if one is not None
        and one.record_size <= room
        and (select.want != PAIRS or one.pair is not None)
    ]
    return min(possible, key=lambda one: _weight(one, select.want), default=None)


def _yes_or_no(
    select: SelectAll, protocol: str, epsilon: Decimal, answer: int
) -> Resolution | None:
    """Return m yes/no questions of which a device answers some, or all: then there is no draw."""
    m = len(select.categories)
    part = part_of(epsilon, Fraction(1, answer))
    if part < EPSILON_MIN:
        return None
    oracle = create(protocol, k=2, epsilon=part)
    whole = subsets(m, select.fewest, select.most)
    share, both = (Fraction(_members(select, named), whole) for named in (1, 2))
    # the part of the respondents who answer an option, and two given ones
    one, two = Fraction(answer, m), Fraction(answer * (answer - 1), m * (m - 1))
    variance = oracle.estimate_variance(share)
    noise = variance - share * (1 - share)
    # D_i is the truth and noise of this variance, independent of that of D_j.
    pair = both * (1 - both) + 2 * noise * share + noise**2
    size, all_pairs = m * oracle.record_size, pair / two if both and two else None
    if answer == m:
        return Resolution(APART, variance, all_pairs, size)
    return Resolution(DRAWN, variance / one, all_pairs, -(-m // 8) + size, answer)


RESOLUTIONS: Final[tuple[Callable[[SelectAll, str, Decimal, int], Resolution | None], ...]] = (
    _together,
    _apart,
    _draw_of_options,
)
"""Every way to publish a select-all, one block first; of equal variances the first is taken."""

MOST_DRAWN: Final = 255
"""Options of a draw, at most."""


def _members(select: SelectAll, named: int) -> int:
    """Return how many selections within the limits have so many given options."""
    m = len(select.categories)
    return sum(
        comb(m - named, size - named) for size in range(max(select.fewest, named), select.most + 1)
    )


def set_variance(oracle: FrequencyOracle, members: int) -> Fraction:
    """Return n times the variance of the share of so many values, all being equally frequent."""
    share = Fraction(members, oracle.k)
    if members == oracle.k:
        return Fraction(0)
    p, q, pair = oracle.p, oracle.q, oracle.covariances
    rest = members - 1
    inside = p * (1 - p) + rest * q * (1 - q)
    inside += 2 * rest * pair.with_truth + rest * (rest - 1) * pair.between_others
    outside = members * q * (1 - q) + members * rest * pair.between_others
    noise = share * inside + (1 - share) * outside
    # Where the size of the support varies, what is known of it takes a part of the noise away.
    known = noise**2 / oracle.support_variance if oracle.support_size is None else Fraction(0)
    return share * (1 - share) + (noise - known) / (p - q) ** 2
