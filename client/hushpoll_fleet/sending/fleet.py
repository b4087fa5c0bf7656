"""A fleet: the simulated respondents of one survey, how each behaves, and the reports they send."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, repeat
from typing import Any

from hushpoll_client import Published, Report
from hushpoll_client import randomize as randomize_answers
from hushpoll_fleet.behaviour import POISONERS, Assignment, Behaviour, FleetPlan, poisoned_record
from hushpoll_fleet.population.simulated_respondents import SimulatedRespondents
from hushpoll_shared.wire.reports import new_report_id

Answers = Mapping[str, str | int | Collection[str] | None]


class SeededBits:
    """Reproducible words for one respondent of a simulation. Not private.

    The same seed and respondent give the same words, whichever thread asks.
    """

    __slots__ = ("_random",)

    def __init__(self, seed: int, respondent: int) -> None:
        self._random = random.Random(f"{seed}/{respondent}")

    def word(self) -> int:
        """Return the next 64-bit word."""
        return self._random.getrandbits(64)

    def words(self, count: int) -> Sequence[int]:
        """Return the next `count` words."""
        return [self._random.getrandbits(64) for _ in range(count)]


@dataclass(frozen=True, slots=True)
class Member:
    """One respondent of a fleet: its number, its part, its true answers and its token, if any."""

    number: int
    assignment: Assignment
    answers: Answers
    token: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """Everything that does not depend on how the reports are sent.

    Noise, behaviour and arrival of a respondent depend on the seed and on its number alone: a fleet
    that is played in parts, or by other processes, sends the same records.
    """

    published: Published
    respondents: SimulatedRespondents
    plan: FleetPlan = field(default_factory=FleetPlan)
    assignments: Sequence[Assignment] = ()
    """The part of each respondent; those of `plan` by default."""

    tokens: Sequence[str] | None = None
    """A single-use token for each, for a token survey."""

    noise_seed: int | None = None
    """With a seed the noise is repeatable, and protects nobody; None draws it anew."""

    first: int = 0
    """Number of the first respondent, for a part of a larger fleet."""

    def __post_init__(self) -> None:
        if not self.assignments:
            drawn = self.plan.assignments(len(self.respondents))
            object.__setattr__(self, "assignments", drawn)

    def __len__(self) -> int:
        return len(self.respondents)

    def members(self) -> Iterator[Member]:
        """Give the respondents in the order of their arrival."""
        tokens: Iterator[str | None] = (
            iter(self.tokens) if self.tokens is not None else repeat(None)
        )
        numbers = count(self.first)
        # Answers come first, so that their end takes nothing from the other sequences.
        for answers, number, assignment, token in zip(
            self.respondents.answers(), numbers, self.assignments, tokens, strict=False
        ):
            yield Member(number, assignment, answers, token)

    def report(
        self, member: Member, randomize: Callable[[Answers], Report] | None = None
    ) -> Report:
        """Return the report of one respondent.

        `randomize` perturbs its answers where no seed does; `hushpoll_client.randomize` by default.
        """
        if member.assignment.behaviour in POISONERS:
            record = self.fake_record(member.number, member.assignment.behaviour, member.answers)
            return Report(self.published.digest, new_report_id(), record)
        if self.noise_seed is not None:
            bits = SeededBits(self.noise_seed, member.number)
            return randomize_answers(self.published, member.answers, bits=bits)
        if randomize is not None:
            return randomize(member.answers)
        return randomize_answers(self.published, member.answers)

    def fake_record(self, number: int, behaviour: Behaviour, answers: Answers) -> bytes:
        """Return the record of a poisoner, which the seed and its number repeat."""
        targets = self.plan.aims(self.published)
        rng = self.plan.stream("poison", number)
        return poisoned_record(self.published, behaviour, answers, targets=targets, rng=rng)

    def parts(self, number: int, *, block: int = 1) -> Iterator[Fleet]:
        """Cut the fleet into about `number` parts, of a multiple of `block` respondents but one."""
        step = max(1, -(-len(self) // (number * block))) * block
        for start in range(0, len(self), step):
            rows = slice(start, start + step)
            columns: dict[str, Any] = {
                name: column[rows] for name, column in self.respondents.columns.items()
            }
            yield replace(
                self,
                respondents=SimulatedRespondents(self.respondents.attributes, columns),
                assignments=self.assignments[rows],
                tokens=None if self.tokens is None else self.tokens[rows],
                first=self.first + start,
            )
