"""When each simulated respondent of a fleet arrives, how it behaves, and what a poisoner sends.

Respondents arrive all at once, as a Poisson process, or by the hour of the day. Given shares of
them misbehave, the others are honest. One seed repeats all draws.

No server can refuse a well-formed record that was never randomised. This is the price of local
differential privacy for an honest survey (Cheu, Smith and Ullman, "Manipulation Attacks in Local
Differential Privacy", S&P 2021; Cao, Jia and Gong, "Data Poisoning Attacks to Local Differential
Privacy Protocols", USENIX Security 2021). The fleet sends such reports so that their effect can be
seen.
"""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from hushpoll_client import Published
from hushpoll_protocols.errors import refusal_of
from hushpoll_protocols.record_forms import pack
from hushpoll_shared.reading.decimal_texts import parse_number
from hushpoll_shared.reading.pairs import read_pair

LONGEST_SECONDS: Final = 86_400.0
# In the daily cycle, arrivals at the quietest moment over those at the busiest.
_QUIETEST: Final = 0.05


class Arrivals(StrEnum):
    """A pattern of arrivals."""

    AT_ONCE = "at-once"
    POISSON = "poisson"
    DAILY = "daily"


def arrival_times(
    pattern: Arrivals, count: int, *, seconds: float, rng: random.Random
) -> list[float]:
    """Return when each of ``count`` respondents arrives, in seconds from the start, ascending.

    Given their number, the arrivals of a Poisson process are independent draws from its intensity:
    flat for ``poisson``, and for ``daily`` one cosine over the whole duration, which stands for a
    day that begins and ends at its quietest moment. Refuses a duration outside [0, 86400], or 0 for
    a pattern that takes time.
    """
    if pattern is Arrivals.AT_ONCE:
        return [0.0] * count
    if not 0 < seconds <= LONGEST_SECONDS:
        raise refusal_of("duration")(
            f"is {seconds:g} s; arrivals by {pattern} take more than 0 and at most "
            f"{LONGEST_SECONDS:g} s"
        )
    draw = rng.random if pattern is Arrivals.POISSON else lambda: _daily(rng)
    return sorted(seconds * draw() for _ in range(count))


def _daily(rng: random.Random) -> float:
    while True:  # rejection: half of the draws are kept
        moment = rng.random()
        intensity = _QUIETEST + (1 - _QUIETEST) * (1 - math.cos(2 * math.pi * moment)) / 2
        if rng.random() < intensity:
            return moment


class Behaviour(StrEnum):
    """What one respondent does.

    ``replay`` sends its report a second time; ``wrong-version`` sends it under the digest of a
    version that does not exist; ``offline`` keeps it for a while; ``poison-maximal`` sends a record
    made to support one category, ``poison-random`` any well-formed record.
    """

    HONEST = "honest"
    REPLAY = "replay"
    WRONG_VERSION = "wrong-version"
    OFFLINE = "offline"
    POISON_MAXIMAL = "poison-maximal"
    POISON_RANDOM = "poison-random"


MISBEHAVIOURS = tuple(kind for kind in Behaviour if kind is not Behaviour.HONEST)
POISONERS = frozenset({Behaviour.POISON_MAXIMAL, Behaviour.POISON_RANDOM})


def parse_shares(texts: Iterable[str]) -> dict[Behaviour, float]:
    """Read ``NAME=SHARE`` for each misbehaviour.

    Refuses an unknown name, a name twice, a share outside (0, 1], and shares of more than 1
    together.
    """
    shares: dict[Behaviour, float] = {}
    for text in texts:
        name, _, value = text.partition("=")
        try:
            behaviour = Behaviour(name)
            share = parse_number(value)
        except ValueError:
            behaviour, share = Behaviour.HONEST, math.nan
        if behaviour not in MISBEHAVIOURS or not 0 < share <= 1:
            raise refusal_of("misbehave")(
                f"is {text!r}; give NAME=SHARE with a name out of {', '.join(MISBEHAVIOURS)} and a "
                "share in (0, 1]"
            )
        if behaviour in shares:
            raise refusal_of("misbehave")(f"names {name!r} twice")
        shares[behaviour] = share
    if math.fsum(shares.values()) > 1:
        raise refusal_of("misbehave")(
            f"gives shares of {math.fsum(shares.values()):g} together; they must leave the honest "
            "a share of 0 or more"
        )
    return shares


def assign(shares: Mapping[Behaviour, float], count: int, rng: random.Random) -> list[Behaviour]:
    """Return the behaviour of each respondent: each share to the nearest whole number, shuffled."""
    behaviours: list[Behaviour] = []
    for behaviour, share in shares.items():
        behaviours += [behaviour] * min(round(share * count), count - len(behaviours))
    behaviours += [Behaviour.HONEST] * (count - len(behaviours))
    rng.shuffle(behaviours)
    return behaviours


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetPlan:
    """When the respondents of a fleet arrive, and which of them misbehave."""

    arrivals: Arrivals = Arrivals.AT_ONCE
    duration: float = 0.0
    """Seconds over which they arrive, in [0, 86400]."""

    shares: Mapping[Behaviour, float] = field(default_factory=dict)
    """Of respondents per misbehaviour, in (0, 1], at most 1 together."""

    offline_seconds: float = 5.0
    """How long an offline respondent keeps its report, in [0, 86400]."""

    targets: Mapping[str, int] = field(default_factory=dict)
    """Code of the category that maximal poisoners push, by perturbed attribute; 0 where an
    attribute is not named.
    """

    seed: int | None = None
    """Seed of all draws; None draws anew each time."""

    def __post_init__(self) -> None:
        if not 0 <= self.offline_seconds <= 86_400:
            raise refusal_of("offline_seconds")(
                f"is {self.offline_seconds:g}; give seconds in [0, 86400]"
            )

    def assignments(self, count: int) -> list[Assignment]:
        """Return what each of ``count`` respondents does, in the order of their arrival."""
        if self.arrivals is Arrivals.AT_ONCE and not self.shares:
            return [Assignment(0.0, Behaviour.HONEST)] * count
        times = arrival_times(
            self.arrivals, count, seconds=self.duration, rng=self.stream("arrivals")
        )
        behaviours = assign(self.shares, count, self.stream("behaviours"))
        return list(map(Assignment, times, behaviours))

    def aims(self, published: Published) -> dict[str, int]:
        """Return the code that maximal poisoners push, per block, those of the targets first."""
        return {**self.targets, **{b.name: self.targets.get(b.name, 0) for b in published.blocks}}

    def stream(self, purpose: str, number: int = 0) -> random.Random:
        """Return a generator for one purpose and respondent, from the seed."""
        if self.seed is None:
            return random.Random()
        return random.Random(f"{self.seed}/{purpose}/{number}")


@dataclass(frozen=True, slots=True)
class Assignment:
    """What one simulated respondent does."""

    at: float
    """When it arrives, in seconds from the start."""

    behaviour: Behaviour


def targets_of(published: Published, texts: tuple[str, ...]) -> dict[str, int]:
    """Read the categories to push, ``ATTRIBUTE=CATEGORY`` each, as codes.

    Refuses an unknown attribute or category, and an attribute that is not perturbed alone.
    """
    perturbed = {entry.name: entry for entry in published.attributes if entry.oracle is not None}
    targets = {}
    for text in texts:
        name, category = read_pair(text, field="target", form="ATTRIBUTE=CATEGORY", names=perturbed)
        attribute = perturbed.get(name)
        if attribute is None:
            raise refusal_of("target")(
                f"is {text!r}; give ATTRIBUTE=CATEGORY with an attribute out of "
                f"{', '.join(perturbed)}"
            )
        if attribute.block is not None:
            raise refusal_of("target")(
                f"is {text!r}, and {name} is randomised together with others, in the block "
                f"{attribute.block}; push an answer to a question that is in no block"
            )
        if attribute.number is not None and category not in attribute.domain:
            raise refusal_of("target")(
                f"is {text!r}, and {name} is a number; push one of its anchors: "
                f"{', '.join(attribute.domain)}"
            )
        number = attribute.number is not None
        targets[name] = attribute.domain.index(category) if number else attribute.code(category)
    return targets


def poisoned_record(
    published: Published,
    behaviour: Behaviour,
    answers: Mapping[str, str | int | Collection[str] | None],
    *,
    targets: Mapping[str, int],
    rng: random.Random,
) -> bytes:
    """Return the record of one poisoner, who pushes the code of every block that `targets` has.

    Of a draw those blocks that come first there are answered. Answers to perturbed attributes are
    not used.
    """
    codes = published.layout.code_answers(answers)
    first = list(targets) if behaviour is Behaviour.POISON_MAXIMAL else []
    chosen: set[str] = set()
    parts = []
    for part in published.layout.fields:
        if part.mask is not None and part.name == part.mask.draw.blocks[0]:
            blocks = part.mask.draw.blocks
            order = sorted(blocks, key=first.index) if first else rng.sample(blocks, len(blocks))
            chosen = set(order[: part.mask.draw.answer])
            parts.append(pack(map(blocks.index, chosen), len(blocks)))
        if part.mask is not None and part.name not in chosen:
            parts.append(bytes(part.size))
        elif part.oracle is None:
            parts.append(codes[part.name].to_bytes(part.size, "little"))
        elif behaviour is Behaviour.POISON_MAXIMAL:
            parts.append(part.oracle.singling_out(targets[part.name], rng))
        else:
            parts.append(part.oracle.form.arbitrary(rng))
    return b"".join(parts)


def other_digest(digest: str) -> str:
    """Return the digest of a version that is not published anywhere."""
    return hashlib.sha256(f"no version of {digest}".encode()).hexdigest()
