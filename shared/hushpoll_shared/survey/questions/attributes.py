"""One question of a survey: its role, its domain, and in a published survey its protocol."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Final

from hushpoll_protocols import (
    K_MAX,
    K_MIN,
    PROTOCOLS,
    Bits,
    FrequencyOracle,
    InvalidParameter,
    format_epsilon,
)
from hushpoll_protocols.errors import refusal_of
from hushpoll_shared.spelling.canonical import LARGEST_INTEGER
from hushpoll_shared.spelling.json_values import JsonMembers, members_of
from hushpoll_shared.spelling.text import (
    CATEGORY_LENGTH,
    are_plain,
    check_name,
    check_text,
    check_texts,
    normalized,
    show,
)
from hushpoll_shared.survey.questions.follow_ups import NOT_ASKED, AskIf
from hushpoll_shared.survey.questions.number import Number, draw_anchor, place_of
from hushpoll_shared.survey.questions.presentation import Shuffle, check_ends_of_scale

ROLES: Final = ("sensitive", "plain", "target")
ORDINAL: Final = "ordinal"
NPS: Final = "nps"
SCALES: Final = (ORDINAL, NPS)
NPS_CATEGORIES: Final = tuple(str(score) for score in range(11))
TEXTS: Final = ("missing", "question", "positive", "section", "scale", "help")
"""Optional fields of an attribute that are text, in a draft as in a published survey."""


@dataclass(frozen=True)
class Attribute:
    """One question: a name, a role and an ordered, finite domain that never comes from data."""

    name: str
    """1 to 64 characters out of ``a-z 0-9 _ -``."""
    role: str
    """``"sensitive"`` (perturbed), ``"plain"`` (in clear) or ``"target"`` (what is predicted;
    perturbed if it names a protocol)."""
    categories: tuple[str, ...]
    """The possible answers in order; the position is the code."""
    missing: str | None = None
    """Label of one more category, last, for an answer skipped or refused."""
    question: str | None = None
    protocol: str | None = None
    """Of a perturbed attribute."""
    positive: str | None = None
    """For a target: the category that counts as 1."""
    section: str | None = None
    """Heading of the questions that this one stands among, up to 200 characters."""
    scale: str | None = None
    """How the answers are laid out: ``"ordinal"`` for categories that go from one end to the other,
    ``"nps"`` for the scores 0 to 10 of a Net Promoter Score; None for a plain list."""
    ask_if: AskIf | None = None
    """After which answers to its router a follow-up is asked. It has one more category, the last of
    all: `NOT_ASKED`."""
    number: Number | None = None
    """Limits of a question that is answered by a whole number. Its categories are the anchors of
    what is randomised (of a draft only its limits, where it names none); in clear, all its values.
    """
    help: str | None = None
    """What a respondent reads below the question, up to 1000 characters, with line feeds."""
    ends: tuple[str, str] | None = None
    """What the first and the last answer of a scale stand for, each up to 200 characters."""
    shuffle: Shuffle | None = None
    """That a device draws the order in which it shows the answers."""

    def __post_init__(self) -> None:
        check_name(self.name, field="attributes[].name")
        where = f"attributes[{self.name}]"
        if self.role not in ROLES:
            raise refusal_of(f"{where}.role")(
                f"is {show(self.role)}; a role is one of {', '.join(ROLES)}"
            )
        self._check_domain(where)
        check_texts(vars(self), "question", "help", where=f"{where}.")
        if self.protocol is not None:
            self._check_protocol(where)
        if self.positive is not None:
            self._check_positive(where)
        check_texts(vars(self), "section", where=f"{where}.")
        if self.scale is not None:
            self._check_scale(where)
        if self.number is not None:
            self._check_number(self.number, where)
        self._check_layout(where)

    def _check_domain(self, where: str) -> None:
        if not are_plain(self.categories, longest=CATEGORY_LENGTH):
            self._check_categories(where)
        check_texts(vars(self), "missing", where=f"{where}.")
        if self.missing in self.categories:
            raise refusal_of(f"{where}.missing")(
                f"is {show(self.missing)}, which is also listed in its categories; the missing "
                "category is one more: remove it from the categories"
            )
        if self.ask_if is not None and NOT_ASKED in (*self.categories, self.missing):
            raise InvalidParameter(
                f"{where} has the category {show(NOT_ASKED)}, which every follow-up has besides "
                "those that are listed: remove it, or call it something else",
                field=f"{where}.categories",
            )
        if not self.k - (self.ask_if is not None) >= K_MIN or self.k > K_MAX:
            raise InvalidParameter(
                f"{where} has a domain of size {self.k}; a domain has {K_MIN} to {K_MAX} "
                "categories, the missing one included: add or merge categories",
                field=f"{where}.categories",
            )

    def _check_categories(self, where: str) -> None:
        seen: set[str] = set()
        for position, category in enumerate(self.categories):
            path = f"{where}.categories[{position}]"
            check_text(category, field=path, longest=CATEGORY_LENGTH)
            if category in seen:
                raise InvalidParameter(
                    f"{where} has the category {show(category)} twice; each category of a domain "
                    "is listed once: remove one",
                    field=f"{where}.categories",
                )
            seen.add(category)

    def _check_protocol(self, where: str) -> None:
        check_protocol(self.protocol, field=f"{where}.protocol")
        if self.role == "plain":
            raise InvalidParameter(
                f"{where} is plain and names the protocol {self.protocol}; plain answers leave in "
                "clear: make its role sensitive, or remove the protocol",
                field=f"{where}.protocol",
            )

    def _check_positive(self, where: str) -> None:
        if self.role != "target":
            raise refusal_of(f"{where}.positive")(
                f"is {show(self.positive)} but its role is {self.role}; only a target has a "
                "positive category: remove it"
            )
        if self.positive not in self.categories:
            raise refusal_of(f"{where}.positive")(
                f"is {show(self.positive)}, which is none of its categories; name one of them"
            )

    def _check_scale(self, where: str) -> None:
        if self.scale not in SCALES:
            raise refusal_of(f"{where}.scale")(
                f"is {show(self.scale)}; a scale is one of {', '.join(SCALES)}"
            )
        if self.scale == NPS and self.categories != NPS_CATEGORIES:
            raise refusal_of(f"{where}.scale")(
                f"is {NPS}, whose answers are the scores 0 to 10; give the attribute range: [0, "
                "10] in place of its categories"
            )

    def _check_layout(self, where: str) -> None:
        if self.ends is not None:
            if self.scale is None:
                raise refusal_of(f"{where}.ends")(
                    f"is {show(list(self.ends))}, and the question has no scale; only the ends of "
                    "a scale have texts: add scale: ordinal, or leave ends out"
                )
            check_ends_of_scale(self.ends, where=where)
        if self.shuffle is None:
            return
        for key in ("scale", "number"):
            value = getattr(self, key)
            if value is not None:
                shown = "given" if key == "number" else show(value)
                raise refusal_of(f"{where}.shuffle")(
                    f"is given, and {key} is {shown}; answers that are ordered keep their order: "
                    f"leave shuffle or {key} out"
                )
        self.shuffle.check(f"{where}.shuffle", len(self.categories))

    def _check_number(self, number: Number, where: str) -> None:
        if self.role == "target":
            raise InvalidParameter(
                f"{where} is the target and has number; a target is one of a few categories: give "
                "it categories, or make its role sensitive",
                field=f"{where}.number",
            )
        if self.scale is not None:
            raise InvalidParameter(
                f"{where} has number and scale; a number is typed, and is not laid out: remove one "
                "of them",
                field=f"{where}.scale",
            )
        number.check(where, self.categories, clear=not self.perturbed)
        for label in (self.missing, None if self.ask_if is None else NOT_ASKED):
            if label is not None and number.value_of(label) is not None:
                raise refusal_of(f"{where}.missing")(
                    f"is {show(label)}, which is one of its numbers: call it something else"
                )

    @cached_property
    def domain(self) -> tuple[str, ...]:
        """The categories in code order, then the missing one, then that of who is not asked."""
        missing = () if self.missing is None else (self.missing,)
        not_asked = () if self.ask_if is None else (NOT_ASKED,)
        return (*self.categories, *missing, *not_asked)

    @property
    def answers(self) -> tuple[str, ...]:
        """The domain without that of who is not asked: what a respondent may say."""
        return self.domain if self.ask_if is None else self.domain[:-1]

    @property
    def k(self) -> int:
        """Domain size, 2..65536."""
        return len(self.categories) + (self.missing is not None) + (self.ask_if is not None)

    @property
    def answer_codes(self) -> int:
        """How many codes answers have on a device: k, or of a number one for each value."""
        if self.number is None:
            return self.k
        return self.k - len(self.categories) + self.number.values

    def drawn(self, code: int, bits: Bits) -> int:
        """Return the code in the domain, 0..k-1, of an answer's code, 0..answer_codes-1.

        It is the same but for a number that is randomised, whose anchor is drawn.
        """
        if self.number is None or not self.perturbed:
            return code
        beyond = code - self.number.values
        if beyond >= 0:
            return len(self.categories) + beyond
        return draw_anchor(self.anchors, self.number.low + code, bits)

    @property
    def rounded(self) -> bool:
        """Whether it is a number of which records have an anchor in place of the value."""
        return self.number is not None and len(self.categories) < self.number.values

    def standing_for(self, code: int) -> tuple[tuple[int, float], ...]:
        """Return the codes in the domain that `drawn` may give for an answer's code, with chances.

        The last has what the first leaves.
        """
        if self.number is None or not self.perturbed:
            return ((code, 1.0),)
        beyond = code - self.number.values
        if beyond >= 0:
            return ((len(self.categories) + beyond, 1.0),)
        place, part, gap = place_of(self.anchors, self.number.low + code)
        return ((place, (gap - part) / gap), (place + 1, part / gap))

    @cached_property
    def anchors(self) -> tuple[int, ...]:
        """The categories of a number as integers; else empty."""
        return () if self.number is None else tuple(map(int, self.categories))

    @property
    def missing_code(self) -> int | None:
        """Code of the missing category; None without one."""
        return None if self.missing is None else len(self.categories)

    @property
    def not_asked_code(self) -> int | None:
        """Code of who is not asked, of a follow-up; None of other questions."""
        return None if self.ask_if is None else self.k - 1

    @property
    def perturbed(self) -> bool:
        """Whether answers leave the device only through a protocol."""
        return self.role == "sensitive" or (self.role == "target" and self.protocol is not None)

    def code(self, answer: object) -> int:
        """Return the code of an answer, 0..answer_codes-1; a refusal never shows the answer.

        An integer stands for its decimal string, None for the missing category; a number is
        answered by a whole number within its limits.
        """
        if self.number is not None:
            return self._number_code(self.number, answer)
        if answer is None:
            if self.missing_code is None:
                raise refusal_of(self.name)(
                    "has no answer, and the survey gives it no category for a missing one; answer "
                    f"with one of {_listed(self.answers)}"
                )
            return self.missing_code
        kind = type(answer).__name__
        if type(answer) is int and abs(answer) <= LARGEST_INTEGER:
            answer = str(answer)
        code = self._codes.get(answer) if isinstance(answer, str) else None
        if code is None:
            code = self._codes.get(normalized(answer)) if isinstance(answer, str) else None
        if code is None:
            raise InvalidParameter(
                f"the answer to {self.name} (of type {kind}) is not in the "
                f"survey; answer with one of {_listed(self.answers)}",
                field=self.name,
            )
        return code

    def _number_code(self, number: Number, answer: object) -> int:
        labels = self.domain[len(self.categories) :]
        if answer is None and self.missing is not None:
            return number.values
        if isinstance(answer, str) and normalized(answer) in labels:
            return number.values + labels.index(normalized(answer))
        value = number.value_of(answer)
        if value is None:
            said = f"(of type {type(answer).__name__}) "
            also = "" if self.missing is None else f", or with {show(self.missing)}"
            raise InvalidParameter(
                f"the answer to {self.name} {said}is not in the survey; answer with a whole number "
                f"from {number.low} to {number.high}{also}",
                field=self.name,
            )
        return value - number.low

    def answer_of(self, code: int) -> str:
        """Return the answer of a code, 0..answer_codes-1: what `code` takes."""
        if self.number is None:
            return self.domain[code]
        beyond = code - self.number.values
        return (
            str(self.number.low + code) if beyond < 0 else self.domain[len(self.anchors) + beyond]
        )

    def with_values(self) -> Attribute:
        """Return a number as a question whose categories are its values; others as they are."""
        if self.number is None:
            return self
        if self.answer_codes > K_MAX:
            raise InvalidParameter(
                f"{self.name} has {self.number.values} values; of at most {K_MAX} each can be "
                "listed: give respondents as a CSV file",
                field=f"attributes[{self.name}].number",
            )
        values = tuple(map(str, range(self.number.low, self.number.high + 1)))
        return Attribute(
            *(self.name, self.role, values, self.missing, self.question),
            ask_if=self.ask_if,
            help=self.help,
        )

    @cached_property
    def _codes(self) -> dict[object, int]:
        return {category: code for code, category in enumerate(self.domain)}

    def to_dict(self) -> JsonMembers:
        """Return the attribute as JSON, without what is absent."""
        domain = "categories" if self.number is None else "number"
        texts = ("missing", "question", "protocol", "positive", "section", "scale", "help")
        return members_of(self, "name", "role", domain, *texts, "ends", "shuffle", "ask_if")


@dataclass(frozen=True)
class PublishedAttribute(Attribute):
    """An attribute of a published survey: a perturbed one has the oracle that devices use."""

    oracle: FrequencyOracle | None = None
    """The protocol at this attribute's k and epsilon; that of its block, with the block's k and
    epsilon, for a question that is randomised with others; None for an attribute in clear."""
    block: str | None = None
    """Name of the block of several questions that it is in, if it is in one."""
    set_sizes: tuple[int, ...] | None = None
    """Where `ask_if` makes combinations of its block impossible, how many of the others have each
    of its categories; else None."""
    draw: str | None = None
    """Name of the draw that its block is in, if it is in one: a device answers some of these."""

    @property
    def epsilon(self) -> Decimal | None:
        """What one answer, or the block that it is in, is charged, in [1e-6, 64]; None in clear."""
        return None if self.oracle is None else self.oracle.epsilon

    def to_dict(self) -> JsonMembers:
        """Return the attribute as it stands in the published form."""
        document = super().to_dict()
        if self.number is not None:
            document["categories"] = list(self.categories)
        if self.block is not None:
            # The block has one protocol, and states it once.
            del document["protocol"]
        elif self.oracle is not None:
            document |= claims(self.oracle)
        return document


def claims(oracle: FrequencyOracle) -> JsonMembers:
    """Return what a published survey says of an oracle, and a device recomputes."""
    return {
        "epsilon": format_epsilon(oracle.epsilon),
        "parameters": dict(oracle.parameters),
        "thresholds": hex_thresholds(oracle),
    }


def hex_thresholds(oracle: FrequencyOracle) -> dict[str, str]:
    """Return an oracle's thresholds out of 2^64, each as 16 lower-case hexadecimal digits."""
    return {name: f"{value:016x}" for name, value in oracle.thresholds.items()}


def check_protocol(value: object, *, field: str) -> str:
    """Return `value` if it is the name of a protocol."""
    if not isinstance(value, str) or value not in PROTOCOLS:
        raise refusal_of(field)(f"is {show(value)}; a protocol is one of {', '.join(PROTOCOLS)}")
    return value


def _listed(domain: tuple[str, ...]) -> str:
    shown = ", ".join(show(category) for category in domain[:12])
    return shown if len(domain) <= 12 else f"{shown}, ... ({len(domain)} categories)"
