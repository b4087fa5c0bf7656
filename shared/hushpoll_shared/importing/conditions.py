"""Conditions of forms: XLSForm's expressions and SurveyJS's, as far as a follow-up can have them.

A condition is kept as a tree and evaluated for each answer that its question may have: whatever way
it is written, a follow-up is asked after a set of answers. Arithmetic, functions of dates and what
else an expression may have is not understood, and is told.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

MOST_CHARACTERS: Final = 4000
MOST_NESTED: Final = 40
SELF: Final = "."
COUNT: Final = "count-selected(.)"


class NotUnderstood(ValueError):
    """An expression that is no condition on answers."""


@dataclass(frozen=True)
class Comparison:
    """One question's answer beside a value; ``contains`` of what was selected."""

    name: str
    operator: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Junction:
    """Several conditions of which all (``and``) or any (``or``) must hold."""

    word: str
    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class Negation:
    """A condition that must not hold."""

    part: Condition


Condition = Comparison | Junction | Negation

_TOKEN: Final = re.compile(
    r"""\s*(?:
    (?P<name>\$?\{[^{}]+\})
    |(?P<text>'[^']*'|"[^"]*")
    |(?P<number>-?\d+(?:\.\d+)?)
    |(?P<operator><=|>=|!=|<>|==|=|<|>|&&|\|\||!)
    |(?P<mark>[(),\[\]])
    |(?P<word>[A-Za-z][\w-]*)
    |(?P<self>\.)
    )""",
    re.VERBOSE,
)
_SAME: Final = {"==": "=", "<>": "!=", "&&": "and", "||": "or", "!": "not"}
_COMPARED: Final = ("=", "!=", "<", "<=", ">", ">=")
_TURNED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}
_OPPOSITE: Final = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_OF_SURVEYJS: Final = {
    "equal": "=", "notequal": "!=", "less": "<", "greater": ">", "lessorequal": "<=",
    "greaterorequal": ">=",
}  # fmt: skip


def parse(expression: str) -> Condition:
    """Return the condition that an expression of XLSForm or SurveyJS says.

    It compares answers with values, joined by and, or, not: ``${smokes} = 'yes'``,
    ``selected(${drugs}, 'a')``, ``{smokes} anyof ['a', 'b']``; ``.`` is the question itself.
    """
    if len(expression) > MOST_CHARACTERS:
        raise NotUnderstood("it is too long")
    parser = _Parser(list(_tokens(expression)))
    condition = parser.either(0)
    if parser.left:
        raise NotUnderstood(f"it goes on with {parser.left[0][1]!r}")
    return condition


def _tokens(expression: str) -> Iterator[tuple[str, str]]:
    at = 0
    text = expression.strip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise NotUnderstood(f"it has {text[at : at + 10]!r}")
        kind = match.lastgroup or ""
        value = match[kind]
        at = match.end()
        if kind == "word" or kind == "operator":
            value = _SAME.get(value, value)
            if value.lower() in ("and", "or", "not"):
                kind, value = "join", value.lower()
        yield kind, value


class _Parser:
    """Recursive descent over tokens of a kind and a text."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self.left = tokens

    def take(self, kind: str, value: str | None = None) -> str:
        if not self.sees(kind, value):
            raise NotUnderstood(f"it has {self.left[0][1]!r}" if self.left else "it ends early")
        return self.left.pop(0)[1]

    def sees(self, kind: str, value: str | None = None) -> bool:
        return bool(self.left) and self.left[0][0] == kind and value in (None, self.left[0][1])

    def either(self, depth: int) -> Condition:
        return self.joined("or", depth)

    def joined(self, word: str, depth: int) -> Condition:
        parts = [self.below(word, depth)]
        while self.sees("join", word):
            self.take("join")
            parts.append(self.below(word, depth))
        return parts[0] if len(parts) == 1 else Junction(word, tuple(parts))

    def below(self, word: str, depth: int) -> Condition:
        return self.single(depth) if word == "and" else self.joined("and", depth)

    def single(self, depth: int) -> Condition:
        if depth > MOST_NESTED:
            raise NotUnderstood("it is nested too deeply")
        if self.sees("join", "not"):
            self.take("join")
            return Negation(self.single(depth + 1))
        if self.sees("mark", "("):
            self.take("mark")
            inner = self.either(depth + 1)
            self.take("mark", ")")
            return inner
        if self.sees("word", "selected"):
            self.take("word")
            self.take("mark", "(")
            name = self.name()
            self.take("mark", ",")
            value = self.value()
            self.take("mark", ")")
            return Comparison(name, "contains", (value,))
        return self.comparison()

    def comparison(self) -> Condition:
        if self.sees("text") or self.sees("number"):
            value = self.value()
            operator = self.take("operator")
            if operator not in _COMPARED:
                raise NotUnderstood(f"it has {operator!r}")
            return Comparison(self.name(), _TURNED[operator], (value,))
        name = self.name()
        if self.sees("word"):
            word = self.take("word").lower()
            if word in ("empty", "notempty"):
                return Comparison(name, "=" if word == "empty" else "!=", ("",))
            if word in _OF_SURVEYJS:
                return Comparison(name, _OF_SURVEYJS[word], (self.value(),))
            if word in ("contains", "notcontains"):
                part = Comparison(name, "contains", (self.value(),))
                return part if word == "contains" else Negation(part)
            if word in ("anyof", "noneof"):
                any_of = Comparison(name, "anyof", self.values())
                return any_of if word == "anyof" else Negation(any_of)
            raise NotUnderstood(f"it has {word!r}")
        operator = self.take("operator")
        if operator not in _COMPARED:
            raise NotUnderstood(f"it has {operator!r}")
        return Comparison(name, operator, (self.value(),))

    def name(self) -> str:
        if self.sees("self"):
            return self.take("self")
        if self.sees("word", "count-selected"):
            self.take("word")
            self.take("mark", "(")
            self.take("self")
            self.take("mark", ")")
            return COUNT
        return self.take("name").strip("${} ")

    def value(self) -> str:
        if self.sees("number"):
            return self.take("number")
        if self.sees("word") and self.left[0][1].lower() in ("true", "false"):
            word = self.take("word").lower()
            if self.sees("mark", "("):  # true() of XPath
                self.take("mark")
                self.take("mark", ")")
            return word
        return self.take("text")[1:-1]

    def values(self) -> tuple[str, ...]:
        self.take("mark", "[")
        found = [self.value()]
        while self.sees("mark", ","):
            self.take("mark")
            found.append(self.value())
        self.take("mark", "]")
        return tuple(found)


def names_in(condition: Condition) -> frozenset[str]:
    """Return the questions that a condition asks about."""
    match condition:
        case Comparison(name):
            return frozenset([name])
        case Negation(part):
            return names_in(part)
        case Junction(_, parts):
            return frozenset().union(*map(names_in, parts))


def holds(condition: Condition, answer: str) -> bool:
    """Whether a condition on one question holds for its answer: a code, or a number as a text."""
    match condition:
        case Negation(part):
            return not holds(part, answer)
        case Junction("and", parts):
            return all(holds(part, answer) for part in parts)
        case Junction(_, parts):
            return any(holds(part, answer) for part in parts)
        case Comparison(_, operator, values):
            if operator in ("=", "contains", "anyof"):
                return any(_equal(answer, value) for value in values)
            if operator == "!=":
                return not _equal(answer, values[0])
            left, right = _number(answer), _number(values[0])
            if left is None or right is None:
                return False
            return {
                "<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right,
            }[operator]  # fmt: skip


def limits(condition: Condition, *names: str) -> tuple[float | None, float | None]:
    """Return the least and the largest value that a condition leaves to a number.

    All comparisons must hold, and strict ones are of whole numbers. What is compared is the answer
    (`SELF`, as where no name is given), its question, or how many were selected (`COUNT`).
    """
    if isinstance(condition, Negation) and isinstance(condition.part, Comparison):
        part = condition.part
        if part.operator not in _OPPOSITE:
            raise NotUnderstood("it is about more than the answer's limits")
        condition = Comparison(part.name, _OPPOSITE[part.operator], part.values)
    if not isinstance(condition, Junction):
        return _limit(condition, names or (SELF,))
    if condition.word != "and":
        raise NotUnderstood("it is about more than the answer's limits")
    found = [limits(part, *names) for part in condition.parts]
    return (
        max((low for low, _ in found if low is not None), default=None),
        min((high for _, high in found if high is not None), default=None),
    )


def _limit(part: Condition, names: Sequence[str]) -> tuple[float | None, float | None]:
    if not isinstance(part, Comparison) or part.name not in names:
        raise NotUnderstood("it is about more than the answer's limits")
    value = _number(part.values[0])
    if value is None or part.operator not in ("<", "<=", ">", ">=", "="):
        raise NotUnderstood("it is about more than the answer's limits")
    match part.operator:
        case "<":
            return None, value - 1 if value.is_integer() else value
        case "<=":
            return None, value
        case ">":
            return value + 1 if value.is_integer() else value, None
        case ">=":
            return value, None
    return value, value


def both(conditions: Sequence[Condition | None]) -> Condition | None:
    """Return the condition that all of some hold; None where there is none."""
    given = tuple(one for one in conditions if one is not None)
    return given[0] if len(given) == 1 else Junction("and", given) if given else None


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _equal(answer: str, value: str) -> bool:
    left, right = _number(answer), _number(value)
    return answer == value or (left is not None and left == right)
