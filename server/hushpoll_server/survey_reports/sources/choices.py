"""What a report shows: which questions and cross-tables, by which estimator, with which audits."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hushpoll_analysis.records.pairs import pair
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.translations.speech import ENGLISH, LANGUAGES, check_language
from hushpoll_shared.estimators import CONFIDENCES, ESTIMATOR_TERMS, UNBIASED
from hushpoll_shared.jobs.files import MOST_CROSS_TABLES, MOST_REGRESSIONS, MOST_RESULTS
from hushpoll_shared.querying.query import Query
from hushpoll_shared.querying.registry import query_at
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_shared.spelling.text import show
from hushpoll_shared.survey.option_texts import named_attributes
from hushpoll_shared.survey.published import Published

ESTIMATORS: Final = tuple(
    name for name, terms in ESTIMATOR_TERMS.items() if not terms.needs_records
)
"""Those that the counts of a report suffice for."""

MOST_CELLS: Final = 1 << 17
"""All cross-tables of a report have at most so many; a bundle has a line for each."""


_ID: Final = re.compile("[0-9a-f]{32}")


@dataclass(frozen=True, kw_only=True)
class Choices:
    """What a report shows; checked against its survey by `of`."""

    attributes: tuple[str, ...]
    """The questions, in the manifest's order."""
    cross_tables: tuple[tuple[str, str], ...] = ()
    """Pairs of different attributes, the rows' first."""
    estimator: str = UNBIASED
    confidence: float = 0.95
    """In [0.01, 0.999999]."""
    fairness: bool = True
    """Whether finished audits are shown."""
    results: tuple[Query[Any], ...] = ()
    """What else is shown: each with a section of its own."""
    regressions: tuple[str, ...] = ()
    """Ids of the jobs of kept regressions that are shown."""
    language: str = ENGLISH
    trend: bool = False
    """Whether questions are shown beside earlier versions with the same answers."""

    @classmethod
    def of(
        cls,
        published: Published,
        *,
        attributes: Sequence[str] = (),
        cross_tables: Sequence[Sequence[str]] = (),
        estimator: str = UNBIASED,
        confidence: float = 0.95,
        fairness: bool = True,
        results: Sequence[str] = (),
        regressions: Sequence[str] = (),
        language: str = ENGLISH,
        trend: bool = False,
    ) -> Choices:
        """Return choices that a survey can answer; no attributes stand for all of them.

        Each of `results` is the address of a query; see `Query.address`. Refuses an unknown
        attribute or estimator, a confidence outside its interval, the same attribute twice in a
        cross-table, more cross-tables, cells, results or regressions than a report has, a result
        that no report has, and a language without words, or whose words are not of other results
        and regressions.
        """
        attributes = named_attributes(published, attributes)
        for name in attributes:
            published.attribute(name, field="attributes")
        if estimator not in ESTIMATORS:
            raise InvalidParameter(
                f"estimator is {show(estimator)}; a report has one of {', '.join(ESTIMATORS)}",
                field="estimator",
            )
        if not CONFIDENCES[0] <= confidence <= CONFIDENCES[1]:
            raise InvalidParameter(
                f"confidence is {confidence}, outside [{CONFIDENCES[0]}, {CONFIDENCES[1]}]; give a "
                "number inside it",
                field="confidence",
            )
        _check_language(language, results=results)
        chosen = [
            attribute.name
            for attribute in published.attributes
            if not attributes or attribute.name in attributes
        ]
        return cls(
            attributes=tuple(chosen),
            cross_tables=_pairs(published, cross_tables),
            estimator=estimator,
            confidence=confidence,
            fairness=fairness,
            results=_queries(results),
            regressions=_ids(regressions),
            language=language,
            trend=trend,
        )

    @property
    def languages(self) -> tuple[str, ...]:
        """Languages that the same can be told in, its own first."""
        if self.results or self.regressions:
            return (self.language,)
        return (self.language, *(one for one in LANGUAGES if one != self.language))

    def figures(self, published: Published) -> int:
        """Return how many charts the report has; the options of a select-all are one."""
        selects = {name: one.name for one in published.selects for name in one.attributes}
        questions = {selects.get(name, name) for name in self.attributes}
        return len(questions) + len(self.cross_tables) + len(self.regressions)

    @property
    def pictures(self) -> int:
        """How many pictures its files have: one for each option of a select-all."""
        return len(self.attributes) + len(self.cross_tables) + len(self.regressions)

    def to_dict(self) -> JsonMembers:
        """Return the choices as JSON."""
        document: JsonMembers = {
            "attributes": list(self.attributes),
            "cross_tables": [list(names) for names in self.cross_tables],
            "estimator": self.estimator,
            "confidence": self.confidence,
            "fairness": self.fairness,
        }
        if self.results:
            document["results"] = [query.address() for query in self.results]
        if self.regressions:
            document["regressions"] = list(self.regressions)
        if self.language != ENGLISH:
            document["language"] = self.language
        if self.trend:
            document["trend"] = True
        return document

    @classmethod
    def from_dict(cls, published: Published, document: Mapping[str, Any]) -> Choices:
        """Return the choices that `to_dict` gave; raises as `of`, and TypeError."""
        return cls.of(published, **document)


def _check_language(language: str, *, results: Sequence[str]) -> None:
    if check_language(language) != ENGLISH and results:
        raise InvalidParameter(
            f"language is {language}, and the words of other results are English; leave them out, "
            "or ask for the language en",
            field="language",
        )


def _ids(regressions: Sequence[str]) -> tuple[str, ...]:
    ids = tuple(dict.fromkeys(regressions))
    if len(ids) > MOST_REGRESSIONS:
        raise InvalidParameter(
            f"regressions has {len(ids)} entries; a report shows at most {MOST_REGRESSIONS}: "
            "choose fewer",
            field="regressions",
        )
    for one in ids:
        if _ID.fullmatch(one) is None:
            raise InvalidParameter(
                f"regressions has {show(one[:40])}, which is no id of a regression; take one from "
                "the list of regressions",
                field="regressions",
            )
    return ids


def _queries(addresses: Sequence[str]) -> tuple[Query[Any], ...]:
    queries = tuple(dict.fromkeys(query_at(address, "results") for address in addresses))
    for query in queries:
        if query.compares:
            raise InvalidParameter(
                f"results names {query.name}, which compares two versions, and a report is about "
                "one; leave it out",
                field="results",
            )
    if len(queries) > MOST_RESULTS:
        raise InvalidParameter(
            f"results has {len(queries)} entries; a report shows at most {MOST_RESULTS}: choose "
            "fewer",
            field="results",
        )
    return queries


def _pairs(
    published: Published, cross_tables: Sequence[Sequence[str]]
) -> tuple[tuple[str, str], ...]:
    pairs: list[tuple[str, str]] = []
    cells = 0
    for names in cross_tables:
        if len(names) != 2:
            raise InvalidParameter(
                f"cross has {show(','.join(names))}; give two attributes, such as a,b",
                field="cross",
            )
        first, second = pair(published, names[0], names[1], ("cross", "cross"))
        if (first.name, second.name) not in pairs:
            pairs.append((first.name, second.name))
            cells += first.k * second.k
    if len(pairs) > MOST_CROSS_TABLES or cells > MOST_CELLS:
        raise InvalidParameter(
            f"cross names {len(pairs)} tables with {cells} cells; a report has at most "
            f"{MOST_CROSS_TABLES} with {MOST_CELLS} in all: choose fewer",
            field="cross",
        )
    return tuple(pairs)
