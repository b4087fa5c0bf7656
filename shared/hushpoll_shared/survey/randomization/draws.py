"""Draws: sets of blocks of which each device answers some, chosen at random by the device.

A device answers s of the d blocks of a draw, chosen uniformly and independently of the answers, and
each of these is given epsilon_draw / s, rounded down. What a device sends for the draw changes the
odds of anything by at most e^epsilon_draw: which blocks were chosen tells nothing, and s records of
epsilon_draw / s each compose. A block that is in no draw is answered by everybody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from hushpoll_protocols import EPSILON_MIN, InvalidParameter, format_epsilon
from hushpoll_protocols.errors import refusal_of
from hushpoll_shared.spelling.decimals import check_canonical
from hushpoll_shared.spelling.json_values import JsonMembers, members_of
from hushpoll_shared.spelling.text import check_name, number_of_entries, show
from hushpoll_shared.survey.questions.attributes import Attribute, PublishedAttribute
from hushpoll_shared.survey.questions.named_lists import NamedList
from hushpoll_shared.survey.randomization.blocks import Together
from hushpoll_shared.survey.randomization.budget import OPTIMAL, Split, part_of, split_budget

KEYS: Final = ("name", "blocks", "answer")
"""Fields of an entry of `draws`."""

CLAIM: Final = "epsilon"
"""What a published entry claims beyond them."""

SHORTHAND: Final = "draw"
"""Name of the draw that `answer` stands for."""


_LIST: Final = NamedList(
    "draws",
    "a list of draws, each with a name, the names of its blocks and how many of them a device "
    "answers",
    "correct it, or leave it out",
    "a mapping with a name, a list of blocks and answer, the number of them that a device answers",
    "blocks",
    "names of blocks, or of perturbed attributes that are in no block",
)


@dataclass(frozen=True)
class Draw:
    """Blocks of which each device answers some."""

    name: str
    """1 to 64 characters out of ``a-z 0-9 _ -``."""
    blocks: tuple[str, ...]
    """Names of its d blocks, at least two, in the order of the record; a question alone is a block.
    """
    answer: int
    """How many of them a device answers, in [1, d - 1]."""

    def __post_init__(self) -> None:
        check_name(self.name, field="draws[].name")

    @property
    def weight(self) -> Fraction:
        """d/s: how many respondents there are for one who answers a block."""
        return Fraction(len(self.blocks), self.answer)

    def to_dict(self) -> JsonMembers:
        """Return the draw as JSON."""
        return members_of(self, *KEYS)


def read_draws(value: object, *, published: bool) -> tuple[Draw, ...]:
    """Read the list `draws`; a published entry has the epsilon that a device recomputes."""
    keys = (*KEYS, CLAIM) if published else KEYS
    found = []
    for where, entry, blocks in _LIST.entries(value, known=keys, needed=keys, filled=published):
        _check_answer(entry["answer"], len(blocks), f"{where}.answer")
        found.append(Draw(entry["name"], blocks, entry["answer"]))
    return tuple(found)


def _numbers(blocks: int) -> str:
    """Return how many of some blocks a device may answer, in words."""
    return "1" if blocks == 2 else f"1 to {blocks - 1}"


def _blocks(number: int) -> str:
    return "1 block is" if number == 1 else f"{number} blocks are"


def _check_answer(value: object, blocks: int, path: str) -> None:
    if blocks < 2:
        what = path.rpartition(".")[0]
        raise refusal_of(f"{what}.blocks")(
            f"has {number_of_entries(blocks)}; a draw is from two blocks on: add one, or remove "
            "the draw"
        )
    if type(value) is not int or not 1 <= value < blocks:
        raise refusal_of(path)(
            f"is {show(value)}; of {blocks} blocks a device answers {_numbers(blocks)}: correct "
            "it, or remove the draw, so that everybody answers all of them"
        )


def draw_of_shorthand(
    answer: object, always: object, attributes: Sequence[Attribute], sizes: Mapping[str, int]
) -> tuple[Draw, ...]:
    """Return the draw that the shorthand of a draft stands for: all blocks but `always`.

    Of these, whose domain sizes are in record order, a device answers `answer`; None is no draw.
    """
    if answer is None:
        if always is None:
            return ()
        raise refusal_of("always")(
            f"is {show(always)}, and there is no answer, so everybody answers all questions "
            "anyway: give answer, how many of the other blocks a device answers, or leave always "
            "out"
        )
    kept = () if always is None else _LIST.members(always, "always")
    for place, name in enumerate(kept):
        _check_block(name, "always", attributes, sizes)
        if name in kept[:place]:
            raise refusal_of("always")(f"has {name} twice; name each block once")
    drawn = tuple(name for name in sizes if name not in kept)
    if type(answer) is not int or not 1 <= answer < len(drawn):
        most = len(drawn) - 1
        remedy = (
            f"of them a device answers {_numbers(len(drawn))}: correct it, or leave it out"
            if most > 0
            else "there must be two of them at least: take some out of always, or leave answer out"
        )
        raise refusal_of("answer")(
            f"is {show(answer)}, and {_blocks(len(drawn))} not in always; {remedy}"
        )
    return (Draw(SHORTHAND, drawn, answer),)


def check_draws(
    draws: Sequence[Draw],
    attributes: Sequence[Attribute],
    together: Sequence[Together],
    sizes: Mapping[str, int],
) -> None:
    """Refuse draws that cannot be; `sizes` has the domain size of every block, in record order.

    That is a draw of a block that does not exist, is in another draw or leaves in clear, with
    another number to answer than 1 to d - 1, or with a name that is taken.
    """
    owners: dict[str, str] = {}
    taken = {attribute.name: "an attribute" for attribute in attributes}
    taken |= {block.name: "a block" for block in together}
    for draw in draws:
        where = f"draws[{draw.name}]"
        if draw.name in taken:
            raise refusal_of(f"{where}.name")(
                f"is {show(draw.name)}, the name of {taken[draw.name]}; names of draws, blocks and "
                "attributes differ: rename the draw (what answer stands for is a draw named "
                f"{SHORTHAND})"
            )
        taken[draw.name] = "another draw"
        path = f"{where}.blocks"
        for name in draw.blocks:
            _check_block(name, path, attributes, sizes)
            if name in owners:
                other = owners[name]
                raise InvalidParameter(
                    f"{path} has {name} twice; each block of a draw is listed once: remove one"
                    if other == draw.name
                    else f"{path} has {name}, which is in the draw {other} too; a block is in one "
                    "draw only: remove it from one of them",
                    field=path,
                )
            owners[name] = draw.name
        _check_answer(draw.answer, len(draw.blocks), f"{where}.answer")


def _check_block(
    name: str, path: str, attributes: Sequence[Attribute], sizes: Mapping[str, int]
) -> None:
    if name in sizes:
        return
    attribute = next((one for one in attributes if one.name == name), None)
    if attribute is None:
        fault = "is no block of the survey"
        remedy = f"its blocks are {', '.join(sizes)}: correct the name"
    elif attribute.perturbed:
        fault = "is randomised together with other questions"
        remedy = "a block is drawn as a whole: name the block that it is in"
    else:
        fault = "leaves in clear"
        kept = "give it a protocol" if attribute.role == "target" else "make its role sensitive"
        remedy = f"everybody answers it: take it out, or {kept}"
    raise refusal_of(path)(f"has {show(name)}, which {fault}; {remedy}")


def units_of(sizes: Mapping[str, int], draws: Sequence[Draw]) -> dict[str, int]:
    """Return what a split divides epsilon over: draws, and blocks outside draws, in record order.

    The size of a draw is the sum of those of its blocks.
    """
    owners = {name: draw.name for draw in draws for name in draw.blocks}
    units: dict[str, int] = {}
    for name, k in sizes.items():
        unit = owners.get(name, name)
        units[unit] = units.get(unit, 0) + k
    return units


def check_split_of_draws(split: Split, sizes: Mapping[str, int], draws: Sequence[Draw]) -> None:
    """Refuse a split that is k-based with a draw, or whose weights are not exactly the units'."""
    if draws and split.kind == "k-based":
        raise refusal_of("split")(
            f"is k-based, and the survey has the draw {draws[0].name}; k-based is a rule for "
            "questions that everybody answers alone: choose uniform, optimal or weights"
        )
    owners = {name: draw.name for draw in draws for name in draw.blocks}
    for name, _ in split.weights:
        if name in owners:
            raise InvalidParameter(
                f"split.weights names {name}, a block of the draw {owners[name]}; a draw has one "
                f"weight: give it to {owners[name]}",
                field=f"split.weights[{name}]",
            )
    if split.kind != OPTIMAL:
        split.shares(units_of(sizes, draws))


def divide(
    epsilon: Decimal,
    sizes: Mapping[str, int],
    split: Split | str,
    *,
    together: Sequence[Together] = (),
    draws: Sequence[Draw] = (),
    apart: Mapping[str, Sequence[str]] | None = None,
) -> tuple[dict[str, Decimal], dict[str, Decimal]]:
    """Divide a budget over draws and blocks outside draws, and those of draws over their blocks.

    The first parts sum to at most `epsilon`; the second are of every block, where it is answered.
    `sizes` and `apart` are as for
    :func:`~hushpoll_shared.survey.randomization.budget.split_budget`.
    """
    units = split_budget(
        epsilon,
        units_of(sizes, draws),
        split,
        several={block.name for block in together},
        draws={draw.name for draw in draws},
        apart=apart,
    )
    owners = {name: draw for draw in draws for name in draw.blocks}
    blocks: dict[str, Decimal] = {}
    for name in sizes:
        draw = owners.get(name)
        blocks[name] = units[name] if draw is None else _part(draw, units[draw.name])
    return units, blocks


def _part(draw: Draw, epsilon: Decimal) -> Decimal:
    """Return what one chosen block of a draw is given."""
    part = part_of(epsilon, Fraction(1, draw.answer))
    if part < EPSILON_MIN:
        raise InvalidParameter(
            f"draws[{draw.name}] is given epsilon {format_epsilon(epsilon)}, which leaves each of "
            f"the {draw.answer} blocks that a device answers with {format_epsilon(part)}, under "
            "1e-6; raise epsilon, or answer fewer",
            field=f"draws[{draw.name}].answer",
        )
    return part


def check_claims(
    document: Sequence[Mapping[str, Any]], draws: Sequence[Draw], units: Mapping[str, Decimal]
) -> None:
    """Refuse published draws that claim another epsilon than the split gives them."""
    for claimed, draw in zip(document, draws, strict=True):
        path = f"draws[{draw.name}].{CLAIM}"
        check_canonical(claimed[CLAIM], field=path)
        part = format_epsilon(units[draw.name])
        if claimed[CLAIM] != part:
            raise refusal_of(path)(
                f"is {show(claimed[CLAIM])}, but the split gives it {part}; do not answer this "
                "survey"
            )


def with_draws(
    attributes: Sequence[PublishedAttribute], draws: Sequence[Draw]
) -> tuple[PublishedAttribute, ...]:
    """Return the attributes with the draw that the block of each is in."""
    owners = {name: draw.name for draw in draws for name in draw.blocks}
    return tuple(
        replace(attribute, draw=owners.get(attribute.block or attribute.name))
        for attribute in attributes
    )
