"""One question of a manifest as the fields of a form, and back; the items of a matrix as lines.

A line is the item's name, a colon and what it says: ``wine: Red or white wine``. A line without a
colon is what it says, of which its name is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, TypeGuard

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.dashboard.drafts.controls import FormTable, given_members, take
from hushpoll_server.dashboard.drafts.editing import name_of
from hushpoll_server.dashboard.drafts.fields import (
    MOST_LINES,
    Fields,
    Read,
    kept_members,
    lines,
    number,
    shown_lines,
)
from hushpoll_shared.drafts.attribute_fields import ATTRIBUTE
from hushpoll_shared.spelling.labels import trimmed
from hushpoll_shared.survey.questions.number import AIMS, MEAN
from hushpoll_shared.survey.questions.selects import LIMITS, SHARES, WANTS

QUESTION: Final = FormTable.of(ATTRIBUTE, rest="more")
ITEMS: Final = "items"
ROWS: Final = "rows"
"""The field that says how the items are randomised."""
APART: Final = ""
BLOCK: Final = "block"
ENDS: Final = ("end-first", "end-last")
SHUFFLED: Final = "shuffled"


class Shape(NamedTuple):
    """How a value is shown by several inputs, and what these give back."""

    take: Callable[[dict[str, object], Fields], None]
    """Moves it from a question into fields, if these can show it."""
    given: Callable[[Read], dict[str, object]]
    """Returns the members of a question that the fields give."""


def _is_typed(value: object) -> bool:
    """Whether a field shows a limit, and gives it back: a whole number, or a text that is none."""
    if type(value) is int:
        return True
    if not isinstance(value, str) or "\n" in value:
        return False
    return trimmed(value) == value == number(value)


def _take_limits(rest: dict[str, object], fields: Fields) -> None:
    """Move a range, or the limits of a number that names no anchors, into fields."""
    fields.texts.setdefault("amount", "")
    bounds = rest.get("range")
    listed = isinstance(bounds, list) and len(bounds) == 2 and bounds != ["", ""]
    if isinstance(bounds, list) and listed and all(map(_is_typed, bounds)):
        fields.texts["low"], fields.texts["high"] = map(str, bounds)
        del rest["range"]
    limits = rest.get("number")
    if not isinstance(limits, dict) or "range" in rest:
        return
    more = dict(limits)
    # a limit that is missing is an empty field
    low, high = more.pop("low", ""), more.pop("high", "")
    unit, aim = more.pop("unit", None), more.pop("for", None) or MEAN
    shown = _is_typed(low) and _is_typed(high) and aim in AIMS
    if shown and not more and (unit is None or (isinstance(unit, str) and unit)):
        fields.texts |= {"low": str(low), "high": str(high), "amount": str(aim)}
        fields.texts["unit"] = unit or ""
        del rest["number"]


def _limits(read: Read) -> dict[str, object]:
    low, high, amount, unit = map(read, ("low", "high", "amount", "unit"))
    if amount in AIMS or unit:
        given = {"low": low, "high": high}
        limits: dict[str, object] = {key: number(text) for key, text in given.items() if text}
        if unit:
            limits["unit"] = unit
        if amount not in ("", MEAN):
            limits["for"] = amount
        return {"number": limits}
    return {"range": [number(low), number(high)]} if low or high else {}


def _take_ends(rest: dict[str, object], fields: Fields) -> None:
    ends = rest.get("ends")
    listed = shown_lines(ends, 2)
    if listed and isinstance(ends, list) and len(ends) == 2 and ends == listed.split("\n"):
        fields.texts |= dict(zip(ENDS, ends, strict=True))
        del rest["ends"]


def _ends(read: Read) -> dict[str, object]:
    ends = [read(name) for name in ENDS]
    return {"ends": ends} if any(ends) else {}


def _take_shuffle(rest: dict[str, object], fields: Fields) -> None:
    fields.texts["shuffle"] = ""
    match rest.get("shuffle"):
        case {"last": last, **more} if not more and _is_typed(last) and last != "":
            fields.texts["shuffle"], fields.texts["last"] = SHUFFLED, str(last)
            del rest["shuffle"]
        case dict(shuffle) if not shuffle:
            fields.texts["shuffle"] = SHUFFLED
            del rest["shuffle"]


def _shuffle(read: Read) -> dict[str, object]:
    if last := read("last"):
        return {"shuffle": {"last": number(last)}}
    return {"shuffle": {}} if read("shuffle") == SHUFFLED else {}


def _take_router(rest: dict[str, object], fields: Fields) -> None:
    """Move the router of a follow-up and its answers into fields, if these can show them."""
    match rest.get("ask_if"):
        case dict(condition) if len(condition) == 1:
            ((router, answers),) = condition.items()
            after = shown_lines(answers, MOST_LINES)
            known = isinstance(router, str) and after is not None and bool(router or after)
            if known and lines(str(after)) == answers:
                fields.texts["router"], fields.texts["after"] = router, str(after)
                del rest["ask_if"]


def _router(read: Read) -> dict[str, object]:
    router, after = read("router"), lines(read("after"))
    return {"ask_if": {router: after}} if router or after else {}


def _take_select(rest: dict[str, object], fields: Fields) -> None:
    """Move whether several answers are selected, and how many, into fields that can show it."""
    fields.texts["select"] = ""
    want = SHARES if rest.get("want") is None else rest["want"]
    match rest.get("select"):
        case dict(limits) if limits.keys() <= set(LIMITS) and want in WANTS:
            if all(_is_typed(limit) and limit != "" for limit in limits.values()):
                fields.texts["select"] = str(want)
                fields.texts |= {key: str(limit) for key, limit in limits.items()}
                rest.pop("want", None)
                del rest["select"]


def _select(read: Read) -> dict[str, object]:
    limits = {key: number(text) for key in LIMITS if (text := read(key))}
    want = read("select")
    if want not in WANTS:
        return {"select": limits} if limits else {}
    return {"select": limits} | ({} if want == SHARES else {"want": want})


def _take_items(rest: dict[str, object], fields: Fields) -> None:
    """Move the items of a matrix, and whether they are one block, into fields that can show it."""
    fields.texts[ROWS] = APART
    told = _lines_of(rest.get(ITEMS))
    if told is None or not isinstance(rest.get("together") or False, bool):
        return
    fields.texts[ITEMS] = told
    fields.texts[ROWS] = BLOCK if rest.pop("together", None) else APART
    del rest[ITEMS]


def _items(read: Read) -> dict[str, object]:
    members: dict[str, object] = {"together": True} if read(ROWS) == BLOCK else {}
    items = items_of(read(ITEMS))
    return members | ({ITEMS: items} if items else {})


def _lines_of(items: object) -> str | None:
    """Return items as lines; None where these would give other items back."""
    if not isinstance(items, list) or not items:
        return None
    told = [f"{item['name']}: {item['question']}" for item in items if _is_item(item)]
    text = "\n".join(told)
    return text if items_of(text) == items else None


def _is_item(item: object) -> TypeGuard[dict[str, str]]:
    return isinstance(item, dict) and item.keys() == {"name", "question"}


def items_of(text: str) -> list[dict[str, str]]:
    """Return the items that the lines of the field give."""
    return [_item(line) for line in lines(text)]


def _item(line: str) -> dict[str, str]:
    name, colon, question = line.partition(":")
    if colon:
        return {"name": name.strip(), "question": question.strip()}
    try:
        return {"name": name_of(line), "question": line}
    except InvalidParameter:
        return {"name": "", "question": line}


SHAPES: Final = (
    Shape(_take_limits, _limits),
    Shape(_take_ends, _ends),
    Shape(_take_shuffle, _shuffle),
    Shape(_take_router, _router),
    Shape(_take_select, _select),
    Shape(_take_items, _items),
)


def question_of(question: Mapping[str, object]) -> Fields:
    """Return the fields that show a question."""
    fields, rest = Fields(), dict(question)
    take(rest, fields, QUESTION.controls)
    for shape in SHAPES:
        shape.take(rest, fields)
    fields.kept = {key: value for key, value in rest.items() if value is not None}
    return fields


def question_from(read: Read) -> dict[str, object]:
    """Return the question that the fields of a form give."""
    question = given_members(read, QUESTION.controls)
    for shape in SHAPES:
        question |= shape.given(read)
    return question | kept_members(read("kept"))
