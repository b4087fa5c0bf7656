"""All for which a manifest would be refused, at once: each problem's field, value and remedy.

A manifest is refused at its first problem. So the part at fault is noted, replaced by one that is
right, and the rest is read again: first each question by itself, then the whole.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.drafts.attributes import ITEMS, TOGETHER, read_entry
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.spelling.json_values import JsonMembers, JsonObject
from hushpoll_shared.spelling.text import show
from hushpoll_shared.survey.questions.attributes import NPS
from hushpoll_shared.survey.terms import MOST_ATTRIBUTES
from hushpoll_shared.wire.problems import remedy_in

MOST_PROBLEMS: Final = 40
_MOST_OF_A_QUESTION: Final = 8
_MOST_OF_THE_WHOLE: Final = 12
_RIGHT: Final[JsonObject] = {
    "name": "a",
    "version": 1,
    "title": "a",
    "epsilon": "1",
    "protocol": "GRR",
    "language": "qaa",  # of private use, so that no translation is into it
}
"""What takes the place of a field that is refused; other fields are left out."""
_RIGHT_QUESTION: Final = {"role": "sensitive", "protocol": "GRR", "categories": ["a", "b"]}
_NAMES_QUESTIONS: Final = (
    *("always", "answer", "draws", "pairs", "protected", "split", "together", "translations"),
)
_TRANSLATION: Final = re.compile(r"translations\[([^\]]*)\].*", re.DOTALL)
_PATH: Final = re.compile(r"attributes\[([^\]]*)\](?:\.([a-z_]+))?.*", re.DOTALL)


@dataclass(frozen=True)
class ManifestProblem:
    """One thing for which a manifest is refused."""

    field: str
    """Its path, such as ``attributes[age].categories``; a question without a valid name stands
    there by its position, from 0."""
    value: str | None
    """What stands there, cut; None where nothing does."""
    message: str
    """What is wrong, and what to do."""
    remedy: str | None
    """The last part of the message as a sentence, if it names a remedy."""
    position: int | None
    """The question's, from 0; None where it is about the whole survey."""

    @property
    def part(self) -> str:
        """The field's name within the survey or within its question."""
        if self.position is None:
            return re.split(r"[.\[]", self.field, maxsplit=1)[0]
        match = _PATH.fullmatch(self.field)
        return (match[2] if match else None) or "name"


def manifest_problems(draft: object) -> tuple[ManifestProblem, ...]:
    """Return why a manifest would be refused, at most `MOST_PROBLEMS`, the survey's first."""
    if not isinstance(draft, Mapping):
        return _of_no_mapping(draft)
    found: list[ManifestProblem] = []
    rest = dict(draft)
    questions = rest.get("attributes")
    if isinstance(questions, list | tuple) and 1 <= len(questions) <= MOST_ATTRIBUTES:
        rest["attributes"] = [
            _question(draft, question, position, found)
            for position, question in enumerate(questions)
        ]
    _whole(draft, rest, found)
    order = {id(problem): place for place, problem in enumerate(found)}
    found.sort(key=lambda one: (-1 if one.position is None else one.position, order[id(one)]))
    return tuple(found[:MOST_PROBLEMS])


def _of_no_mapping(draft: object) -> tuple[ManifestProblem, ...]:
    try:
        Manifest.from_dict(draft)
    except InvalidParameter as error:
        return (problem_of(draft, error.field, str(error)),)
    return ()


def _question(
    draft: object, question: object, position: int, found: list[ManifestProblem]
) -> object:
    """Note the problems of a question by itself; return it without them."""
    right = dict(question) if isinstance(question, Mapping) else question
    for _ in range(_MOST_OF_A_QUESTION):
        if len(found) >= MOST_PROBLEMS:
            break
        try:
            read_entry(right, position=position)
        except InvalidParameter as error:
            found.append(problem_of(draft, error.field, str(error), position))
            if not isinstance(right, dict):
                break
            _replace(right, error.field, _stand_in(draft, position))
        else:
            return right
    return {"name": _stand_in(draft, position), **_RIGHT_QUESTION}


def _stand_in(draft: object, position: int) -> str:
    """Return a name for a question without a valid one, which no other question has."""
    questions = draft["attributes"] if isinstance(draft, Mapping) else ()
    # A list is no name, and in no set.
    taken = [one.get("name") for one in questions if isinstance(one, Mapping)]
    name = f"question-{position + 1}"
    while name in taken:
        name += "-"
    return name


def _replace(question: JsonMembers, path: str, stand_in: str) -> None:
    match = _PATH.fullmatch(path)
    match (match[2] if match else None) or "":
        case "name":
            question["name"] = stand_in
        case "role":
            question["role"] = "target" if question.get("positive") is not None else "sensitive"
        case "categories" | "range" if question.get("number") is not None:
            # A number has neither.
            question.pop("categories", None)
            question.pop("range", None)
        case "categories" | "range":
            question.pop("range", None)
            question["categories"] = ["a", "b"]
            # They name categories that are no more.
            question.pop("positive", None)
            question.pop("missing", None)
            if question.get("scale") == NPS:
                del question["scale"]
        case "number":
            # Whether its limits are wrong, or a question with items or a target has none.
            del question["number"]
            if question.get("categories") is None and question.get("range") is None:
                question["categories"] = ["a", "b"]
        case part if part == ITEMS:
            question.pop(ITEMS, None)
            question.pop(TOGETHER, None)
        case part if part in question:
            del question[part]
        case _:
            # A key that no attribute has may be spelt in any way.
            for key in [key for key in question if path.endswith(f".{key}"[:200])]:
                del question[key]


def _whole(draft: object, rest: JsonMembers, found: list[ManifestProblem]) -> None:
    """Note the problems that the questions have together, and those of the survey."""
    for _ in range(_MOST_OF_THE_WHOLE):
        if len(found) >= MOST_PROBLEMS:
            return
        try:
            Manifest.from_dict(rest).resolve()
        except InvalidParameter as error:
            position = _position(rest, error.field)
            # What follows from a replaced part is no problem of the draft.
            follows = error.field.startswith(_NAMES_QUESTIONS) and _replaced(draft, rest)
            if not follows and not _router_replaced(draft, rest, error.field, position):
                found.append(problem_of(draft, error.field, str(error), position))
            if not _mend(draft, rest, error.field, position):
                return
        else:
            return


def _replaced(draft: object, rest: Mapping[str, Any]) -> bool:
    return isinstance(draft, Mapping) and list(draft.get("attributes") or ()) != list(
        rest.get("attributes") or ()
    )


def _router_replaced(
    draft: object, rest: Mapping[str, Any], field: str, position: int | None
) -> bool:
    """Whether a path is that of a follow-up whose router is not as it stands in the draft."""
    if position is None or not field.endswith(".ask_if") or not isinstance(draft, Mapping):
        return False
    routers = rest["attributes"][position].get("ask_if") or ()
    return any(
        isinstance(before, Mapping)
        and before.get("name") in routers
        and {**before, "ask_if": None} != {**after, "ask_if": None}
        for before, after in zip(draft["attributes"], rest["attributes"], strict=True)
    )


def _position(rest: JsonObject, field: str) -> int | None:
    """Return the position of the question that a path names; of two of a name, the second."""
    match = _PATH.fullmatch(field)
    attributes = rest.get("attributes")
    if match is None or not isinstance(attributes, list):
        return None
    places = [
        place
        for place, one in enumerate(attributes)
        if isinstance(one, Mapping) and (one.get("name") == match[1] or match[1] in _items(one))
    ]
    return places[-1] if places else None


def _items(question: Mapping[str, object]) -> list[object]:
    """Return the names of the items of a question that is a matrix."""
    items = question.get(ITEMS)
    listed = items if isinstance(items, list | tuple) else ()
    return [item.get("name") for item in listed if isinstance(item, Mapping)]


def _mend(draft: object, rest: dict[str, Any], field: str, position: int | None) -> bool:
    """Put something right in the place of a field; return False if nothing is."""
    if position is not None:
        question = rest["attributes"][position] = dict(rest["attributes"][position])
        match = _PATH.fullmatch(field)
        match match and match[2]:
            case "name":
                question["name"] = _stand_in(draft, position)
            case "role":
                question["role"] = "plain"
                question.pop("positive", None)
                question.pop("protocol", None)
            case "protocol" if question.get("protocol") is not None:
                # Its block has another one.
                del question["protocol"]
            case "protocol" if "protocol" not in rest:
                # It is said once, since one line of the survey is what all of them lack.
                rest["protocol"] = "GRR"
            case "protocol":
                question["protocol"] = "GRR"
            case "ask_if":
                del question["ask_if"]
            case _:
                return False
        return True
    part = re.split(r"[.\[]", field, maxsplit=1)[0]
    if part == "attributes":
        return False
    if (match := _TRANSLATION.fullmatch(field)) and match[1] in rest["translations"]:
        others = {tag: words for tag, words in rest[part].items() if tag != match[1]}
        rest[part] = others or None
        return True
    if part in _RIGHT:
        if rest.get(part) == _RIGHT[part]:
            return False
        rest[part] = _RIGHT[part]
        return True
    if part in ("together", "draws", "answer"):
        # They name blocks and draws that are no more.
        rest.pop("split", None)
    if part == "together":
        for name in ("draws", "answer", "always"):
            rest.pop(name, None)
    if part == "answer":
        rest.pop("always", None)
    for key in [key for key in rest if key == part or field == str(key)[:200]]:
        del rest[key]
        return True
    return False


def problem_of(
    draft: object, field: str, message: str, position: int | None = None
) -> ManifestProblem:
    """Return the problem that an error's message tells of; without a position of the survey."""
    if position is not None:
        stand_in, place = _stand_in(draft, position), f"attributes[{position}]"
        field = field.replace(f"attributes[{stand_in}]", place)
        message = message.replace(f"attributes[{stand_in}]", place)
        message = re.sub(rf"^{re.escape(stand_in)}(?= )", place, message)
    problem = ManifestProblem(field, None, message, remedy_in(message), position)
    holder: object = draft
    if position is not None and isinstance(draft, Mapping):
        holder = draft["attributes"][position]
    value = holder.get(problem.part) if isinstance(holder, Mapping) else holder
    return problem if value is None else replace(problem, value=show(value))
