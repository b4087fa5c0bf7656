"""A survey's own words in the language of a report: where it has them, else as it was written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypedDict

from hushpoll_server.translations.speech import said
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.questions.follow_ups import NOT_ASKED
from hushpoll_shared.survey.wording import Wording


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
    """What a report calls a survey, its questions and their answers.

    Attributes
    ----------
    published : Published
        The survey.
    language : str
        Of the report; a survey that has no words in it is told in its own.
    """

    published: Published
    language: str

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
