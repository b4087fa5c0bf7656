"""Parameters of learners: named, typed and bounded, so that a misspelt one is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.reading.decimal_texts import number_of


@dataclass(frozen=True, slots=True)
class Range:
    """One parameter that is a number: its type, its closed interval and its default.

    In a server's job it is at most `job_limit`, unless the operator sets another limit.
    """

    kind: type[int] | type[float]
    low: float
    high: float
    default: int | float
    job_limit: int | float | None = None

    def check(self, name: str, value: Any, label: str) -> int | float:
        """Return the number, in the parameter's type; see :func:`check_parameters`."""
        word = "a whole number" if self.kind is int else "a number"
        if isinstance(value, str):
            spelled = number_of(value)
            value = value if spelled is None else spelled
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if number and self.kind is int and isinstance(value, float) and value.is_integer():
            value = int(value)
        if (
            not number
            or not (self.kind is float or isinstance(value, int))
            or not self.low <= value <= self.high
        ):
            raise InvalidParameter(
                f"{name} is {value!r}; it must be {word} in [{self.low:g}, {self.high:g}]; "
                f"{label}'s default is {self.default}",
                field=name,
            )
        return self.kind(value)


@dataclass(frozen=True, slots=True)
class Choice:
    """One parameter that is one of a few words: these words, and its default among them."""

    words: tuple[str, ...]
    default: str

    def check(self, name: str, value: Any, label: str) -> str:
        """Return the word; see :func:`check_parameters`."""
        if value not in self.words:
            raise InvalidParameter(
                f"{name} is {value!r}; it must be one of {', '.join(self.words)}; "
                f"{label}'s default is {self.default}",
                field=name,
            )
        return str(value)


@dataclass(frozen=True, slots=True)
class Names:
    """One parameter that is a text of names, such as ``race, age``; none by default."""

    default: str = ""

    def check(self, name: str, value: Any, label: str) -> str:
        """Return the text as :func:`split_names` splits it; see :func:`check_parameters`."""
        listed = split_names(value) if isinstance(value, str) else ()
        if not isinstance(value, str) or len(set(listed)) < len(listed):
            raise InvalidParameter(
                f"{name} is {value!r}; it must be different names with commas between them, such "
                f"as 'race, age'; {label}'s default is none",
                field=name,
            )
        return ", ".join(listed)


def split_names(value: str) -> tuple[str, ...]:
    """Return the names in a text, without the commas and spaces between them."""
    return tuple(name.strip() for name in value.split(",") if name.strip())


Parameter: TypeAlias = Range | Choice | Names
Value: TypeAlias = int | float | str


def ranges(bounds: Mapping[str, Parameter]) -> dict[str, Range]:
    """Return the parameters that are numbers."""
    return {name: allowed for name, allowed in bounds.items() if isinstance(allowed, Range)}


def check_parameters(
    values: Mapping[str, object],
    bounds: Mapping[str, Parameter],
    refused: Mapping[str, str],
    label: str,
) -> dict[str, Value]:
    """Return all parameters, defaults filled in, in the order of `bounds`.

    `refused` has reason and remedy for names that users may expect, `label` is what people call the
    learner. Refuses an unknown name (the known ones are listed), a wrong type and a value out of
    bounds.
    """
    for name in values:
        if name in refused:
            raise InvalidParameter(f"{name} is given, and {refused[name]}", field=str(name))
        if name not in bounds:
            raise InvalidParameter(
                f"{name!r} is no parameter of the learner; use one of {', '.join(bounds)} "
                "(seed and threads have options of their own)",
                field=str(name),
            )
    return {
        name: allowed.check(name, values[name], label) if name in values else allowed.default
        for name, allowed in bounds.items()
    }
