"""A survey's own words in the language of a report: where it has them, else as it was written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, TypedDict

from hushpoll_server.translations.speech import said
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.questions.follow_ups import NOT_ASKED
from hushpoll_shared.survey.wording import Wording
from hushpoll_shared.wire.documents.regressions import (
    CoefficientDocument,
    ComparedCategory,
    RegressionDocument,
)


class _Row(TypedDict):
    category: str


class _Shares(TypedDict):
    name: str
    categories: list[_Row]


class _Pair(TypedDict):
    a: str
    b: str


class _Table(TypedDict):
    a: str
    b: str
    cells: list[_Pair]


@dataclass(frozen=True)
class SurveyWords:
    """What a report calls a survey, its questions and their answers."""

    published: Published
    language: str
    """Of the report; a survey that has no words in it is told in its own."""

    @cached_property
    def wording(self) -> Wording:
        """The survey's texts."""
        has = self.language in self.published.languages
        return self.published.wording(self.language if has else self.published.language)

    @property
    def tag(self) -> str | None:
        """The language of these texts; None where the survey does not state it."""
        return self.wording.language

    @cached_property
    def questions(self) -> dict[str, str]:
        """What is asked by each attribute; an option's or item's text after the question's."""
        texts = {
            attribute.name: text
            for attribute, text in zip(
                self.published.attributes, self.wording.questions, strict=True
            )
        }
        selects = zip(self.published.selects, self.wording.selects, strict=True)
        for select, question in selects:
            texts |= {name: f"{question} {texts[name]}" for name in select.attributes}
        for matrix, question in zip(self.published.matrices, self.wording.matrices, strict=True):
            texts |= {name: f"{question} {texts[name]}" for name in matrix.attributes}
        return texts

    @cached_property
    def names(self) -> dict[str, str]:
        """What everything that has a name is called: attributes, select-alls and matrices."""
        selects = [one.name for one in self.published.selects]
        matrices = [one.name for one in self.published.matrices]
        return (
            self.questions
            | dict(zip(selects, self.wording.selects, strict=True))
            | dict(zip(matrices, self.wording.matrices, strict=True))
        )

    @cached_property
    def answers(self) -> Mapping[str, Mapping[str, str]]:
        """By attribute what each category is called."""
        named = {}
        domains = zip(self.published.attributes, self.wording.domains, strict=True)
        for attribute, domain in domains:
            named[attribute.name] = dict(zip(attribute.domain, domain, strict=True))
            if attribute.ask_if is not None:
                named[attribute.name][attribute.domain[-1]] = said(NOT_ASKED)
        return named

    def answer(self, name: str, category: str) -> str:
        """Return what a category is called; one of merged categories has its own name."""
        return self.answers[name].get(category, category)

    def results(self, results: Mapping[str, Any]) -> dict[str, Any]:
        """Return the numbers of a report with its answers in these words."""
        estimates = results["estimates"]
        return {
            **results,
            "estimates": {
                **estimates,
                "attributes": [self._attribute(one) for one in estimates["attributes"]],
            },
            "answered": {
                name: {
                    **shares,
                    "attributes": [self._attribute(one) for one in shares["attributes"]],
                }
                for name, shares in results["answered"].items()
            },
            "cross_tables": [self._cross_table(one) for one in results["cross_tables"]],
        }

    def _attribute(self, one: _Shares) -> _Shares:
        rows: list[_Row] = [
            {**row, "category": self.answer(one["name"], row["category"])}
            for row in one["categories"]
        ]
        return {**one, "categories": rows}

    def _cross_table(self, one: _Table) -> _Table:
        a, b = one["a"], one["b"]
        cells: list[_Pair] = [
            {**cell, "a": self.answer(a, cell["a"]), "b": self.answer(b, cell["b"])}
            for cell in one["cells"]
        ]
        return {**one, "cells": cells}

    def regression(self, document: RegressionDocument) -> RegressionDocument:
        """Return a regression with its answers in these words; its formula stays as it was asked.

        Sentences are made of names and answers, so the parts of them that name an answer are known.
        """
        outcome = document["outcome"]
        of = partial(self._in_words, outcome["name"])
        coefficients: list[CoefficientDocument] = [
            {
                **one,
                "category": of(one["category"]),
                "compares": [self._compared(part) for part in one.get("compares", ())],
            }
            for one in document["coefficients"]
        ]
        phrases = self._phrases(document)
        return {
            **document,
            "outcome": {**outcome, "categories": [of(one) or one for one in outcome["categories"]]},
            "coefficients": coefficients,
            "adjusted": [
                {
                    **one,
                    "value": self._in_words(one["predictor"], one["value"]) or one["value"],
                    "category": of(one["category"]),
                }
                for one in document.get("adjusted", ())
            ],
            "sentences": [_replaced(one, phrases) for one in document["sentences"]],
            "verdict": {
                **document["verdict"],
                "sentence": _replaced(document["verdict"]["sentence"], phrases),
            },
        }

    def _in_words(self, name: str, category: str | None) -> str | None:
        return None if category is None else self.answers.get(name, {}).get(category, category)

    def _compared(self, part: ComparedCategory) -> ComparedCategory:
        name = part["predictor"]
        return {
            "predictor": name,
            "category": self._in_words(name, part["category"]),
            "reference": self._in_words(name, part["reference"]),
        }

    def _phrases(self, document: RegressionDocument) -> dict[str, str]:
        """Return the parts of a regression's sentences that name an answer, and what they become.

        The longest first, so that none is replaced within another.
        """
        found: dict[str, str] = {}
        outcome, categories = document["outcome"]["name"], document["outcome"]["categories"]
        for one in categories:
            mine, first = self._in_words(outcome, one), self._in_words(outcome, categories[0])
            odds = f"the odds that {outcome} is"
            found[f"{odds} {one} rather than {categories[0]}"] = (
                f"{odds} {mine} rather than {first}"
            )
            found |= {f"{odds} {one}": f"{odds} {mine}"}
            found |= {f"how {outcome} ({one})": f"how {outcome} ({mine})"}
            found |= {f") of {one}": f") of {mine}"}
        for coefficient in document["coefficients"]:
            for part in coefficient.get("compares", ()):
                name, category, reference = part["predictor"], part["category"], part["reference"]
                mine, against = (self._in_words(name, one) for one in (category, reference))
                slope, in_words = (
                    name if one is None else f"{name} ({one})" for one in (category, mine)
                )
                found[slope] = in_words
                of = coefficient["category"]
                found[f"{of}: {slope}"] = f"{self._in_words(outcome, of)}: {in_words}"
                found[f"between {category} and {reference} of {name}"] = (
                    f"between {mine} and {against} of {name}"
                )
                found[f"where {name} is {reference},"] = f"where {name} is {against},"
                for than in ("as", "than"):
                    found[f"where {name} is {category} {than} where it is {reference}"] = (
                        f"where {name} is {mine} {than} where it is {against}"
                    )
        return dict(sorted(found.items(), key=lambda pair: -len(pair[0])))


def _replaced(sentence: str, phrases: Mapping[str, str]) -> str:
    """Return a sentence with parts in place of others, each place once."""
    if all(old == new for old, new in phrases.items()):
        return sentence
    pattern = re.compile("|".join(map(re.escape, phrases)))
    return pattern.sub(lambda part: phrases[part[0]], sentence)
