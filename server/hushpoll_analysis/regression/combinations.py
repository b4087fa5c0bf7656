"""The combinations of answers to questions that are randomised together, of which some cannot be.

Nobody answers a follow-up that was not asked, or selects more options than a select-all takes.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.survey.randomization.blocks import Block

Places = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Question:
    """A perturbed question: its name and its answers' texts, in order."""

    name: str
    domain: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Combinations:
    """The combinations of answers to some questions."""

    questions: tuple[Question, ...]
    """The first one slowest."""
    numbers: Places | None = None
    """int64[K], those that can be, in mixed radix, increasing; None: all."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of answers of each question."""
        return tuple(len(question.domain) for question in self.questions)

    @property
    def k(self) -> int:
        """Combinations that can be."""
        return math.prod(self.sizes) if self.numbers is None else len(self.numbers)

    @cached_property
    def codes(self) -> Mapping[str, Places]:
        """The answer to each question in each combination, int64[K]."""
        numbers = np.arange(self.k) if self.numbers is None else self.numbers
        parts = np.unravel_index(numbers, self.sizes)
        names = (question.name for question in self.questions)
        return {name: part.astype(np.int64) for name, part in zip(names, parts, strict=True)}

    def numbered(self, codes: Mapping[str, Places]) -> Places:
        """Return the combination of each row's answers, int64[n]; -1 of those that cannot be."""
        mixed: Any = 0
        for question in self.questions:
            mixed = mixed * len(question.domain) + codes[question.name]
        found = np.asarray(mixed, np.int64)
        if self.numbers is None or not len(self.questions):
            return found
        place = np.minimum(np.searchsorted(self.numbers, found), len(self.numbers) - 1)
        return np.where(self.numbers[place] == found, place, -1)

    def apart(self, name: str) -> tuple[Mapping[str, Places], Places]:
        """Return the combinations of the other questions, and where each answer stands with each.

        They are int64[C] by name, and int64[Y, C], the place of each answer to the question `name`
        with each of them; Y is 1 if there is no such question. It refuses an answer that cannot be
        with one of them: no slope says so.
        """
        others = [question for question in self.questions if question.name != name]
        if len(others) == len(self.questions):
            return self.codes, np.arange(self.k)[None, :]
        every = Combinations(tuple(others)).numbered(self.codes)
        mixed = np.zeros(self.k, np.int64) + every
        distinct, first, column = np.unique(mixed, return_index=True, return_inverse=True)
        own = next(question for question in self.questions if question.name == name)
        places = np.full((len(own.domain), len(distinct)), -1, np.int64)
        places[self.codes[name], column] = np.arange(self.k)
        rest = {question.name: self.codes[question.name][first] for question in others}
        wrong = np.argwhere(places < 0)
        if len(wrong):
            code, at = wrong[0]
            together = [f"{name} = {own.domain[code]}"]
            together += [f"{one.name} = {one.domain[rest[one.name][at]]}" for one in others]
            raise InvalidParameter(
                f"nobody can answer {' and '.join(together)}, as the survey asks them, and a slope "
                f"cannot say so; leave {' or '.join(one.name for one in others)} out",
                field="formula",
            )
        return rest, places


def combinations_of(block: Block, names: Collection[str]) -> tuple[Combinations, Places | None]:
    """Return the combinations of questions, and the block's among them, int64[k]; None: all."""
    asked = [question for question in block.questions if question.name in names]
    mixed = np.zeros(block.k, np.int64)
    for question in asked:
        codes = np.frombuffer(block.codes_of(question.name), np.uint16)
        mixed = mixed * question.k + codes
    numbers, cells = np.unique(mixed, return_inverse=True)
    every = len(numbers) == math.prod(question.k for question in asked)
    found = Combinations(
        tuple(Question(question.name, question.domain) for question in asked),
        None if every else numbers,
    )
    return found, None if len(asked) == len(block.questions) else cells.astype(np.int64)
