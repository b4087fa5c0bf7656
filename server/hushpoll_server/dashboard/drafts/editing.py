"""What the buttons of a draft's form do to its manifest: questions and languages come and go."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.spelling.text import NAME_LENGTH, show
from hushpoll_shared.survey.terms import MOST_ATTRIBUTES
from hushpoll_shared.survey.wording import MOST_TRANSLATIONS, check_language

NEW_LANGUAGE = "new-language"
"""The field in which the tag of a language stands that is to be added."""


def name_of(title: str) -> str:
    """Return a survey's name that is made of its title; raises where no letter can stand in one."""
    letters = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    name = re.sub(r"[^a-z0-9]+", "-", letters).strip("-")[:NAME_LENGTH]
    if not name:
        raise InvalidParameter(
            f"the title {show(title)} has no letter from a to z and no digit of which a name could "
            "be made; write a name",
            field="name",
        )
    return name


def new_question(manifest: Mapping[str, object]) -> dict[str, object]:
    """Return a question that a form adds, under a name that no other has."""
    attributes = manifest.get("attributes")
    questions = attributes if isinstance(attributes, list) else []
    # A list is no name, and in no set.
    taken = [one.get("name") for one in questions if isinstance(one, Mapping)]
    number = len(questions) + 1
    while f"question-{number}" in taken:
        number += 1
    return {"name": f"question-{number}", "role": "sensitive", "categories": ["Yes", "No"]}


def changed(
    manifest: dict[str, object], act: str, given: Mapping[str, str] | None = None
) -> tuple[dict[str, object], str]:
    """Do what a button says; return the manifest, and the id of the element to show.

    ``add``, ``remove-I``, ``up-I`` and ``down-I`` are about the question at position I, from 0,
    ``add-language`` and ``drop-TAG`` about a language; ``open-TAG`` shows one, and anything else
    changes nothing. A language that cannot be added is refused by the field `NEW_LANGUAGE`.
    """
    if act == "add-language":
        return _with_language(manifest, (given or {}).get(NEW_LANGUAGE, "").strip())
    word, _, text = act.partition("-")
    if word == "open":
        return manifest, _place_of(manifest, text)
    if word == "drop":
        return _without_language(manifest, text)
    place = int(text) if text.isdecimal() and len(text) < 5 else MOST_ATTRIBUTES
    questions = manifest.get("attributes")
    if not isinstance(questions, list):
        return manifest, ""
    questions = list(questions)
    if word == "add" and len(questions) < MOST_ATTRIBUTES:
        questions.append(new_question(manifest))
        place = len(questions) - 1
    elif word == "remove" and place < len(questions):
        removed = questions.pop(place)
        for part in [removed, *_items_of(removed)]:
            manifest = _without_words_of(manifest, part, questions)
        place = min(place, len(questions) - 1)
    elif word in ("up", "down") and place < len(questions):
        other = min(max(place + (-1 if word == "up" else 1), 0), len(questions) - 1)
        questions.insert(other, questions.pop(place))
        place = other
    else:
        return manifest, ""
    return {**manifest, "attributes": questions}, f"q{place}" if place >= 0 else ""


def language_of(act: str, given: Mapping[str, str]) -> str:
    """Return the tag of the language whose table a button opens; empty if it opens none."""
    if act == "add-language":
        return given.get(NEW_LANGUAGE, "").strip()
    word, _, tag = act.partition("-")
    return tag if word == "open" else ""


def _place_of(manifest: Mapping[str, object], tag: str) -> str:
    """Return the id of a language on the page; empty if there is none of this tag."""
    translations = manifest.get("translations")
    if not isinstance(translations, dict) or tag not in translations:
        return ""
    return f"t{list(translations).index(tag)}"


def _with_language(manifest: dict[str, object], tag: str) -> tuple[dict[str, object], str]:
    translations = manifest.get("translations") or {}
    own = manifest.get("language")
    if not tag:
        fault = "no language is named; write its tag, such as de"
    elif tag == own:
        fault = f"{show(tag)} is the language of the survey itself; write another one"
    elif not isinstance(translations, dict):
        fault = "the translations are no mapping; change them as YAML"
    elif tag in translations:
        fault = f"{show(tag)} is translated already; write another language, or go on in its table"
    elif len(translations) >= MOST_TRANSLATIONS:
        fault = f"a survey has at most {MOST_TRANSLATIONS} translations; remove one"
    else:
        check_language(tag, field=NEW_LANGUAGE)
        place = len(translations)
        return {**manifest, "translations": {**translations, tag: {}}}, f"t{place}"
    raise InvalidParameter(fault, field=NEW_LANGUAGE)


def _without_language(manifest: dict[str, object], gone: str) -> tuple[dict[str, object], str]:
    translations = manifest.get("translations")
    if not isinstance(translations, dict) or gone not in translations:
        return manifest, ""
    rest = {tag: words for tag, words in translations.items() if tag != gone}
    others = {key: value for key, value in manifest.items() if key != "translations"}
    return others | ({"translations": rest} if rest else {}), "languages"


def _items_of(question: object) -> list[object]:
    """Return the items of a question that is a matrix, which are questions of their own."""
    items = question.get("items") if isinstance(question, Mapping) else None
    return items if isinstance(items, list) else []


def _without_words_of(
    manifest: dict[str, object], removed: object, questions: list[Any]
) -> dict[str, object]:
    """Return a manifest whose weights, pairs and translations no longer name a removed question."""
    name = removed.get("name") if isinstance(removed, Mapping) else None
    if not isinstance(name, str) or any(
        isinstance(one, Mapping) and one.get("name") == name for one in questions
    ):
        return manifest
    manifest = dict(manifest)
    match manifest.get("split"):
        case {"weights": {**weights}, **rest}:
            weights.pop(name, None)
            manifest["split"] = {**rest, "weights": weights}
    pairs = manifest.get("pairs")
    if isinstance(pairs, list):
        left = [one for one in pairs if not (isinstance(one, list) and name in one)]
        manifest = {key: value for key, value in manifest.items() if key != "pairs"}
        manifest |= {"pairs": left} if left else {}
    translations = manifest.get("translations")
    if isinstance(translations, dict):
        manifest["translations"] = {
            tag: _without_question(words, name) for tag, words in translations.items()
        }
    return manifest


def _without_question(words: object, name: str) -> object:
    match words:
        case {"attributes": {**attributes}, **rest} if name in attributes:
            del attributes[name]
            return {**rest, "attributes": attributes} if attributes else rest
    return words
