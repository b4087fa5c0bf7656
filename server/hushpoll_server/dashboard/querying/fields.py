"""The fields of a query's form, read from its parameters and from the survey that it is asked of.

The form is sent by GET. There is no script: what can be chosen in a field follows from what the
address has chosen in the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from flask import request

from hushpoll_server.dashboard.frame import dashboard
from hushpoll_server.dashboard.select_alls import labels_of
from hushpoll_shared.querying.query import NAMING, Parameter, Query
from hushpoll_shared.survey.published import Published

MOST_OPTIONS: Final = 500
"""A list to choose from has at most so many; of more categories the name is typed."""
# Names of parameters that say little to who has not written them.
_LABELS: Final = {"a": "one question", "b": "the other question"}
_ARTICLES: Final = {"An ": "A ", "an ": "a "}
_ATTRIBUTE: Final = re.compile(r"(\b[Aa]n |\b)([Aa])ttribute(s?)\b")
_NAMED: Final = re.compile(r"`([^`]+)`")

Options = Sequence[tuple[str, str]]
"""Values, each with its words."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a form.

    Attributes
    ----------
    name : str
        Of the parameter.
    label, means : str
        What stands beside the field, and the sentence about it.
    value : str
        What the address has, or the default.
    options : sequence of (str, str), optional
        What is chosen from; None where it is typed.
    required : bool
        Whether there is no default.
    form : str
        How a typed value is written, such as ``SCORE,SCORE``; empty of a number or a text.
    asks : bool
        Whether they are questions.
    several : tuple of str
        The names that are chosen, where several may be; otherwise empty.
    takes_several : bool
        Whether several may be chosen.
    number : {"", "decimal", "numeric"}
        Which keys a telephone shows: of any number, of a whole one.
    """

    name: str
    label: str
    means: str
    value: str
    options: Options | None
    asks: bool
    takes_several: bool
    several: tuple[str, ...]
    required: bool
    form: str
    number: str


def texts_of(kind: type[Query[Any]]) -> dict[str, str]:
    """Return what the address of this request says of a query's parameters, as texts.

    A list may come as several values of one name.
    """
    texts = {}
    for one in kind.parameters():
        values = [text for text in request.args.getlist(one.name) if text]
        joiner = None if one.spelling is None else one.spelling.joiner
        if values:
            texts[one.name] = values[0] if joiner is None else joiner.join(values)
    return texts


def missing(kind: type[Query[Any]], texts: Mapping[str, str]) -> list[str]:
    """Return the labels of what must be chosen before the query can be asked."""
    return [label_of(one) for one in kind.parameters() if one.required and one.name not in texts]


def in_questions(text: str) -> str:
    """Return a sentence about attributes as people read it, who know them as questions."""
    return _ATTRIBUTE.sub(_question, text)


dashboard.add_app_template_filter(in_questions)


def _question(found: re.Match[str]) -> str:
    article, first, plural = found.groups()
    return f"{_ARTICLES.get(article, article)}{'Q' if first == 'A' else 'q'}uestion{plural}"


def label_of(parameter: Parameter) -> str:
    """Return the words of a parameter's name."""
    words = in_questions(_LABELS.get(parameter.name, parameter.name.replace("_", " ")))
    return words[0].upper() + words[1:]


def fields_of(
    kind: type[Query[Any]],
    texts: Mapping[str, str],
    published: Published,
    surveys: Mapping[str, Sequence[int]],
) -> Iterator[Field]:
    """Yield the fields of a query's form.

    `texts` is what the address has (`texts_of`), and `surveys` those that the user may compare it
    with, each with the versions to choose from.
    """
    parameters = kind.parameters()
    labels = {one.name: label_of(one) for one in parameters}
    for one in parameters:
        attribute = texts.get(one.category_of)
        if one.category_of and not attribute and one.name not in texts:
            continue  # it is a category of an attribute that is not chosen yet
        default = "" if one.required or one.default is None else one.write(one.default)
        since = texts.get("since_survey", published.name)
        options = _options(one, attribute, published, surveys, since)
        if options is not None and not default and not _takes_several(one):
            options = [("", "choose …" if one.required else "–"), *options]
        value = texts.get(one.name, default)
        several = _takes_several(one)
        yield Field(
            name=one.name,
            label=labels[one.name],
            means=_means(one, labels),
            value=value,
            options=options,
            asks=one.attribute and options is not None,
            takes_several=several,
            several=_listed(one, value) if several else (),
            required=one.required,
            form="" if one.spelling is None else one.spelling.metavar,
            number={float: "decimal", int: "numeric"}.get(one.kind, ""),
        )


def _means(one: Parameter, labels: Mapping[str, str]) -> str:
    """Return the sentence about a parameter; of boxes, without how a list is written."""
    _, mark, rest = one.means.partition("; ")
    means = f"{rest[:1].upper()}{rest[1:]}" if _takes_several(one) and mark else one.means
    return _NAMED.sub(lambda found: f"“{labels.get(found[1], found[1])}”", means)


def _takes_several(one: Parameter) -> bool:
    """Return whether a parameter is a list of questions."""
    return one.name in NAMING and one.spelling is not None and one.spelling.joiner is not None


def _listed(one: Parameter, value: str) -> tuple[str, ...]:
    joiner = None if one.spelling is None else one.spelling.joiner
    return tuple(value.split(joiner)) if value else ()


def _options(
    one: Parameter,
    attribute: str | None,
    published: Published,
    surveys: Mapping[str, Sequence[int]],
    since: str,
) -> Options | None:
    if one.choices:
        return [(choice, choice) for choice in one.choices]
    if one.kind is bool:
        return [("false", "no"), ("true", "yes")]
    if one.attribute or _takes_several(one):
        return list(labels_of(published).items())
    if one.spelling is not None:
        return None
    if one.elsewhere and one.kind is str:
        return [(name, name) for name in surveys]
    if one.elsewhere and one.kind is int:
        versions = surveys.get(since, ())
        own = published.version if since == published.name else None
        return [(str(version), f"version {version}") for version in versions if version != own]
    for asked in published.attributes:
        if asked.name == attribute and len(asked.domain) <= MOST_OPTIONS:
            return [(category, category) for category in asked.domain]
    return None
