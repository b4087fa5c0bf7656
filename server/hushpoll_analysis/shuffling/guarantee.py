"""A second line of a survey's guarantee: what a trusted shuffler would add to the local epsilon.

The randomizer is that of the whole record, a product over the perturbed attributes. Two answers may
differ in all of them, so the ratio is the product of the protocols' likelihood ratios. Per
attribute, the likelihoods of a record under two answers v and v' are equal unless its support holds
one of the two, and the chance that it holds v and not v' is larger under v by p - q. So p - q is
the total variation distance; for hashes, whose collisions have a chance of 1/g at least, it is a
bound. The distance of whole records follows from the law of the log-ratio, a sum of independent
terms that are ln L, 0 or -ln L; where it has too many values they are rounded up, and the distance
with them.

Of a draw a device sends s of d blocks, chosen without looking at the answers, and says which. Given
the choice the record is that of a survey with the chosen blocks alone. So a bound of the ratio is
the largest over the choices; two answers' records differ only given the choice, so their distance
is at most the mean over the choices. Choices of blocks with the same ratios and distances count as
one; where there are more than `_CHOICES` kinds, the distance is that which the ratio allows.

Values in clear are seen whatever a shuffler does. Only reports with the same values in clear hide
each other, so n is their number, the crowd.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.shuffling.amplification import Randomizer, check_crowd, shuffled_epsilon
from hushpoll_protocols import FrequencyOracle, format_epsilon
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_shared.survey.published import Published

DELTA: Final = 1e-6
"""Taken where none is given."""

_VALUES: Final = 1 << 14
"""How many values of the log-ratio are kept apart."""

_GRID: Final = 1 << 15
_CHOICES: Final = 256
"""Kinds of choices of a device, of which the distances are computed one by one."""

_UP: Final = 1 + 1e-9

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ShuffleGuarantee:
    """What holds of a crowd's shuffled reports, beside the local epsilon and never instead of it.

    Attributes
    ----------
    local_epsilon : str
        What the survey charges each respondent; it needs no shuffler.
    crowd : int
        Reports with the same values in clear that are shuffled together.
    clear : tuple of str
        Attributes that leave in clear.
    delta : float
        In (0, 1).
    epsilon : float
        Of the perturbed answers, in [0, local epsilon], rounded up to 4 places.
    """

    local_epsilon: str
    crowd: int
    clear: tuple[str, ...]
    delta: float
    epsilon: float

    @property
    def sentence(self) -> str:
        """What an analyst may say of it."""
        reports, are = ("report", "is") if self.crowd == 1 else ("reports", "are")
        crowd = f"{self.crowd:,} shuffled {reports}" + (
            f" with the same values of {', '.join(self.clear)}, which leave in clear,"
            if self.clear
            else ""
        )
        kept = (
            f"The local epsilon stays {self.local_epsilon}: it holds against everybody, with or "
            "without a shuffler."
        )
        condition = (
            "If a trusted shuffler (one that removes order, time and sender) stands between "
            "devices and server"
        )
        if self.epsilon >= float(self.local_epsilon):
            return f"{condition}, {crowd} {are} too few for it to add anything. {kept}"
        return (
            f"{condition}, {crowd} {are} together ({self.epsilon:.4f}, {self.delta:g})-private for "
            f"each respondent's perturbed answers. This line rests on that shuffler; the survey's "
            f"own server is none, because it sees each report arrive. {kept}"
        )

    def to_dict(self) -> JsonMembers:
        """Return the guarantee as the API and ``--json`` give it."""
        return {
            "local_epsilon": self.local_epsilon,
            "crowd": self.crowd,
            "clear": list(self.clear),
            "delta": self.delta,
            "epsilon": self.epsilon,
            "sentence": self.sentence,
        }


def shuffle_guarantee(
    published: Published, n: int, *, delta: float = DELTA, crowd: int | None = None
) -> ShuffleGuarantee:
    """Return what a trusted shuffler would add to a survey's local epsilon.

    Assumptions: the shuffler removes order, time and sender of every report, and is honest; at
    least `crowd` reports have the values in clear of the respondent in question, and their devices
    follow the protocols. Answers may be any. It is about one version: a person who answers two
    versions spends both.

    Parameters
    ----------
    published : Published
        The survey.
    n : int
        Reports, at least 1.
    delta : float
        In [1e-30, 1).
    crowd : int, optional
        Of the n, those with the same values in clear; by default n divided by the number of
        combinations of values in clear, as if all were equally frequent.

    Raises
    ------
    InvalidParameter
        If n, delta or crowd is outside its interval, or no attribute is perturbed.
    """
    check_crowd(n, delta)
    if not published.perturbed:
        raise InvalidParameter(
            f"survey {published.name} perturbs no attribute, so there is nothing that a shuffler "
            "could strengthen; give an attribute the role sensitive",
            field="attributes",
        )
    clear = [attribute for attribute in published.attributes if attribute.oracle is None]
    if crowd is None:
        crowd = max(n // math.prod(attribute.k for attribute in clear), 1)
    elif isinstance(crowd, bool) or not isinstance(crowd, int) or not 1 <= crowd <= n:
        raise InvalidParameter(
            f"crowd is {crowd!r}, outside [1, {n}]; give how many of the {n} reports have the same "
            "values in clear",
            field="crowd",
        )
    local = published.epsilon
    epsilon = math.ceil(_epsilon(_choices(published), crowd, float(delta)) * 10_000) / 10_000
    return ShuffleGuarantee(
        format_epsilon(local),
        crowd,
        tuple(attribute.name for attribute in clear),
        float(delta),
        min(epsilon, float(local)),
    )


Choices = tuple[tuple[Fraction, tuple[FrequencyOracle, ...]], ...]
"""What a device may send: the chance of each kind of choice, and its protocols."""


@lru_cache(maxsize=256)
def _epsilon(choices: Choices, crowd: int, delta: float) -> float:
    return shuffled_epsilon(drawn_randomizer(choices), crowd, delta)


def _choices(published: Published) -> Choices:
    """Return what a device of a survey may send of its randomised answers."""
    oracles = {block.name: block.oracle for block in published.blocks}
    drawn = {name for draw in published.draws for name in draw.blocks}
    always = tuple(oracle for name, oracle in oracles.items() if name not in drawn)
    choices: Choices = ((Fraction(1), always),)
    for draw in published.draws:
        kinds = _kinds([oracles[name] for name in draw.blocks], draw.answer)
        choices = tuple(
            (chance * share, (*chosen, *more))
            for chance, chosen in choices
            for share, more in kinds
        )
    return choices


def _kinds(oracles: Sequence[FrequencyOracle], answer: int) -> Choices:
    """Return the kinds of choices of so many of the blocks, with the chance of each."""
    alike: dict[tuple[Fraction, Fraction], list[FrequencyOracle]] = {}
    for oracle in oracles:
        key = oracle.likelihood_ratio, Fraction(oracle.p - oracle.q)
        alike.setdefault(key, []).append(oracle)
    begun: list[tuple[int, int, tuple[FrequencyOracle, ...]]] = [(1, 0, ())]
    for group in alike.values():
        begun = [
            (ways * math.comb(len(group), more), size + more, (*chosen, *group[:more]))
            for ways, size, chosen in begun
            for more in range(min(len(group), answer - size) + 1)
        ]
    whole = math.comb(len(oracles), answer)
    return tuple((Fraction(ways, whole), one) for ways, size, one in begun if size == answer)


def drawn_randomizer(choices: Choices) -> Randomizer:
    """Return the parameters of the randomizer of records of which parts are drawn.

    Parameters
    ----------
    choices : tuple of (Fraction, tuple of FrequencyOracle)
        The chance of each kind of choice, which sum to 1, and the protocols of what is sent then.
    """
    if len(choices) > _CHOICES:
        ratios = (
            math.prod((oracle.likelihood_ratio for oracle in oracles), start=Fraction(1))
            for _, oracles in choices
        )
        return Randomizer(max(ratios), 1)
    of_each = [(chance, record_randomizer(oracles)) for chance, oracles in choices]
    if len(of_each) == 1:
        return of_each[0][1]
    distance = sum(float(chance) * float(one.distance) for chance, one in of_each) * _UP
    return Randomizer(max(one.ratio for _, one in of_each), min(distance, 1.0))


def record_randomizer(oracles: Sequence[FrequencyOracle]) -> Randomizer:
    """Return the parameters of a whole record's randomizer.

    Parameters
    ----------
    oracles : sequence of FrequencyOracle
        Of the perturbed attributes, at least one.
    """
    ratio = math.prod((oracle.likelihood_ratio for oracle in oracles), start=Fraction(1))
    if len(oracles) == 1:
        return Randomizer(ratio, oracles[0].p - oracles[0].q)
    losses: Array = np.zeros(1)
    chances: Array = np.ones(1)
    step = sum(math.log(oracle.likelihood_ratio) for oracle in oracles) / _GRID
    for oracle in oracles:
        likelihood = oracle.likelihood_ratio
        rare = float((oracle.p - oracle.q) / (likelihood - 1))
        frequent = rare * float(likelihood)
        log = math.log1p(float(likelihood - 1))
        losses = np.concatenate([losses + log, losses, losses - log])
        chances = np.concatenate(
            [chances * frequent, chances * max(1 - rare - frequent, 0.0), chances * rare]
        )
        if len(losses) > _VALUES:
            losses = np.ceil(losses / step) * step
        losses, place = np.unique(losses, return_inverse=True)
        chances = np.bincount(place, weights=chances).astype(np.float64)
    distance = float(chances @ -np.expm1(-np.maximum(losses, 0.0))) * _UP
    return Randomizer(ratio, min(distance, 1.0))
