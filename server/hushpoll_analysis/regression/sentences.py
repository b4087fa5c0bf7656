"""What the slopes of a regression say, in words: exact of its model, one sentence a slope.

A slope compares two answers of one predictor, or one more of a number, where all other terms stay
as they are. Where a predictor is in an interaction, its own slope is of the reference of the other
one, and the sentence says so; where it is in several terms, as age and its square, no slope of it
can be read alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from hushpoll_analysis.regression.inference import NOISY, UNTOLD, Coefficient
from hushpoll_analysis.regression.terms.coding import CodedFactor, Column
from hushpoll_shared.spelling.number_texts import decimals_of, ratio_texts, with_decimals

LARGEST_ODDS: Final = 700.0
"""Largest logarithm whose exponential is a number."""
_SCORE: Final = "score("


@dataclass(frozen=True)
class Comparison:
    """What one factor of a column compares."""

    predictor: str
    """The attribute, or the computed number as the formula has it."""
    category: str | None
    """The answer whose dummy it is, and the reference that it is set against; None for numbers, and
    no reference where the model has a dummy of every answer."""
    reference: str | None

    @property
    def chances(self) -> tuple[str, ...]:
        """What average chances and their differences are called that follow from it."""
        if self.category is None:
            return (f"{self.predictor}: one more",)
        stated = f"{self.predictor}={self.category}"
        return (stated, f"{self.predictor}: {self.category} instead of {self.reference}")

    def __str__(self) -> str:
        """Name it, as a chart's label does."""
        if self.category is None:
            return f"{self.predictor}, one more"
        if self.reference is None:
            return f"{self.predictor}: {self.category}"
        return f"{self.predictor}: {self.category} / {self.reference}"


def comparisons_of(column: Column) -> tuple[Comparison, ...]:
    """Return what a column compares, factor by factor; nothing for the intercept."""
    return tuple(_comparison(column, coded, level) for coded, level in column.parts)


def _comparison(column: Column, coded: CodedFactor, level: int | None) -> Comparison:
    factor = coded.factor
    if level is None or coded.levels is None:
        plain = factor.tree is None or factor.text == f"{_SCORE}{factor.variables[0]})"
        return Comparison(factor.variables[0] if plain else factor.text, None, None)
    # a dummy beside those of all other answers is set against none
    against = f"{factor.text}[T.{coded.levels[level]}]" in column.name
    return Comparison(
        factor.variables[0], coded.levels[level], coded.levels[0] if against else None
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Slopes:
    """The slopes of a model, and what sentences say of them."""

    family: str
    outcome: str
    categories: tuple[str, ...]
    """The reference first; none of a linear outcome."""
    columns: tuple[Column, ...]
    """The design's columns, which say what each slope compares."""
    coefficients: tuple[Coefficient, ...]
    """All of the outcome's model."""
    confidence: float
    n: int

    def each(self) -> Iterator[tuple[Coefficient, Column]]:
        """Yield the slopes with their columns."""
        by_name = {column.name: column for column in self.columns if column.parts}
        for one in self.coefficients:
            name = one.name
            if one.category is not None:
                name = name.removeprefix(f"{one.category}: ")
            if name in by_name:
                yield one, by_name[name]

    def needed(self, one: Coefficient) -> int | None:
        """Return how many rows would tell a slope; None where no number is known to."""
        if one.expected_standard_error is None:
            return None
        return rounded_up(self.n * (one.expected_standard_error / NOISY) ** 2)

    def is_noisy(self, one: Coefficient) -> bool:
        """Whether a slope is too noisy to tell, decided before the outcome is looked at."""
        if not self.categories:
            return False
        expected = one.expected_standard_error
        return expected is None or expected > NOISY or one.method == UNTOLD

    def sentences(self) -> list[str]:
        """Return a sentence of each slope that can be read alone, those that tell first."""
        told, noisy = [], []
        for one, column in self.each():
            if self._in_several_terms(column):
                continue
            if self.is_noisy(one):
                noisy.append(self._too_noisy(one, column))
            elif one.estimate is not None:
                words = self._words(one, column)
                told += [words] if words else []
        return [*told, *noisy, *self._unread()]

    def _unread(self) -> list[str]:
        names: dict[str, None] = {}
        for _, column in self.each():
            if self._in_several_terms(column):
                names.update(dict.fromkeys(self._repeated(column)))
        return [
            f"{name} is in several terms, so none of its slopes can be read alone: read the "
            "average marginal effects."
            for name in names
        ]

    def _repeated(self, column: Column) -> list[str]:
        """Return the variables of a column that another factor of the model reads, too."""
        texts: dict[str, set[str]] = {}
        for other in self.columns:
            for coded, _ in other.parts:
                for name in coded.factor.variables:
                    texts.setdefault(name, set()).add(coded.factor.text)
        return [
            name
            for coded, _ in column.parts
            for name in coded.factor.variables
            if len(texts[name]) > 1
        ]

    def _in_several_terms(self, column: Column) -> bool:
        return bool(self._repeated(column))

    def _where(self, column: Column) -> str:
        """Return the references of what a column is multiplied with in interactions."""
        own = {coded.factor.text for coded, _ in column.parts}
        extra: dict[str, CodedFactor] = {}
        for other in self.columns:
            factors = {coded.factor.text: coded for coded, _ in other.parts}
            if own < set(factors):
                extra |= {text: coded for text, coded in factors.items() if text not in own}
        parts = []
        for coded in extra.values():
            levels = coded.levels
            name = coded.factor.variables[0] if levels else coded.factor.text
            parts.append(f"where {name} is {levels[0] if levels else '0'}")
        return "".join(f" {part}" + "," for part in parts)

    def _subject(self, one: Coefficient) -> str:
        if self.family == "linear":
            return self.outcome
        if self.family == "ordered":
            return f"the odds of a higher answer to {self.outcome}"
        of = one.category or self.categories[1]
        against = "" if len(self.categories) == 2 else f" rather than {self.categories[0]}"
        return f"the odds that {self.outcome} is {of}{against}"

    def _words(self, one: Coefficient, column: Column) -> str | None:
        """Return what a slope says; None where no two answers are compared."""
        assert one.estimate is not None  # noqa: S101  (the caller looked)
        parts = comparisons_of(column)
        numbers = [part for part in parts if part.category is None]
        dummies = [part for part in parts if part.category is not None]
        if any(part.reference is None for part in dummies) or len(parts) > 2 or len(numbers) > 1:
            return None
        begin = f"Other things equal,{self._where(column)} "
        subject = self._subject(one)
        if self.family == "linear":
            return self._linear(one, begin, parts) if len(parts) == 1 else None
        times, low, high = ratio_texts(
            _ratio(one.estimate),
            None if one.lower is None else _ratio(one.lower),
            None if one.upper is None else _ratio(one.upper),
        )
        ends = self._ends(one, low, high)
        if len(parts) == 2:
            return self._interaction(begin, subject, times, ends, (*numbers, *dummies))
        (part,) = parts
        if part.category is None:
            return f"{begin}one more of {part.predictor} multiplies {subject} by {times}{ends}"
        return (
            f"{begin}{subject} are {times} times as high where {part.predictor} is "
            f"{part.category} as where it is {part.reference}{ends}"
        )

    def _interaction(
        self, begin: str, subject: str, times: str, ends: str, parts: tuple[Comparison, ...]
    ) -> str | None:
        """Return what a product of two says; None where one of them has no slope of its own."""
        alone = {
            str(comparisons_of(column)[0]) for column in self.columns if len(column.parts) == 1
        }
        if not {str(part) for part in parts} <= alone:
            return None
        first, second = parts
        if first.category is None:
            what = f"the factor by which one more of {first.predictor} multiplies {subject} is"
        else:
            what = (
                f"the ratio of {subject} between {first.category} and {first.reference} of "
                f"{first.predictor} is"
            )
        return (
            f"{begin}{what} {times} times as large where {second.predictor} is {second.category} "
            f"as where it is {second.reference}{ends}"
        )

    def _linear(self, one: Coefficient, begin: str, parts: tuple[Comparison, ...]) -> str:
        (part,) = parts
        estimate = one.estimate or 0.0
        decimals = decimals_of(one.standard_error)
        size = with_decimals(abs(estimate), decimals)
        much = f"{size} {'higher' if estimate >= 0 else 'lower'}"
        ends = ""
        if one.lower is not None and one.upper is not None:
            low, high = (with_decimals(end, decimals) for end in (one.lower, one.upper))
            sure = f"with {100 * self.confidence:g} % confidence"
            zero = " The interval includes 0: it may make no difference."
            ends = (
                f" (a difference of {low} to {high} {sure})."
                f"{zero if one.lower <= 0 <= one.upper else ''}"
            )
        if part.category is None:
            return f"{begin}{self.outcome} is {much} for one more of {part.predictor}{ends}"
        return (
            f"{begin}{self.outcome} is {much} where {part.predictor} is {part.category} than where "
            f"it is {part.reference}{ends}"
        )

    def _ends(self, one: Coefficient, least: str | None, most: str | None) -> str:
        """Return the interval of a ratio, the end of a sentence."""
        sure = f"with {100 * self.confidence:g} % confidence"
        if least is None and most is None:
            return ". The interval has no end, so nothing is known of it."
        if least is None:
            shown = f", at most {most} {sure}."
        elif most is None:
            shown = f", at least {least} {sure}."
        else:
            shown = f", {least} to {most} {sure}."
        low, high = one.lower, one.upper
        if (low is None or low <= 0) and (high is None or high >= 0):
            shown += " The interval includes 1: it may make no difference."
        return shown

    def _too_noisy(self, one: Coefficient, column: Column) -> str:
        on = named_parts(column)
        of = f" ({one.category})" if one.category is not None else ""
        number = self.needed(one)
        if number is not None and (one.expected_standard_error or 0) <= NOISY:
            what = "another slope is so noisy that this one has no trusted interval"
        elif number is None:
            what = "no number of respondents is known that would tell; a larger epsilon may"
        else:
            what = f"about {number:,} respondents would tell, or a larger epsilon"
        return (
            f"Too noisy to tell how {self.outcome}{of} depends on {on}, other things equal: {what}."
        )


def named_parts(column: Column) -> str:
    """Return what a slope is of, such as ``region (south)``."""
    return " × ".join(
        part.predictor if part.category is None else f"{part.predictor} ({part.category})"
        for part in comparisons_of(column)
    )


def slope_name(one: Coefficient, column: Column) -> str:
    """Return a slope as a verdict names it, with the outcome's category where there are several."""
    name = named_parts(column)
    return name if one.category is None else f"{one.category}: {name}"


def rounded_up(number: float) -> int:
    """Return a number rounded up to two digits."""
    digits: int = 10 ** max(len(str(math.ceil(number))) - 2, 0)
    return math.ceil(number / digits) * digits


def named_factors(columns: Iterable[Column]) -> dict[str, tuple[str, ...]]:
    """Return the answers of each predictor that is in the model by its categories."""
    found: dict[str, tuple[str, ...]] = {}
    for column in columns:
        for coded, _ in column.parts:
            if coded.levels is not None:
                found.setdefault(coded.factor.variables[0], coded.levels)
    return found


def _ratio(value: float) -> float:
    return math.exp(min(value, LARGEST_ODDS))
