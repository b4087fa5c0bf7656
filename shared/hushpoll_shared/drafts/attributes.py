"""Questions as an author writes them in a draft: one alone, or a matrix of several.

An attribute may have `range` as a shorthand for categories. With `items` it is a matrix, and is
read as one attribute for each. The answers, the role, the protocol, the help text, the section and
the condition stand at the matrix, since its items have them in common, and `shuffle` there is about
the order of the items. With `together` the items are one block, named after the matrix. Of a
translation the matrix has the question, the help text and the answers, and each item its own text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from hushpoll_protocols import K_MAX, InvalidParameter
from hushpoll_shared.drafts.attribute_fields import ATTRIBUTE
from hushpoll_shared.drafts.fields import names, required
from hushpoll_shared.drafts.named_questions import entries
from hushpoll_shared.spelling.canonical import LARGEST_INTEGER, check_keys
from hushpoll_shared.spelling.labels import check_apart, check_ends
from hushpoll_shared.spelling.text import check_name, is_name, normalized, number_of_entries, show
from hushpoll_shared.survey.questions.attributes import TEXTS, Attribute
from hushpoll_shared.survey.questions.follow_ups import read_ask_if
from hushpoll_shared.survey.questions.matrices import SHARED_WORDS, Matrix
from hushpoll_shared.survey.questions.number import Number, draft_categories, read_number
from hushpoll_shared.survey.questions.presentation import read_ends, read_shuffle
from hushpoll_shared.survey.questions.selects import LIMITS, SHARES, SelectAll
from hushpoll_shared.survey.randomization.blocks import Together
from hushpoll_shared.survey.wording import Question, Translation

Members = dict[str, Any]
"""A part of a draft as JSON in the making, whose members' own members are changed as well."""
ITEMS: Final = "items"
TOGETHER: Final = "together"
SHUFFLE: Final = "shuffle"
ITEM_KEYS: Final = ("name", "question")
FEWEST_ITEMS: Final = 2
_FORM: Final = "such as [{name: wine, question: Wine}, {name: beer, question: Beer}]"
_SHARED_TEXT: Final = re.compile(
    r"(?P<path>(?P<of>translations\[[^\]]*\]\.attributes)\[(?P<item>[^\]]*)\])\."
    rf"(?:{'|'.join(SHARED_WORDS)})\b"
)


def read_attribute(value: object, *, position: int) -> Attribute:
    """Read one attribute of a draft; ``range: [a, b]`` stands for the categories a..b.

    A refusal names it by its `position` while it has no valid name.
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
    """Return the class of an attribute, and what a select-all has besides."""
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


@dataclass(frozen=True)
class AttributeEntry:
    """What one entry of a draft's attributes stands for."""

    attributes: tuple[Attribute, ...]
    """The question, or the items of a matrix."""
    matrix: Matrix | None = None
    block: Together | None = None
    """Where a matrix's items are one."""


def read_entry(value: object, *, position: int) -> AttributeEntry:
    """Read one entry of a draft's attributes, a question or a matrix, at a position of the list."""
    stated = isinstance(value, Mapping) and value.get(ITEMS) is not None
    if not isinstance(value, Mapping) or not stated:
        _refuse_together(value, position)
        plain = value
        if isinstance(value, Mapping):
            plain = {key: one for key, one in value.items() if key not in (ITEMS, TOGETHER)}
        return AttributeEntry((read_attribute(plain, position=position),))
    where = f"attributes[{value['name'] if is_name(value.get('name')) else position}]"
    _refuse_own_routers(value, where)
    for key in ("select", "number"):
        if value.get(key) is not None:
            raise InvalidParameter(
                f"{where} has {ITEMS} and {key}; each item of a matrix is answered by one of its "
                f"categories: leave {key} out, or ask a question of its own for each item",
                field=f"{where}.{key}",
            )
    together = value.get(TOGETHER)
    if together is not None and type(together) is not bool:
        raise InvalidParameter(
            f"{where}.{TOGETHER} is {show(together)}; it is true, if the items are one block, or "
            "false: correct it",
            field=f"{where}.{TOGETHER}",
        )
    common = read_attribute(
        {key: one for key, one in value.items() if key not in (ITEMS, TOGETHER, SHUFFLE)},
        position=position,
    )
    shuffle = read_shuffle(value.get(SHUFFLE), where=where)
    if common.role == "target":
        raise InvalidParameter(
            f"{where} is the target and has {ITEMS}; what is predicted has one answer: give it "
            f"another role, or leave {ITEMS} out",
            field=f"{where}.role",
        )
    texts = _items(value[ITEMS], f"{where}.{ITEMS}", common.name)
    if shuffle is not None:
        shuffle.check(f"{where}.{SHUFFLE}", len(texts), "items")
    block = None
    if together:
        if not common.perturbed:
            raise InvalidParameter(
                f"{where}.{TOGETHER} is true, and its role is {common.role}; answers in clear are "
                f"in no block: leave {TOGETHER} out, or make its role sensitive",
                field=f"{where}.{TOGETHER}",
            )
        block = Together(common.name, tuple(texts), common.protocol)
        common = replace(common, protocol=None)
    return AttributeEntry(
        tuple(replace(common, name=name, question=text) for name, text in texts.items()),
        Matrix(common.name, tuple(texts), common.question, shuffle),
        block,
    )


def _refuse_own_routers(value: Mapping[Any, Any], where: str) -> None:
    """Refuse a condition on the answer to an item of the same matrix, while it has its name."""
    routers = value.get("ask_if")
    if not isinstance(routers, Mapping):
        return
    items = {item.get("name") for item in entries(value[ITEMS]) if isinstance(item, Mapping)}
    for name in routers:
        if isinstance(name, str) and name in items:
            raise InvalidParameter(
                f"{where}.ask_if names {name}, an item of the same matrix; a matrix is asked as a "
                "whole: ask it after another question, or ask the follow-up outside the matrix",
                field=f"{where}.ask_if",
            )


def _refuse_together(value: object, position: int) -> None:
    if isinstance(value, Mapping) and value.get(TOGETHER) is not None:
        where = f"attributes[{value['name'] if is_name(value.get('name')) else position}]"
        raise InvalidParameter(
            f"{where}.{TOGETHER} is {show(value[TOGETHER])}, and the question has no {ITEMS}; it "
            f"puts the items of a matrix in one block: leave it out, or name the question in the "
            f"survey's own list {TOGETHER}",
            field=f"{where}.{TOGETHER}",
        )


def _items(value: object, where: str, matrix: str) -> dict[str, str]:
    """Return the text of each item, by its name."""
    if not isinstance(value, list | tuple) or len(value) < FEWEST_ITEMS:
        fault = (
            f"has {number_of_entries(len(value))}"
            if isinstance(value, list | tuple)
            else "is no list"
        )
        raise InvalidParameter(
            f"{where} {fault}; a matrix has {FEWEST_ITEMS} items or more, {_FORM}: add some, or "
            f"leave {ITEMS} out",
            field=where,
        )
    texts: dict[str, str] = {}
    for place, item in enumerate(value):
        path = f"{where}[{place}]"
        if not isinstance(item, Mapping):
            raise InvalidParameter(
                f"{path} is {show(item)}; an item is a mapping with a name and a question, {_FORM}",
                field=path,
            )
        check_keys(item, frozenset(ITEM_KEYS), ITEM_KEYS, where=path)
        name = check_name(item["name"], field=f"{path}.name")
        if name in texts or name == matrix:
            raise InvalidParameter(
                f"{path}.name is {show(name)}, the name of "
                f"{'the matrix' if name == matrix else 'another of its items'}; names differ: "
                "rename one of them",
                field=f"{path}.name",
            )
        text = normalized(item["question"])
        if not isinstance(text, str):
            raise InvalidParameter(
                f"{path}.question is {show(text)}; it is a text: write what the item says",
                field=f"{path}.question",
            )
        check_ends(text, field=f"{path}.question")
        texts[name] = text
    check_apart(list(texts.values()), field=where)
    return texts


@contextmanager
def naming_matrices(matrices: Sequence[Matrix]) -> Iterator[None]:
    """Let a refusal of words that all items have in common name their matrix, where they stand."""
    try:
        yield
    except InvalidParameter as error:
        match = _SHARED_TEXT.match(error.field or "")
        owners = {item: one.name for one in matrices for item in one.attributes}
        if match is None or match["item"] not in owners:
            raise
        path = f"{match['of']}[{owners[match['item']]}]"
        message = str(error).replace(match["path"], path)
        field = str(error.field).replace(match["path"], path)
        raise InvalidParameter(message, field=field) from None


def spread_translations(
    translations: Sequence[Translation], matrices: Sequence[Matrix]
) -> tuple[Translation, ...]:
    """Return a draft's translations with the answers of each matrix at its items."""
    return tuple(_spread(translation, matrices) for translation in translations)


def _spread(translation: Translation, matrices: Sequence[Matrix]) -> Translation:
    words = {question.name: question for question in translation.questions}
    asked: dict[str, str] = {}
    where = f"translations[{translation.language}]"
    if translation.matrices:
        raise InvalidParameter(
            f"{where} has matrices, as a published survey has; in a draft the words of a matrix "
            "stand at its name: move them to attributes",
            field=f"{where}.matrices",
        )
    for matrix in matrices:
        common = words.pop(matrix.name, Question(matrix.name))
        path = f"{where}.attributes[{matrix.name}]"
        if common.unit is not None:
            raise InvalidParameter(
                f"{path}.unit translates what the survey does not have; remove it",
                field=f"{path}.unit",
            )
        if common.question is not None:
            asked[matrix.name] = common.question
        if (matrix.question is None) != (common.question is None):
            raise InvalidParameter(
                f"{path}.question is missing: a respondent reads one language; translate "
                f"{show(matrix.question)}"
                if common.question is None
                else f"{path}.question translates what the survey does not have; remove it",
                field=f"{path}.question",
            )
        for name in matrix.attributes:
            own = words.get(name, Question(name))
            for key in SHARED_WORDS:
                if getattr(own, key) is not None:
                    path = f"{where}.attributes[{name}].{key}"
                    raise InvalidParameter(
                        f"{path} translates for an item what all items of the matrix {matrix.name} "
                        "have in common and stands there: move it there",
                        field=path,
                    )
            words[name] = replace(own, **{key: getattr(common, key) for key in SHARED_WORDS})
    kept = (words[name] for name in sorted(words))
    return replace(
        translation,
        # What translates nothing is refused, and an item that lacks its words is told by that.
        questions=tuple(one for one in kept if one.to_dict()),
        matrices=tuple(sorted(asked.items())),
    )


def with_matrices(
    document: Members, matrices: Sequence[Matrix], together: Sequence[Together]
) -> Members:
    """Return a draft's JSON, with every item an attribute, with each matrix as one entry again."""
    if not matrices:
        return document
    blocks = {block.name: block for block in together}
    attributes = {one["name"]: one for one in document["attributes"]}
    entries: dict[str, Members] = dict(attributes)
    for matrix in matrices:
        first = attributes[matrix.attributes[0]]
        entry = {**first, "name": matrix.name}
        entry.pop("question", None)
        if matrix.question is not None:
            entry["question"] = matrix.question
        if matrix.shuffle is not None:
            entry[SHUFFLE] = matrix.shuffle.to_dict()
        entry[ITEMS] = [
            {"name": name, "question": attributes[name]["question"]} for name in matrix.attributes
        ]
        if matrix.name in blocks:
            entry[TOGETHER] = True
            if blocks[matrix.name].protocol is not None:
                entry["protocol"] = blocks[matrix.name].protocol
        entries[matrix.attributes[0]] = entry
        for name in matrix.attributes[1:]:
            del entries[name]
    names = {matrix.name for matrix in matrices}
    own = [one for one in document.get("together", ()) if one["name"] not in names]
    gathered = {**document, "attributes": list(entries.values())}
    for key in ("together", "matrices"):
        gathered.pop(key, None)
    if own:
        gathered["together"] = own
    if document.get("translations"):
        gathered["translations"] = {
            tag: _gathered_words(words, matrices) for tag, words in document["translations"].items()
        }
    return gathered


def _gathered_words(words: Members, matrices: Sequence[Matrix]) -> Members:
    attributes = {name: dict(one) for name, one in words.get("attributes", {}).items()}
    asked = words.get("matrices", {})
    for matrix in matrices:
        common: Members = {}
        if matrix.name in asked:
            common["question"] = asked[matrix.name]
        for name in matrix.attributes:
            own = attributes.get(name, {})
            for key in SHARED_WORDS:
                if key in own:
                    common[key] = own.pop(key)
        if common:
            attributes[matrix.name] = common
    gathered = {key: one for key, one in words.items() if key not in ("matrices", "attributes")}
    if attributes:
        gathered["attributes"] = attributes
    return gathered
