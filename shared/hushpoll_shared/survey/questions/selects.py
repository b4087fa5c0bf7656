"""Select all that apply: questions to which a respondent names any number of options.

A draft has one attribute with `select`. What is published are its options, each an attribute with
the answers `not selected` and `selected`, and an entry of `selects` that says which attributes are
one question, what is asked, and how many options a respondent may name. The options are either one
block, whose domain is the subsets within the limits, or m questions that are randomised alone and
share the question's part of epsilon evenly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any, Final

from hushpoll_protocols import InvalidParameter
from hushpoll_protocols.errors import refusal_of
from hushpoll_shared.spelling.json_values import JsonMembers, members_of
from hushpoll_shared.spelling.text import (
    NAME_LENGTH,
    check_name,
    check_texts,
    normalized,
    number_of_entries,
    show,
)
from hushpoll_shared.survey.questions.attributes import Attribute
from hushpoll_shared.survey.questions.named_lists import NamedList
from hushpoll_shared.survey.questions.presentation import Shuffle, read_shuffle

NOT_SELECTED: Final = "not selected"
"""First category of every option, in every survey."""

SELECTED: Final = "selected"
"""Second category of every option."""

OPTION: Final = (NOT_SELECTED, SELECTED)

SHARES: Final = "shares"
PAIRS: Final = "pairs"
WANTS: Final = (SHARES, PAIRS)
"""What a select-all is to tell: how many name each option, or each pair of options as well."""

MOST_OPTIONS: Final = 52
"""Options of a block of subsets, at most: their number in mixed radix is exact in a browser."""

LIMITS: Final = ("at_least", "at_most")

_NEEDED: Final = ("name", "attributes", "at_least", "at_most")
KEYS: Final = (*_NEEDED, "question", "help", "shuffle")
"""Fields of an entry of `selects` in a published survey; all but the texts are there always."""


_LIST: Final = NamedList(
    "selects",
    "a list of select-all questions",
    "resolve the manifest again",
    "a mapping with a name, a list of attributes and the limits",
    "attributes",
    "names of attributes",
)


def option_name(name: str, place: int) -> str:
    """Return the name of the attribute of an option, by its place from 0."""
    return f"{name}_{place + 1}"


def limits_kind(at_least: int, at_most: int, options: int) -> str:
    """Return what limits come to: any, exactly, at_least, at_most or between."""
    if at_least == at_most:
        return "exactly"
    if at_most == options:
        return "at_least" if at_least else "any"
    return "between" if at_least else "at_most"


def subsets(options: int, at_least: int, at_most: int) -> int:
    """Return how many subsets of so many options are within limits."""
    return sum(comb(options, size) for size in range(at_least, at_most + 1))


@dataclass(frozen=True)
class SelectAll(Attribute):
    """A select-all as a draft has it: the categories are its options."""

    at_least: int | None = None
    """Fewest options that a respondent may name; absent it is 0."""
    at_most: int | None = None
    """Most of them; absent all."""
    want: str = SHARES
    """``"shares"`` of the options, or ``"pairs"`` of them as well."""

    def __post_init__(self) -> None:
        check_name(self.name, field="attributes[].name")
        where = f"attributes[{self.name}]"
        if len(self.categories) < 2:
            listed = number_of_entries(len(self.categories))
            raise refusal_of(f"{where}.categories")(
                f"has {listed}; a select-all has two options or more: add some, or ask a yes/no "
                "question without select"
            )
        self._check_refused(where)
        super().__post_init__()
        for place, category in enumerate(self.categories):
            if category in OPTION:
                raise InvalidParameter(
                    f"{where}.categories[{place}] is {show(category)}, which every option has as "
                    "an answer: call the option something else",
                    field=f"{where}.categories",
                )
        if len(option_name(self.name, len(self.categories) - 1)) > NAME_LENGTH:
            raise refusal_of(f"{where}.name")(
                f"is {show(self.name)}; the name of its last option would be longer than "
                f"{NAME_LENGTH} characters: shorten the name"
            )
        self._check_limits(where)

    def _check_refused(self, where: str) -> None:
        """Refuse what a question with several answers has not."""
        for key, remedy in (
            (
                "missing",
                "leave it out; a respondent who names nothing sends an empty selection, where "
                "at_least is 0",
            ),
            ("scale", "leave it out, since options are a list"),
            ("positive", "leave it out, since a target has one answer"),
            (
                "ask_if",
                "leave it out, since a select-all is asked of everybody in this version, or ask a "
                "question for each option",
            ),
        ):
            value = getattr(self, key)
            if value is not None:
                shown = "given" if key == "ask_if" else show(value)
                raise refusal_of(f"{where}.{key}")(
                    f"is {shown}, and the question has select: {remedy}"
                )
        if self.role == "target":
            raise InvalidParameter(
                f"{where} is the target and has select; what is predicted has one answer: give it "
                "another role, or leave select out",
                field=f"{where}.role",
            )
        if self.want not in WANTS:
            raise refusal_of(f"{where}.want")(
                f"is {show(self.want)}; it is one of {', '.join(WANTS)}"
            )

    def _check_limits(self, where: str) -> None:
        m = len(self.categories)
        for key, least in (("at_least", 0), ("at_most", 1)):
            value = getattr(self, key)
            path = f"{where}.select.{key}"
            if value is not None and (type(value) is not int or not least <= value <= m):
                raise refusal_of(path)(
                    f"is {show(value)}; it is an integer from {least} to {m}, the number of "
                    "options: correct it, or leave it out"
                )
        check_limits(self.fewest, self.most, m, f"{where}.select")
        if self.want == PAIRS and self.most < 2:
            raise refusal_of(f"{where}.want")(
                f"is {PAIRS}, and select.at_most is 1, so nobody names two options: raise at_most, "
                f"or want {SHARES}"
            )

    @property
    def fewest(self) -> int:
        """Fewest options that a respondent may name."""
        return 0 if self.at_least is None else self.at_least

    @property
    def most(self) -> int:
        """Most options that a respondent may name."""
        return len(self.categories) if self.at_most is None else self.at_most

    @property
    def selection(self) -> Selection:
        """The entry of `selects` that is published of it."""
        return Selection(
            self.name,
            tuple(option_name(self.name, place) for place in range(len(self.categories))),
            self.fewest,
            self.most,
            self.question,
            self.help,
            self.shuffle,
        )

    def options(self) -> tuple[Attribute, ...]:
        """Return the attributes of the options, in order."""
        return tuple(
            Attribute(
                name=name,
                role=self.role,
                categories=OPTION,
                question=category,
                protocol=self.protocol,
                section=self.section,
            )
            for name, category in zip(self.selection.attributes, self.categories, strict=True)
        )

    def to_dict(self) -> JsonMembers:
        """Return the attribute as JSON, as an author writes it."""
        document = {**super().to_dict(), "select": members_of(self, *LIMITS)}
        if self.want != SHARES:
            document["want"] = self.want
        return document


@dataclass(frozen=True)
class Selection:
    """Which attributes of a published survey are one select-all question."""

    name: str
    """No attribute has it, and a block of that name has exactly its options."""
    attributes: tuple[str, ...]
    """Its options in order, each with the categories `OPTION`, named after the question and the
    option's place from 1. The question of each is the option's text."""
    at_least: int
    """Fewest of them that a respondent may name."""
    at_most: int
    """Most of them."""
    question: str | None = None
    """What is asked; None where it is asked by its name."""
    help: str | None = None
    """What a respondent reads below it."""
    shuffle: Shuffle | None = None
    """That a device draws the order of the options."""

    def to_dict(self) -> JsonMembers:
        """Return the entry as JSON, without what is absent."""
        return members_of(self, *KEYS)

    def numbers(self) -> tuple[int, ...] | None:
        """Return the subsets within limits as increasing numbers in mixed radix; None: all."""
        m = len(self.attributes)
        if self.at_least == 0 and self.at_most == m:
            return None
        bits = [1 << place for place in range(m)]
        return tuple(
            sorted(
                sum(chosen)
                for size in range(self.at_least, self.at_most + 1)
                for chosen in combinations(bits, size)
            )
        )

    def check_count(self, count: int) -> None:
        """Refuse to send more or fewer options than the limits say; how many is not shown."""
        if not self.at_least <= count <= self.at_most:
            raise InvalidParameter(
                f"the answer to {self.name} does not have {self.limits()} of its "
                f"{len(self.attributes)} options; name {self.limits()}",
                field=self.name,
            )

    def limits(self) -> str:
        """Return how many options may be named, in words."""
        return {
            "any": "any number",
            "exactly": f"exactly {self.at_least}",
            "at_least": f"at least {self.at_least}",
            "at_most": f"at most {self.at_most}",
            "between": f"{self.at_least} to {self.at_most}",
        }[limits_kind(self.at_least, self.at_most, len(self.attributes))]


def check_limits(at_least: int, at_most: int, m: int, where: str) -> None:
    """Refuse limits that contradict each other, or that leave one answer."""
    if at_least > at_most:
        raise refusal_of(f"{where}.at_least")(
            f"is {at_least}, more than at_most, {at_most}; nobody could answer: lower at_least, or "
            "raise at_most"
        )
    if at_least == m:
        raise refusal_of(f"{where}.at_least")(
            f"is {at_least}, the number of options, so everybody would name all: lower it, or "
            "leave it out"
        )


def read_selects(value: object) -> tuple[Selection, ...]:
    """Read the list `selects` of a published survey."""
    return tuple(
        _selection(entry, options, where)
        for where, entry, options in _LIST.entries(value, known=KEYS, needed=_NEEDED, filled=True)
    )


def _selection(value: Mapping[str, Any], options: tuple[str, ...], where: str) -> Selection:
    for key, least in (("at_least", 0), ("at_most", 1)):
        number = value[key]
        if type(number) is not int or not least <= number <= len(options):
            raise refusal_of(f"{where}.{key}")(
                f"is {show(number)}; it is an integer from {least} to {len(options)}"
            )
    check_limits(value["at_least"], value["at_most"], len(options), where)
    check_texts(value, "question", "help", where=f"{where}.")
    shuffle = read_shuffle(value.get("shuffle"), where=where)
    if shuffle is not None:
        shuffle.check(f"{where}.shuffle", len(options))
    return Selection(
        *(value["name"], options, value["at_least"], value["at_most"]),
        question=value.get("question"),
        help=value.get("help"),
        shuffle=shuffle,
    )


def spread_answers(
    answers: Mapping[str, Any], selects: Sequence[Selection], texts: Mapping[str, str | None]
) -> dict[str, Any]:
    """Return answers with those to select-alls as answers to their options.

    The answer to a select-all is a list of the `texts` of options; else each option has one of
    `OPTION`, as in a file of records. A refusal names the question, never an answer.
    """
    spread = dict(answers)
    for select in selects:
        if select.name not in answers:
            if not any(name in answers for name in select.attributes):
                raise InvalidParameter(
                    f"{select.name} has no answer; give a list of its options, "
                    + (
                        "which is empty where none applies"
                        if select.at_least == 0
                        else f"{select.limits()} of them"
                    ),
                    field=select.name,
                )
            continue
        if any(name in answers for name in select.attributes):
            raise InvalidParameter(
                f"the answers have {select.name} and some of its options; give the list of options "
                f"for {select.name} alone",
                field=select.name,
            )
        del spread[select.name]
        chosen = _selection_in(answers[select.name], select, texts)
        spread |= {name: OPTION[name in chosen] for name in select.attributes}
    return spread


def _selection_in(value: object, select: Selection, texts: Mapping[str, str | None]) -> set[str]:
    if isinstance(value, str | Mapping) or not isinstance(value, list | tuple | set | frozenset):
        raise InvalidParameter(
            f"the answer to {select.name} (of type {type(value).__name__}) is no list; give a list "
            f"of its options, such as [{show(texts[select.attributes[0]])}]",
            field=select.name,
        )
    names = {texts[name]: name for name in select.attributes}
    chosen: set[str] = set()
    for one in value:
        text = str(one) if type(one) is int else one
        name = names.get(text) if isinstance(text, str) else None
        if name is None and isinstance(text, str):
            name = names.get(str(normalized(text)))
        if name is None or name in chosen:
            shown = ", ".join(show(texts[other]) for other in select.attributes[:12])
            fault = "is none of its options" if name is None else "is there twice"
            raise InvalidParameter(
                f"the answer to {select.name} has an entry that {fault}; its options are {shown}"
                + (", ..." if len(select.attributes) > 12 else "")
                + ": name each at most once",
                field=select.name,
            )
        chosen.add(name)
    return chosen
