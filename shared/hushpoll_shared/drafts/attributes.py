"""One question as an author writes it in a draft, with `range` as a shorthand for categories."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from hushpoll_protocols import K_MAX, InvalidParameter
from hushpoll_shared.drafts.attribute_fields import ATTRIBUTE
from hushpoll_shared.drafts.fields import names, required
from hushpoll_shared.spelling.canonical import LARGEST_INTEGER, check_keys
from hushpoll_shared.spelling.labels import check_apart, check_ends
from hushpoll_shared.spelling.text import check_name, is_name, normalized, show
from hushpoll_shared.survey.questions.attributes import TEXTS, Attribute
from hushpoll_shared.survey.questions.follow_ups import read_ask_if
from hushpoll_shared.survey.questions.number import Number, draft_categories, read_number
from hushpoll_shared.survey.questions.presentation import read_ends, read_shuffle
from hushpoll_shared.survey.questions.selects import LIMITS, SHARES, SelectAll


def read_attribute(value: object, *, position: int) -> Attribute:
    """Read one attribute of a draft.

    Parameters
    ----------
    value : object
        The JSON or YAML value; ``range: [a, b]`` stands for the categories a..b, both included.
    position : int
        Its place in the list, for messages before its name is known.

    Raises
    ------
    InvalidParameter
        Naming the attribute, or its position while it has no valid name.
    """
    where = f"attributes[{position}]"
    if not isinstance(value, Mapping):
        raise InvalidParameter(
            f"{where} is {show(value)}; an attribute is a mapping with name, role and categories",
            field=where,
        )
    name = value.get("name")
    if is_name(name):
        where = f"attributes[{name}]"
    check_keys(value, names(ATTRIBUTE), required(ATTRIBUTE), where=where)
    texts = {key: normalized(value.get(key)) for key in TEXTS}
    kind, more = read_select(value, where)
    number = read_number(value.get("number"), where=where, published=False)
    attribute = kind(
        name=check_name(name, field=f"{where}.name"),
        role=value["role"],
        categories=_categories(value, where, number),
        protocol=value.get("protocol"),
        ask_if=read_ask_if(value.get("ask_if"), where=where),
        number=number,
        ends=read_ends(value.get("ends"), where=where),
        shuffle=read_shuffle(value.get("shuffle"), where=where),
        **texts,  # type: ignore[arg-type]  # the constructor checks that each is a string
        **more,
    )
    if value.get("categories") is not None:
        for position, category in enumerate(attribute.categories):
            check_ends(category, field=f"{where}.categories[{position}]")
        check_apart(attribute.domain, field=f"{where}.categories")
    for key in ("missing", "question", "section"):
        check_ends(getattr(attribute, key), field=f"{where}.{key}")
    check_ends(attribute.help, field=f"{where}.help", lines=True)
    for place, end in enumerate(attribute.ends or ()):
        check_ends(end, field=f"{where}.ends[{place}]")
    if attribute.shuffle is not None and value.get("range") is not None:
        raise InvalidParameter(
            f"{where}.shuffle is given, and the answers are a range; numbers keep their order: "
            "leave shuffle out, or list categories",
            field=f"{where}.shuffle",
        )
    return attribute


def read_select(value: Mapping[Any, Any], where: str) -> tuple[type[Attribute], dict[str, Any]]:
    """Return the class of an attribute, and what a select-all has besides.

    Raises
    ------
    InvalidParameter
        For limits of another form, `want` without `select`, or a range or a number as options.
    """
    select, want = value.get("select"), value.get("want")
    if select is None:
        if want is not None:
            raise InvalidParameter(
                f"{where}.want is {show(want)}, and the question has no select: leave it out, or "
                "add select: {} so that respondents may name several options",
                field=f"{where}.want",
            )
        return Attribute, {}
    path = f"{where}.select"
    if not isinstance(select, Mapping):
        raise InvalidParameter(
            f"{path} is {show(select)}; it is a mapping with at_least and at_most, both optional, "
            "such as {at_most: 3}, or {} without limits",
            field=path,
        )
    check_keys(select, frozenset(LIMITS), (), where=path)
    for key in ("range", "number"):
        if value.get(key) is not None:
            raise InvalidParameter(
                f"{where} has {key} and select; the options of a select-all are listed: give "
                "categories, or leave select out",
                field=f"{where}.{key}",
            )
    limits = {key: select.get(key) for key in LIMITS}
    return SelectAll, {**limits, "want": SHARES if want is None else want}


def _categories(value: Mapping[Any, Any], where: str, number: Number | None) -> tuple[str, ...]:
    categories, bounds = value.get("categories"), value.get("range")
    if number is not None:
        for key in ("categories", "range"):
            if value.get(key) is not None:
                raise InvalidParameter(
                    f"{where} has both number and {key}; a number has limits in place of "
                    f"{key}: remove one of them",
                    field=f"{where}.{key}",
                )
        clear = value["role"] == "plain"
        missing = value.get("missing") is not None
        return draft_categories(number, where, clear=clear, missing=missing)
    if (categories is None) == (bounds is None):
        raise InvalidParameter(
            f"{where} has {'neither categories nor a' if bounds is None else 'both categories and'}"
            " range; give exactly one of them, or a number",
            field=f"{where}.categories",
        )
    if bounds is not None:
        return _expand(bounds, where)
    if not isinstance(categories, list | tuple):
        raise InvalidParameter(
            f"{where}.categories is {show(categories)}; give a list of strings",
            field=f"{where}.categories",
        )
    # Attribute checks that each is text.
    return tuple(cast("str", normalized(category)) for category in categories)


def _expand(bounds: object, where: str) -> tuple[str, ...]:
    match bounds:
        case [int(low), int(high)] if not isinstance(low, bool) and not isinstance(high, bool):
            if -LARGEST_INTEGER <= low < high <= LARGEST_INTEGER and high - low < K_MAX:
                return tuple(str(number) for number in range(low, high + 1))
    raise InvalidParameter(
        f"{where}.range is {show(bounds)}; a range is two integers [a, b] with a < b and at most "
        f"{K_MAX} numbers, both ends included",
        field=f"{where}.range",
    )
