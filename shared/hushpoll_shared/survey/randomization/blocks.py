"""Blocks: the questions that are randomised together, as one value of one finite domain.

The domain of a block is all combinations of its questions' codes in mixed radix, the first question
slowest: with domains of 2 and 3 the combinations (0, 0), (0, 1), (0, 2), (1, 0) ... are 0, 1, 2, 3
and so on. Combinations that `ask_if` makes impossible are left out, and the others are numbered in
the same order. A question that is randomised alone is a block of one, of its own name.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Final

from hushpoll_protocols import K_MAX, FrequencyOracle, InvalidParameter
from hushpoll_protocols.errors import refusal_of
from hushpoll_shared.spelling.json_values import JsonMembers, members_of
from hushpoll_shared.spelling.text import check_name, number_of_entries, show
from hushpoll_shared.survey.questions.attributes import (
    Attribute,
    PublishedAttribute,
    check_protocol,
)
from hushpoll_shared.survey.questions.follow_ups import tree_of
from hushpoll_shared.survey.questions.named_lists import NamedList
from hushpoll_shared.survey.questions.selects import Selection, subsets
from hushpoll_shared.survey.randomization.budget import Split

LARGEST_RECORD: Final = 1024
"""Bytes of a record, at most, of a survey with a block of several questions."""

KEYS: Final = ("name", "attributes", "protocol")
"""Fields of an entry of `together` in a draft."""

CLAIMS: Final = ("epsilon", "parameters", "thresholds")
"""What a published entry of `together` claims beyond them."""


_LIST: Final = NamedList(
    "together",
    "a list of blocks, each with a name and the names of its attributes",
    "correct it, or leave it out",
    "a mapping with a name and a list of attributes",
    "attributes",
    "names of attributes",
)


@dataclass(frozen=True)
class Together:
    """The declaration of a block of several questions."""

    name: str
    """1 to 64 characters out of ``a-z 0-9 _ -``."""
    attributes: tuple[str, ...]
    """Its questions, at least two, the slowest first."""
    protocol: str | None = None
    """Of the block; in a draft it may be that which its questions name, or the survey's."""
    select: Selection | None = None
    """The select-all whose options its questions are; its entry in `selects` says so."""

    def __post_init__(self) -> None:
        check_name(self.name, field="together[].name")
        if self.protocol is not None:
            check_protocol(self.protocol, field=f"together[{self.name}].protocol")

    def to_dict(self) -> JsonMembers:
        """Return the declaration as JSON, without what is absent."""
        return members_of(self, *KEYS)


@dataclass(frozen=True)
class Block:
    """The questions whose answers are one value, randomised by one oracle."""

    name: str
    """Of a question alone that of the question."""
    questions: tuple[PublishedAttribute, ...]
    """One or more, the slowest first."""
    oracle: FrequencyOracle
    """The protocol at the block's domain and epsilon."""
    tree: tuple[int, ...] | None = None
    """Where `ask_if`, or the limits of a select-all, make combinations impossible, the numbers of
    the others in mixed radix, increasing; else None."""
    select: Selection | None = None
    """The select-all whose options its questions are."""

    @property
    def k(self) -> int:
        """Combinations of answers: the domain's size."""
        return self.oracle.k

    @property
    def sizes(self) -> tuple[int, ...]:
        """Domain size of each question, in order."""
        return tuple(question.k for question in self.questions)

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """By how much the number in mixed radix grows with a question's code, in order."""
        sizes = self.sizes
        return tuple(prod(sizes[place + 1 :]) for place in range(len(sizes)))

    @property
    def alone(self) -> bool:
        """Whether it is one question."""
        return len(self.questions) == 1

    def place(self, name: str) -> int:
        """Return where a question of the block stands in it; refuses another question."""
        for place, question in enumerate(self.questions):
            if question.name == name:
                return place
        raise InvalidParameter(
            f"{show(name)} is no question of the block {self.name}; its questions are "
            f"{', '.join(question.name for question in self.questions)}",
            field="attribute",
        )

    def join(self, codes: Sequence[int]) -> int:
        """Return the combination, 0..k-1, of one code for each question in order.

        Refuses one that `ask_if` makes impossible, without showing the codes.
        """
        number = sum(code * stride for code, stride in zip(codes, self.strides, strict=True))
        if self.tree is None:
            return number
        place = bisect_left(self.tree, number)
        if place == self.k or self.tree[place] != number:
            if self.select is not None:
                self.select.check_count(-1)
            raise InvalidParameter(
                f"the answers to the questions of {self.name} do not go together: one of them is "
                "asked only after some answers to another; code answers with code_answers",
                field=self.name,
            )
        return place

    def part(self, combination: int) -> tuple[int, ...]:
        """Return the code of each question, in order, in a combination 0..k-1."""
        number = combination if self.tree is None else self.tree[combination]
        return tuple(
            number // stride % size for stride, size in zip(self.strides, self.sizes, strict=True)
        )

    def codes_of(self, name: str) -> array[int]:
        """Return the code of one question in every combination, uint16[k].

        It has the buffer protocol: ``numpy.frombuffer(codes, numpy.uint16)`` copies nothing.
        """
        place = self.place(name)
        size, stride = self.sizes[place], self.strides[place]
        if self.tree is not None:
            return array("H", (number // stride % size for number in self.tree))
        cycle = array("H")
        for code in range(size):
            cycle.extend(array("H", [code]) * stride)
        return cycle * (self.k // (size * stride))


def read_together(value: object, *, published: bool) -> tuple[Together, ...]:
    """Read the list `together` of a draft or of a published survey.

    A published entry has its protocol, and the claims that a device recomputes.
    """
    known, needed = ((*KEYS, *CLAIMS),) * 2 if published else (KEYS, KEYS[:2])
    entries = _LIST.entries(value, known=known, needed=needed, filled=published)
    return tuple(
        Together(entry["name"], attributes, entry.get("protocol"))
        for _, entry, attributes in entries
    )


def check_together(together: Sequence[Together], attributes: Sequence[Attribute]) -> None:
    """Refuse blocks that cannot be.

    That is a block of fewer than two questions, of a question that does not exist, is in another
    block or leaves in clear, of too many combinations, or with a name that is taken.
    """
    declared = {attribute.name: attribute for attribute in attributes}
    owners: dict[str, str] = {}
    names: set[str] = set()
    for block in together:
        where = f"together[{block.name}]"
        _check_name(block.name, names, declared)
        names.add(block.name)
        if len(block.attributes) < 2:
            raise refusal_of(f"{where}.attributes")(
                f"has {number_of_entries(len(block.attributes))}; questions are together from two "
                "on: add one, or remove the block"
            )
        for name in block.attributes:
            _check_member(name, block.name, owners, declared)
            owners[name] = block.name
        domain_size(block, attributes)


def _check_name(name: str, names: set[str], declared: Mapping[str, Attribute]) -> None:
    taken = "an attribute" if name in declared else "another block" if name in names else None
    if taken is not None:
        raise refusal_of(f"together[{name}].name")(
            f"is {show(name)}, the name of {taken}; names of blocks and attributes differ: rename "
            "the block"
        )


def _check_member(
    name: str, block: str, owners: Mapping[str, str], declared: Mapping[str, Attribute]
) -> None:
    path = f"together[{block}].attributes"
    attribute = declared.get(name)
    if attribute is None:
        raise refusal_of(path)(
            f"has {show(name)}, which is no attribute of the survey; its attributes are "
            f"{', '.join(declared)}: correct the name"
        )
    if owners.get(name) == block:
        raise refusal_of(path)(
            f"has {name} twice; each question of a block is listed once: remove one"
        )
    if name in owners:
        raise refusal_of(path)(
            f"has {name}, which is in the block {owners[name]} too; a question is in one block "
            "only: remove it from one of them"
        )
    if attribute.number is not None:
        raise refusal_of(path)(
            f"has {name}, which is answered by a number; a number is randomised alone: take it out "
            "of the block, or give it categories"
        )
    if not attribute.perturbed:
        remedy = (
            "make its role sensitive"
            if attribute.role == "plain"
            else "give the target the protocol, and leave out that of the block"
        )
        raise refusal_of(path)(
            f"has {name}, a {attribute.role} attribute without a protocol, which leaves in clear; "
            f"the questions of a block are perturbed: {remedy}, or take it out of the block"
        )


def common_protocol(block: str, own: str | None, questions: Sequence[Attribute]) -> str | None:
    """Return the protocol that a block or its questions name; None if none does, refuses two."""
    named = own
    for question in questions:
        if question.protocol is None:
            continue
        if own is not None:
            raise InvalidParameter(
                f"{question.name} names the protocol {question.protocol}, and its block {block} "
                f"names {own}; a block has one protocol: remove that of the question or of the "
                "block",
                field=f"attributes[{question.name}].protocol",
            )
        if named not in (None, question.protocol):
            raise InvalidParameter(
                f"{question.name} names the protocol {question.protocol}, and another question of "
                f"its block {block} names {named}; a block has one protocol: name it at the block",
                field=f"attributes[{question.name}].protocol",
            )
        named = question.protocol
    return named


def domain_size(block: Together, attributes: Sequence[Attribute]) -> int:
    """Return the number of combinations of answers to a block; refuses more than it may have."""
    declared = {attribute.name: attribute for attribute in attributes}
    sizes = [declared[name].k for name in block.attributes]
    if block.select is not None:
        select = block.select
        return subsets(len(select.attributes), select.at_least, select.at_most)
    try:
        tree = tree_of(block.attributes, attributes)
        k = prod(sizes) if tree is None else len(tree)
        written = f"{' * '.join(map(str, sizes))} = {k}"
    except InvalidParameter:
        k, written = K_MAX + 1, f"more than {K_MAX}"
    if k > K_MAX:
        where = f"together[{block.name}]"
        raise InvalidParameter(
            f"{where} has {written} combinations of answers; a block has at most {K_MAX}: "
            "take a question out of it, or merge categories",
            field=f"{where}.attributes",
        )
    return k


def domain_sizes(attributes: Sequence[Attribute], together: Sequence[Together]) -> dict[str, int]:
    """Return the domain size of every block, by name, in the order of the record.

    A block stands where the first of its questions stands in the manifest.
    """
    owners = {name: block for block in together for name in block.attributes}
    sizes: dict[str, int] = {}
    for attribute in attributes:
        block = owners.get(attribute.name)
        if block is not None:
            if block.name not in sizes:
                sizes[block.name] = domain_size(block, attributes)
        elif attribute.perturbed:
            sizes[attribute.name] = attribute.k
    return sizes


def check_split(
    split: Split, together: Sequence[Together], selects: Sequence[Selection] = ()
) -> None:
    """Refuse a split over blocks or select-alls that is k-based, or has a weight in a block."""
    if selects and split.kind == "k-based":
        raise refusal_of("split")(
            f"is k-based, and {selects[0].name} is a select-all; k-based is a rule for questions "
            "with one answer: choose uniform, optimal or weights"
        )
    if together and split.kind == "k-based":
        raise refusal_of("split")(
            f"is k-based, and the survey has the block {together[0].name}; k-based is a rule for "
            "questions alone: choose uniform, optimal or weights"
        )
    owners = {name: block.name for block in together for name in block.attributes}
    for name, _ in split.weights:
        select = next((one.name for one in selects if name in one.attributes), None)
        if select is not None:
            raise InvalidParameter(
                f"split.weights names {name}, an option of the select-all {select}; a select-all "
                f"has one weight: give it to {select}",
                field=f"split.weights[{name}]",
            )
        if name in owners:
            raise InvalidParameter(
                f"split.weights names {name}, a question of the block {owners[name]}; a block has "
                f"one weight: give it to {owners[name]}",
                field=f"split.weights[{name}]",
            )


def with_oracles(
    attributes: Sequence[PublishedAttribute],
    together: Sequence[Together],
    oracles: Mapping[str, FrequencyOracle],
) -> tuple[PublishedAttribute, ...]:
    """Return the attributes with what the questions of a block of several have from their block."""
    sizes: dict[str, tuple[int, ...]] = {}
    for declared in together:
        tree = _tree(declared, attributes)
        if tree is None:
            continue
        questions = tuple(
            one for name in declared.attributes for one in attributes if one.name == name
        )
        block = Block(declared.name, questions, oracles[declared.name], tree)
        for question in questions:
            codes = Counter(block.codes_of(question.name))
            sizes[question.name] = tuple(codes[code] for code in range(question.k))
    return tuple(
        attribute
        if attribute.block is None
        else replace(
            attribute, oracle=oracles[attribute.block], set_sizes=sizes.get(attribute.name)
        )
        for attribute in attributes
    )


def blocks_of(
    attributes: Sequence[PublishedAttribute], together: Sequence[Together]
) -> tuple[Block, ...]:
    """Return every block of a published survey in the order of the record, those of one included.

    Refuses a block whose questions do not have one oracle of its domain.
    """
    by_name = {attribute.name: attribute for attribute in attributes}
    several = {block.name: block for block in together}
    blocks: list[Block] = []
    for name, k in domain_sizes(attributes, together).items():
        declared = several.get(name)
        members = (name,) if declared is None else declared.attributes
        questions = tuple(by_name[member] for member in members)
        oracle = questions[0].oracle
        if oracle is None or oracle.k != k or any(one.oracle != oracle for one in questions):
            raise InvalidParameter(
                f"the questions of {name} do not have one oracle of its domain of {k}; resolve the "
                "manifest again",
                field="together",
            )
        tree = None if declared is None else _tree(declared, attributes)
        select = None if declared is None else declared.select
        blocks.append(Block(name, questions, oracle, tree, select))
    return tuple(blocks)


def _tree(block: Together, attributes: Sequence[Attribute]) -> tuple[int, ...] | None:
    """Return the possible combinations of a block's answers; None where all are."""
    if block.select is not None:
        return block.select.numbers()
    return tree_of(block.attributes, attributes)
