"""The conduct of a fleet: who arrives when and behaves how, all of it drawn from one seed."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field

from hushpoll_client import Published
from hushpoll_fleet.behaviour.arrivals import Arrivals, arrival_times
from hushpoll_fleet.behaviour.shares import Behaviour, assign
from hushpoll_protocols.errors import InvalidParameter


@dataclass(frozen=True, slots=True, kw_only=True)
class Conduct:
    """What respondents do beside answering.

    Attributes
    ----------
    arrivals : Arrivals
        Pattern of arrivals.
    duration : float
        Seconds over which they arrive, in [0, 86400].
    shares : mapping of Behaviour to float
        Misbehaving shares, in (0, 1], at most 1 together.
    offline_seconds : float
        How long an offline respondent keeps its report, in [0, 86400].
    targets : mapping of str to int
        What maximal poisoners push, per perturbed attribute; of one that is not named, its first
        category.
    seed : int or None
        Of all draws; None draws anew each time.
    """

    arrivals: Arrivals = Arrivals.AT_ONCE
    duration: float = 0.0
    shares: Mapping[Behaviour, float] = field(default_factory=dict)
    offline_seconds: float = 5.0
    targets: Mapping[str, int] = field(default_factory=dict)
    seed: int | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.offline_seconds <= 86_400:
            raise InvalidParameter(
                f"offline_seconds is {self.offline_seconds:g}; give seconds in [0, 86400]",
                field="offline_seconds",
            )

    def roles(self, count: int) -> list[Role]:
        """Return what each of so many respondents does, in the order of their arrival."""
        if self.arrivals is Arrivals.AT_ONCE and not self.shares:
            return [Role(0.0, Behaviour.HONEST)] * count  # frozen, so all may share it
        times = arrival_times(
            self.arrivals, count, seconds=self.duration, rng=self.stream("arrivals")
        )
        behaviours = assign(self.shares, count, self.stream("behaviours"))
        return [Role(*one) for one in zip(times, behaviours, strict=True)]

    def aims(self, published: Published) -> dict[str, int]:
        """Return what maximal poisoners push, for every perturbed attribute of a survey."""
        return {
            one.name: self.targets.get(one.name, 0)
            for one in published.attributes
            if one.oracle is not None
        }

    def stream(self, purpose: str, number: int = 0) -> random.Random:
        """Return a generator for one purpose and respondent, from the seed."""
        if self.seed is None:
            return random.Random()
        return random.Random(f"{self.seed}/{purpose}/{number}")


@dataclass(frozen=True, slots=True)
class Role:
    """One respondent's part.

    Attributes
    ----------
    at : float
        When it arrives, in seconds from the start.
    behaviour : Behaviour
        How it behaves.
    """

    at: float
    behaviour: Behaviour
