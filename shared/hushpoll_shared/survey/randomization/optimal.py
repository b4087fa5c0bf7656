"""The split of a budget that makes the estimates of a survey least uncertain.

``split: optimal`` is a draft's shorthand. The weights that result are published, in ten-thousandths
of the total, so that a device checks them like any others and needs no optimiser.

The objective is the sum over the perturbed attributes of V_j(epsilon_j), where V is n times the
variance of one category's estimated frequency, its categories being equally frequent:

    V = pi (1 - pi)/(p - q)^2,   pi = q + (p - q)/k.

A block of a draw, of whose d blocks a device answers s, is answered by s/d of the respondents and
is given epsilon_j / s, so that the draw counts with d/s times the sum of its blocks' V.

So an attribute counts by how uncertain its frequencies are under its own protocol, and twice the
standard error is four times as bad. Variances are exact rationals of the protocols' integer
thresholds, hence the weights are the same on every machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from heapq import nlargest, nsmallest
from typing import Final

from hushpoll_protocols import EPSILON_MIN, create
from hushpoll_shared.survey.randomization.budget import Split, part_of
from hushpoll_shared.survey.randomization.draws import Draw, divide, units_of

UNITS: Final = 10_000
"""Parts that the total is divided into; a share is a whole number of them, at least one."""


def optimal_split(
    epsilon: Decimal,
    attributes: Mapping[str, tuple[str, int]],
    *,
    apart: Mapping[str, int] | None = None,
    draws: Sequence[Draw] = (),
) -> Split:
    """Return the weights, in units of epsilon/`UNITS`, that minimise the objective of this module.

    `attributes` has protocol and domain size of every block; of several in an entry of `apart`,
    each with an even part of it, those of one by the name of the entry. No exchange of a power of
    two of units between two of them improves on the weights, and neither uniform nor k-based is
    better by more than the rounding to units. Refuses a total of which even equal parts would be
    under 1e-6.
    """
    blocks = {name: k for name, (_, k) in attributes.items()}
    divide(epsilon, blocks, "uniform", draws=draws)
    sizes = units_of(blocks, draws)
    parts = apart or {}
    most = max((*(draw.answer for draw in draws), *parts.values()), default=1)
    least = max(1, -(-Fraction(EPSILON_MIN) * most * UNITS // Fraction(epsilon)))
    by_name = {draw.name: draw for draw in draws}
    search = _Search(epsilon, attributes, by_name, int(least), parts)
    best = min(
        (search.improve(_in_units(Split(kind), sizes, int(least))) for kind in _STARTS),
        key=search.total,
    )
    return Split("weights", tuple(sorted((name, Decimal(units)) for name, units in best.items())))


_STARTS: Final = ("uniform", "k-based")

_FINE: Final = 10**30
"""Variances are compared as whole numbers of its inverse: exactly alike on every machine."""


class _Search:
    """Exchanges between two attributes, from large to small, as long as the total falls."""

    def __init__(
        self,
        epsilon: Decimal,
        attributes: Mapping[str, tuple[str, int]],
        draws: Mapping[str, Draw],
        least: int,
        apart: Mapping[str, int],
    ) -> None:
        self._apart = apart
        self._attributes = attributes
        self._draws = draws
        self._unit = Fraction(epsilon) / UNITS
        self._least = least

    def improve(self, units: dict[str, int]) -> dict[str, int]:
        step = 1 << (UNITS // len(units)).bit_length()
        while step:
            # What each attribute loses by giving a step, and gains by taking one.
            losses: dict[str, int] = {}
            gains: dict[str, int] = {}
            moved = tuple(units)
            while moved:
                for name in moved:
                    self._weigh(name, units[name], step, losses, gains)
                moved = _best_exchange(losses, gains)
                for name, change in zip(moved, (-step, step), strict=False):
                    units[name] += change
            step //= 2
        return units

    def total(self, units: Mapping[str, int]) -> int:
        return sum(self._at(name, held) for name, held in units.items())

    def _weigh(
        self, name: str, held: int, step: int, losses: dict[str, int], gains: dict[str, int]
    ) -> None:
        now = self._at(name, held)
        losses.pop(name, None)
        gains.pop(name, None)
        if held - step >= self._least:
            losses[name] = self._at(name, held - step) - now
        if held + step <= UNITS:
            gains[name] = now - self._at(name, held + step)

    def _at(self, name: str, units: int) -> int:
        draw = self._draws.get(name)
        blocks = (name,) if draw is None else draw.blocks
        parts = self._apart.get(name, 1) if draw is None else draw.answer
        epsilon = part_of(self._unit, Fraction(units, parts))
        variance = sum((_variance(*self._attributes[one], epsilon) for one in blocks), Fraction(0))
        if draw is not None:
            variance *= draw.weight
        return variance.numerator * _FINE // variance.denominator


def _best_exchange(losses: Mapping[str, int], gains: Mapping[str, int]) -> tuple[str, ...]:
    """Return the giving and the taking attribute of the largest fall; () if nothing falls."""
    # Two candidates on either side: one attribute cannot give to itself.
    givers = nsmallest(2, losses, key=losses.__getitem__)
    takers = nlargest(2, gains, key=gains.__getitem__)
    pairs = [(giver, taker) for giver in givers for taker in takers if giver != taker]
    best = max(pairs, key=lambda pair: gains[pair[1]] - losses[pair[0]], default=())
    return best if best and gains[best[1]] > losses[best[0]] else ()


@lru_cache(maxsize=1 << 14)
def _variance(protocol: str, k: int, epsilon: Decimal) -> Fraction:
    return create(protocol, k=k, epsilon=epsilon).estimate_variance(Fraction(1, k))


def _in_units(split: Split, sizes: Mapping[str, int], least: int) -> dict[str, int]:
    """Round a split to whole units, the largest remainders up, each part at least `least`."""
    free = UNITS - least * len(sizes)
    exact = {name: share * free for name, share in split.shares(sizes).items()}
    units = {name: least + int(part) for name, part in exact.items()}
    rest = UNITS - sum(units.values())
    for name in sorted(exact, key=lambda name: exact[name] % 1, reverse=True)[:rest]:
        units[name] += 1
    return units
