"""Select-alls on pages: one question with a row for each option, and options by their texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hushpoll_shared.survey.option_texts import epsilon_of_options, option_labels
from hushpoll_shared.survey.published import Published


def labels_of(published: Published) -> dict[str, str]:
    """Return what each attribute is called on a page: by its question, an option as above."""
    texts = {one.name: one.question or one.name for one in published.attributes}
    return texts | option_labels(published)


def questions_of(published: Published) -> dict[str, str]:
    """Return the texts of the questions by name, a select-all being one."""
    options = {name: select for select in published.selects for name in select.attributes}
    questions: dict[str, str] = {}
    for attribute in published.attributes:
        select = options.get(attribute.name)
        if select is None:
            questions[attribute.name] = attribute.question or attribute.name
        else:
            questions[select.name] = select.question or select.name
    return questions


def found_by(words: str, questions: Mapping[str, str]) -> tuple[str, ...]:
    """Return the questions whose text or name has these words; all of them for no words.

    A question whose whole text or name it is, is the only one.
    """
    wanted = words.casefold()
    for name, text in questions.items():
        if wanted in (text.casefold(), name.casefold()):
            return (name,)
    parts = wanted.split()
    return tuple(
        name
        for name, text in questions.items()
        if all(part in f"{text} {name}".casefold() for part in parts)
    )


def gathered(entries: Sequence[Mapping[str, Any]], published: Published) -> list[dict[str, Any]]:
    """Return the entries of an answer, with those of a select-all's options as one.

    Parameters
    ----------
    entries : sequence of mapping
        Of attributes: ``name``, ``role``, ``protocol``, ``epsilon`` and ``categories``.
    published : Published
        The survey.

    Returns
    -------
    list of dict
        A select-all has a category for each option: the share of those who select it.
    """
    options = {name: select for select in published.selects for name in select.attributes}
    found: dict[str, dict[str, Any]] = {}
    for entry in entries:
        select = options.get(entry["name"])
        if select is None:
            found[entry["name"]] = dict(entry)
            continue
        text = published.attribute(entry["name"]).question or entry["name"]
        line = {**entry["categories"][1], "category": text}
        if select.name in found:
            found[select.name]["categories"].append(line)
        else:
            epsilon = epsilon_of_options(published, select)
            more = {"name": select.name, "epsilon": epsilon, "categories": [line], "option": None}
            found[select.name] = {**entry, **more}
    return list(found.values())
