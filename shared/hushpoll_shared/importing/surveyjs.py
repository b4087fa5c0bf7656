"""Reads a survey of SurveyJS: the JSON that its Creator saves (surveyjs.io)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from hushpoll_shared.importing.conditions import Condition, NotUnderstood, both, parse
from hushpoll_shared.importing.questionnaire import (
    UNNAMED,
    Choice,
    Dropped,
    Kind,
    Question,
    Questionnaire,
    Words,
)
from hushpoll_shared.importing.workbook import refused
from hushpoll_shared.spelling.json_values import JsonObject, JsonValue
from hushpoll_shared.spelling.text import show

MOST_NESTED: Final = 25
MOST_PARTS: Final = 5000
_DEFAULT: Final = "default"
_FREE_TEXT: Final = (
    "It asks for free text, which cannot be randomised so that shares are left; "
    "ask it as a choice, or elsewhere."
)
_DROPPED: Final[Mapping[str, str]] = {
    "comment": _FREE_TEXT,
    "html": "It asks nothing, and a survey here has questions alone.",
    "image": "It asks nothing, and a survey here has questions alone.",
    "expression": "It is computed; here nothing is sent that a respondent was not asked.",
    "file": "It asks for a file, which cannot be randomised.",
    "signaturepad": "It asks for a drawing, which cannot be randomised.",
    "ranking": "It asks for an order of choices, which is no single answer; "
    "ask for the first choice.",
    "matrixdynamic": "It asks for any number of rows, and a respondent answers here once.",
    "paneldynamic": "It repeats its questions, and a respondent answers here once.",
}
_CHOOSES_ONE: Final = ("radiogroup", "dropdown", "buttongroup")
_CHOOSES_MANY: Final = ("checkbox", "tagbox")
_PANELS: Final = ("panel", "flowpanel", "page")
_READ: Final = frozenset(
    {"type", "name", "title", "choices", "isRequired", "visibleIf", "visible", "description",
     "minSelectedChoices", "maxSelectedChoices", "multiSelect", "labelTrue", "labelFalse",
     "valueTrue", "valueFalse", "rateValues", "rateMin", "rateMax", "rateStep", "rateCount",
     "minRateDescription", "maxRateDescription", "inputType", "min", "max", "step", "sliderType",
     "rows", "columns", "isAllRowRequired", "hasNone", "showNoneItem", "noneText", "hasOther",
     "showOtherItem", "otherText", "showRefuseItem", "refuseText", "showDontKnowItem",
     "dontKnowText", "choicesOrder", "choicesByUrl", "choicesFromQuestion", "choicesMin",
     "choicesMax", "choicesStep", "items", "cellType", "templateElements"}
)  # fmt: skip
"""Members of a question that its reader takes or tells of."""
_LOOKS: Final = frozenset(
    {"colCount", "width", "minWidth", "maxWidth", "startWithNewLine", "titleLocation", "size",
     "descriptionLocation", "indent", "showNumber", "hideNumber", "state", "renderAs",
     "placeholder",
     "rateType", "displayMode", "autoGenerate", "errorLocation", "showImageInChoices", "imageFit",
     "imageHeight", "imageWidth", "showLabel", "itemSize", "searchEnabled", "allowClear",
     "optionsCaption", "showClearButton", "alternateRows", "columnMinWidth", "rowTitleWidth",
     "hideIfRowsEmpty", "useDisplayValuesInDynamicTexts", "requiredErrorText", "isUnique",
     "displayRateDescriptionsAsExtremeItems", "scaleColorMode", "rateColorMode", "valueName"}
)  # fmt: skip
"""Members that say how a question looks."""
_LEFT_OUT: Final[Mapping[str, str]] = {
    "enableIf": "The condition under which it can be answered is left out.",
    "requiredIf": "The condition under which it must be answered is left out.",
    "choicesVisibleIf": "The condition on its choices is left out: everybody reads all of them.",
    "choicesEnableIf": "The condition on its choices is left out: everybody may choose each.",
    "validators": "Its checks of an answer are left out.",
    "defaultValue": "Its default is left out: nobody's answer is filled in.",
    "defaultValueExpression": "Its default is left out: nobody's answer is filled in.",
    "setValueExpression": "The expression that sets it is left out.",
}


@dataclass(frozen=True)
class _Around:
    """What the pages and panels around a question say of it."""

    section: Words | None = None
    condition: Condition | None = None
    lost: tuple[str, ...] = ()


def is_surveyjs(document: object) -> bool:
    """Whether a JSON document has the pages or the elements of a survey."""
    return isinstance(document, dict) and any(
        isinstance(document.get(key), list) for key in ("pages", "elements", "questions")
    )


def read_surveyjs(document: object, *, name: str) -> Questionnaire:
    """Return the questions of a survey of SurveyJS.

    Parameters
    ----------
    document : JSON value
        The survey.
    name : str
        Of the file, for errors and for a survey without a title.

    Raises
    ------
    InvalidParameter
        If it is no survey, or is nested too deeply or too large.
    """
    if not isinstance(document, dict) or not is_surveyjs(document):
        raise refused(
            name,
            "has no pages or elements of a survey",
            "give the JSON that SurveyJS Creator saves, or an XLSForm",
        )
    parts: list[Question | Dropped] = []
    for part in _parts(document, _Around(), "", 0, name):
        parts.append(part)
        if len(parts) > MOST_PARTS:
            raise refused(name, f"has more than {MOST_PARTS:,} questions", "divide it")
    title = _words(document.get("title"))
    locale = document.get("locale")
    read = {"title", "locale", "pages", "elements", "questions", "triggers", "calculatedValues",
            "completedHtml"}  # fmt: skip
    others = sorted(map(str, set(document) - read))
    left_out = [
        f"{what} left out."
        for key, what in (
            ("triggers", "Its triggers are"),
            ("calculatedValues", "Its calculated values are"),
            ("completedHtml", "The page after the last question is"),
        )
        if document.get(key)
    ]
    described = _described(document)
    if described:
        left_out.append(f"The descriptions of pages and panels are left out ({described}).")
    if others:
        left_out.append(f"Its settings {', '.join(map(show, others))} are left out.")
    return Questionnaire(
        name=name.rpartition(".")[0] or name,
        title=title,
        language=locale if isinstance(locale, str) and locale else None,
        parts=tuple(parts),
        notes=tuple(left_out),
    )


def _parts(
    container: JsonObject, around: _Around, where: str, depth: int, name: str
) -> Iterator[Question | Dropped]:
    if depth > MOST_NESTED:
        raise refused(name, f"has panels nested more than {MOST_NESTED} deep", "take some away")
    for key in ("pages", "elements", "questions", "templateElements"):
        listed = container.get(key)
        if not isinstance(listed, list):
            continue
        for number, element in enumerate(listed, start=1):
            place = f"{where}, {key[:-1]} {number}" if where else f"{key[:-1]} {number}"
            if not isinstance(element, dict):
                yield Dropped(place, place, "It is no object of a survey.")
                continue
            kind = element.get("type")
            if key == "pages" or kind in _PANELS:
                yield from _parts(element, _within(element, around), place, depth + 1, name)
                continue
            yield from _questions(element, str(kind), around, place)
            nested = ("elements", "templateElements")
            if any(isinstance(element.get(one), list) for one in nested):
                for inner in _parts(element, around, place, depth + 1, name):
                    reason = (
                        "It stands in a panel that repeats, and a respondent answers here once."
                        if kind == "paneldynamic"
                        else f"It stands in an element of the type {kind!r}, which is dropped."
                    )
                    yield Dropped(inner.name, inner.where, reason)


def _within(element: JsonObject, around: _Around) -> _Around:
    title = _words(element.get("title"))
    condition, lost = _condition(element)
    return _Around(title or around.section, both([around.condition, condition]), around.lost + lost)


def _described(container: JsonObject, depth: int = 0) -> int:
    """Return how many pages and panels have a text below their title."""
    found = 0
    for key in ("pages", "elements", "questions"):
        listed = container.get(key)
        for element in listed if isinstance(listed, list) and depth <= MOST_NESTED else ():
            if isinstance(element, dict) and (key == "pages" or element.get("type") in _PANELS):
                found += bool(_words(element.get("description")))
                found += _described(element, depth + 1)
    return found


def _condition(element: JsonObject) -> tuple[Condition | None, tuple[str, ...]]:
    text = element.get("visibleIf")
    if element.get("visible") is False:
        return None, ("'visible: false'",)
    if not isinstance(text, str) or not text.strip():
        return None, ()
    try:
        return parse(text), ()
    except NotUnderstood as error:
        return None, (f"{text!r} ({error})",)


def _questions(
    element: JsonObject, kind: str, around: _Around, where: str
) -> Iterator[Question | Dropped]:
    name = element.get("name")
    if not isinstance(name, str) or not name:
        yield Dropped(where, where, "It has no name; give it one.")
        return
    condition, lost = _condition(element)
    undecided = [
        f"It is asked of everybody: its condition {text} is not understood."
        for text in (*around.lost, *lost)
    ]
    words = _words(element.get("title")) or {UNNAMED: name}
    if any("{" in text for text in words.values()):
        undecided.append("Its words take in another answer, as {...}; write them without it.")
    question = Question(
        name=name,
        where=where,
        kind=Kind.ONE,
        words=words,
        help=_words(element.get("description")),
        required=element.get("isRequired") is True,
        section=around.section,
        condition=both([around.condition, condition]),
        notes=_notes(element),
        undecided=tuple(undecided),
    )
    if kind == "matrix":
        yield from _matrix(question, element)
    elif kind == "matrixdropdown":
        yield from _cells(question, element)
    elif kind == "multipletext":
        yield from _items(question, element)
    else:
        yield _made(question, element, kind)


def _notes(element: JsonObject) -> tuple[str, ...]:
    """Return what of a question is left out, as sentences."""
    found = [note for key, note in _LEFT_OUT.items() if element.get(key)]
    if element.get("validators") and _all_limits(element["validators"]):
        found.remove(_LEFT_OUT["validators"])
    if element.get("type") == "imagepicker":
        found.append("Its pictures are left out: the texts of the choices stand alone.")
    if element.get("hasComment") or element.get("showCommentArea"):
        found.append("The comment beside it is left out, as free text.")
    known = {*_READ, *_LOOKS, *_LEFT_OUT, "hasComment", "showCommentArea", "commentText"}
    others = sorted(key for key in map(str, element) if key not in known and element.get(key))
    if others:
        found.append(f"Its settings {', '.join(map(show, others))} are left out.")
    return tuple(found)


_LIMITS: Final = {"numeric": ("minValue", "maxValue"), "answercount": ("minCount", "maxCount")}


def _all_limits(validators: object) -> bool:
    """Whether checks of an answer say nothing but its limits."""
    return isinstance(validators, list) and all(
        isinstance(one, dict) and one.get("type") in _LIMITS for one in validators
    )


def _limits(element: JsonObject, kind: str) -> tuple[float | None, float | None]:
    """Return the limits that the checks of an answer have."""
    low: float | None = None
    high: float | None = None
    listed = element.get("validators")
    for one in listed if isinstance(listed, list) else ():
        if isinstance(one, dict) and one.get("type") == kind:
            least, most = (_number(one.get(key)) for key in _LIMITS[kind])
            low = least if low is None else low
            high = most if high is None else high
    return low, high


def _number(given: object) -> float | None:
    if isinstance(given, bool) or not isinstance(given, int | float):
        return None
    return float(given)


def _made(question: Question, element: JsonObject, kind: str) -> Question | Dropped:
    if kind in _CHOOSES_ONE or (kind == "imagepicker" and not element.get("multiSelect")):
        return _choosing(question, element)
    if kind in _CHOOSES_MANY or kind == "imagepicker":
        low, high = _limits(element, "answercount")
        least = _whole(element.get("minSelectedChoices")) or (None if low is None else int(low))
        most = _whole(element.get("maxSelectedChoices")) or (None if high is None else int(high))
        return _choosing(
            replace(
                question,
                kind=Kind.MANY,
                at_least=least or (1 if question.required else None),
                at_most=most or None,
            ),
            element,
        )
    if kind == "boolean":
        labels = {
            code: _words(element.get(key)) or {UNNAMED: word}
            for code, key, word in (
                ("false", "labelFalse", "No"),
                ("true", "labelTrue", "Yes"),
            )
        }
        given = {"false": element.get("valueFalse"), "true": element.get("valueTrue")}
        choices = tuple(
            Choice(code if given[code] is None else _code(given[code]), text)
            for code, text in labels.items()
        )
        return replace(question, kind=Kind.YES_NO, choices=choices)
    if kind == "rating":
        return _rating(question, element)
    if kind == "slider" and element.get("sliderType") != "range":
        return _whole_number(question, element)
    if kind == "text":
        if element.get("inputType") in ("number", "range"):
            return _whole_number(question, element)
        if element.get("inputType") in ("date", "datetime-local", "month", "time", "week"):
            reason = "It asks for a date or a time; ask for a year or a period as a choice."
            return Dropped(question.name, question.where, reason)
        return Dropped(question.name, question.where, _FREE_TEXT)
    reason = _DROPPED.get(kind, f"Its type {kind!r} has no form here.")
    return Dropped(question.name, question.where, reason)


def _choosing(question: Question, element: JsonObject) -> Question | Dropped:
    for key in ("choicesByUrl", "choicesFromQuestion"):
        if element.get(key):
            reason = f"Its choices come from elsewhere ({key}); list them."
            return Dropped(question.name, question.where, reason)
    choices = _choices(element.get("choices")) or _counted(element)
    notes = [*question.notes, *_doubtful(element.get("choices"))]
    for keys, label, code, word in (
        (("hasNone", "showNoneItem"), "noneText", "none", "None"),
        (("showRefuseItem",), "refuseText", "refused", "Refuse to answer"),
        (("showDontKnowItem",), "dontKnowText", "dontknow", "Don't know"),
        (("hasOther", "showOtherItem"), "otherText", "other", "Other"),
    ):
        if not any(element.get(key) for key in keys):
            continue
        if question.kind is Kind.MANY and code != "other":
            notes.append(f"{word!r} is left out: who names no choice has said so.")
            continue
        choices.append(Choice(code, _words(element.get(label)) or {UNNAMED: word}))
        if code == "other":
            notes.append(
                f"{word!r} is one more choice; what is meant by it is not asked, as free text."
            )
    if element.get("choicesOrder") not in (None, "none"):
        notes.append("Its choices stand in the file's order.")
    if any("visibleIf" in one for one in _objects(element.get("choices"))):
        notes.append("Conditions on single choices are left out: everybody reads all of them.")
    return replace(question, choices=tuple(choices), notes=tuple(notes))


def _choices(listed: object) -> list[Choice]:
    found: dict[str, Choice] = {}
    for one in listed if isinstance(listed, list) else ():
        value = one.get("value") if isinstance(one, dict) else one
        text = one.get("text") if isinstance(one, dict) else None
        if isinstance(value, bool | int | float | str):
            code = _code(value)
            found.setdefault(code, Choice(code, _words(text) or {UNNAMED: code}))
    return list(found.values())


def _code(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value}"


def _counted(element: JsonObject) -> list[Choice]:
    """Return the choices that are numbers from one to another."""
    low, high = (_whole(element.get(key)) for key in ("choicesMin", "choicesMax"))
    step = _whole(element.get("choicesStep")) or 1
    if low is None or high is None or step < 1:
        return []
    return [Choice(f"{one}", {UNNAMED: f"{one}"}) for one in range(low, high + 1, step)[:1000]]


def _doubtful(listed: object) -> list[str]:
    """Return what of a list of choices is left out, as sentences."""
    given = listed if isinstance(listed, list) else []
    values = [one.get("value") if isinstance(one, dict) else one for one in given]
    known = [_code(one) for one in values if isinstance(one, bool | int | float | str)]
    found = []
    if len(known) < len(values):
        found.append(f"{len(values) - len(known)} of its choices have no value, and are left out.")
    twice = sorted({code for code in known if known.count(code) > 1})
    if twice:
        codes = ", ".join(map(show, twice))
        found.append(f"The values {codes} stand more than once; the first is taken.")
    return found


def _rating(question: Question, element: JsonObject) -> Question:
    question = replace(question, ordered=True)
    values = element.get("rateValues")
    ends = [key for key in ("minRateDescription", "maxRateDescription") if element.get(key)]
    if ends:
        question = replace(
            question, notes=(*question.notes, "The words at the ends of its scale are left out.")
        )
    if isinstance(values, list) and values:
        return replace(question, kind=Kind.ONE, choices=tuple(_choices(values)))
    low = _whole(element.get("rateMin"))
    low = 1 if low is None else low
    step = _whole(element.get("rateStep")) or 1
    high = _whole(element.get("rateMax"))
    if high is None:
        count = _whole(element.get("rateCount")) or 5
        high = low + (count - 1) * step
    if step == 1:
        return replace(question, kind=Kind.WHOLE, low=low, high=high)
    listed = [str(value) for value in range(low, high + 1, step)][:1000]
    return replace(
        question,
        kind=Kind.ONE,
        choices=tuple(Choice(value, {UNNAMED: value}) for value in listed),
        notes=(*question.notes, f"Its steps of {step} become {len(listed)} choices."),
    )


def _whole_number(question: Question, element: JsonObject) -> Question:
    low, high = _number(element.get("min")), _number(element.get("max"))
    least, most = _limits(element, "numeric")
    low = least if low is None else low if least is None else max(low, least)
    high = most if high is None else high if most is None else min(high, most)
    notes = list(question.notes)
    if element.get("type") == "slider":
        low, high = (0 if low is None else low), (100 if high is None else high)
        notes.append("The slider becomes a number field, or a row of numbers where they are few.")
    if isinstance(element.get("step"), float):
        notes.append("It becomes a whole number; in the form it may have decimals.")
    return replace(
        question,
        kind=Kind.WHOLE,
        low=low,
        high=high,
        notes=tuple(notes),
    )


def _matrix(question: Question, element: JsonObject) -> Iterator[Question | Dropped]:
    """Return the rows of a matrix as questions of their own with one scale."""
    rows, columns = _choices(element.get("rows")), _choices(element.get("columns"))
    if not rows:
        yield Dropped(question.name, question.where, "It has no rows.")
        return
    note = f"It is a row of the matrix {question.name!r}, as a question of its own."
    for row in rows:
        yield replace(
            question,
            name=f"{question.name}_{row.code}",
            where=f"{question.where}, row {row.code!r}",
            words=_joined(question.words, row.words),
            required=question.required or element.get("isAllRowRequired") is True,
            choices=tuple(columns),
            ordered=True,
            notes=(*question.notes, note),
        )


def _objects(value: JsonValue) -> list[JsonObject]:
    """Return the objects of a list; none of what is no list."""
    listed = value if isinstance(value, list) else ()
    return [one for one in listed if isinstance(one, dict)]


def _cells(question: Question, element: JsonObject) -> Iterator[Question | Dropped]:
    """Return the cells of a matrix of several columns as questions of their own."""
    columns = _objects(element.get("columns"))
    rows = _choices(element.get("rows"))
    if not rows or not columns:
        yield Dropped(question.name, question.where, "It has no rows, or no columns.")
        return
    note = f"It is a cell of the matrix {question.name!r}, as a question of its own."
    for row in rows:
        for column in columns:
            cell = {"choices": element.get("choices"), **column}
            kind = str(cell.get("cellType") or element.get("cellType") or "dropdown")
            title = _words(cell.get("title")) or {UNNAMED: str(cell.get("name"))}
            yield _made(
                replace(
                    question,
                    name=f"{question.name}_{row.code}_{cell.get('name')}",
                    where=f"{question.where}, row {row.code!r}, column {cell.get('name')!r}",
                    words=_joined(question.words, row.words, title),
                    required=question.required or cell.get("isRequired") is True,
                    notes=(*question.notes, *_notes({**column, "type": kind}), note),
                ),
                {**cell, "type": kind},
                kind,
            )


def _items(question: Question, element: JsonObject) -> Iterator[Question | Dropped]:
    """Return the fields of a question of several texts; those of numbers are questions."""
    items = _objects(element.get("items"))
    if not items:
        yield Dropped(question.name, question.where, _FREE_TEXT)
        return
    note = f"It is a field of {question.name!r}, as a question of its own."
    for item in items:
        title = _words(item.get("title")) or {UNNAMED: str(item.get("name"))}
        yield _made(
            replace(
                question,
                name=f"{question.name}_{item.get('name')}",
                where=f"{question.where}, item {item.get('name')!r}",
                words=_joined(question.words, title),
                required=question.required or item.get("isRequired") is True,
                notes=(*question.notes, *_notes(item), note),
            ),
            {**item, "type": "text"},
            "text",
        )


def _joined(*parts: Words) -> dict[str, str]:
    """Return texts one after the other, in every language that one of them has."""
    languages = dict.fromkeys(language for words in parts for language in words)
    return {
        language: ": ".join(words.get(language) or _any(words) for words in parts)
        for language in languages
    }


def _any(words: Words) -> str:
    return next(iter(words.values()), "")


def _words(given: object) -> dict[str, str]:
    """Return a text that SurveyJS may keep in several languages."""
    if isinstance(given, str):
        return {UNNAMED: given} if given.strip() else {}
    if not isinstance(given, dict):
        return {}
    return {
        (UNNAMED if language == _DEFAULT else str(language)): text
        for language, text in given.items()
        if isinstance(text, str) and text.strip()
    }


def _whole(given: object) -> int | None:
    return given if isinstance(given, int) and not isinstance(given, bool) else None
