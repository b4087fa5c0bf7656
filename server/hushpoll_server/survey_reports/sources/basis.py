"""All that a report is made from: the survey, counts of one release, and facts about it.

A report is a function of its basis, and a bundle holds the basis: so anyone makes the same report
from a bundle, to the last byte.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.records.counts import Counts, JointCounts
from hushpoll_analysis.records.fields import fields_of
from hushpoll_analysis.records.hidden_groups import ClearGroups
from hushpoll_analysis.records.laws import members_of_categories
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.survey_reports.sources.choices import Choices
from hushpoll_shared.spelling.text import show
from hushpoll_shared.survey.published import Published

FORMAT: Final = 1
"""Version of the form of a basis."""

Cells = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Basis:
    """What a report is made from."""

    published: Published
    choices: Choices
    n: int
    """Reports behind the counts, at least 1."""
    support: Mapping[str, Cells]
    """int64[k] by attribute, of those that are shown, or of all where other results are shown."""
    joint: Mapping[tuple[str, str], JointCounts]
    """int64[k1, k2] by pair; of questions in draws they are of the records that answer both."""
    facts: Mapping[str, Any]
    """JSON: ``state``, ``release``, ``released_at``, ``opens``, ``closes``, ``duplicate`` and

    ``rejected`` reports, ``audits``, ``regressions`` and ``waves`` where they are chosen, and
    ``made_with``, versions by program.
    """
    groups: ClearGroups | None = None
    """Which of its groups in clear may be seen: counts are of these; None: all of them."""
    answered: Mapping[str, int] = field(default_factory=dict)
    """How many records answer each block of a draw."""

    @property
    def shown(self) -> Published:
        """The survey with the categories that counts are of."""
        return self.published if self.groups is None else self.groups.shown

    @property
    def sentences(self) -> tuple[str, ...]:
        """Which groups in clear are merged or left out, in words."""
        return () if self.groups is None else self.groups.sentences()

    @property
    def counts(self) -> Counts:
        """Support counts, at least of the attributes that are shown."""
        return Counts(self.n, self.support, self.answered)

    def to_dict(self) -> dict[str, Any]:
        """Return all but the survey as JSON: counts as whole numbers."""
        merged = {} if self.groups is None else {"groups": self.groups.to_dict()}
        return {
            "format": FORMAT,
            "digest": self.published.digest,
            "choices": self.choices.to_dict(),
            "facts": dict(self.facts),
            **merged,
            "counts": {
                "n": self.n,
                "support": {name: self.support[name].tolist() for name in self.support},
                **({"answered": dict(self.answered)} if self.answered else {}),
                "joint": [
                    {
                        "a": a,
                        "b": b,
                        **({} if counts.n == self.n else {"n": counts.n}),
                        "first": counts.first.tolist(),
                        "second": counts.second.tolist(),
                        "both": counts.both.tolist(),
                    }
                    for (a, b), counts in self.joint.items()
                ],
            },
        }

    @classmethod
    def from_dict(cls, published: Published, document: Mapping[str, Any]) -> Basis:
        """Return the basis that `to_dict` gave of this survey; refuses that of another."""
        if document["format"] != FORMAT:
            raise InvalidParameter(
                f"format is {show(document['format'])}; this release reads {FORMAT}: use the one "
                "that made the bundle",
                field="format",
            )
        if document["digest"] != published.digest:
            raise InvalidParameter(
                f"digest is {show(document['digest'])}, and the manifest has {published.digest}; "
                "take both from the same bundle",
                field="digest",
            )
        groups, shown = None, published
        if "groups" in document:
            groups = ClearGroups.from_dict(published, document["groups"])
            shown = groups.shown
        choices = Choices.from_dict(shown, document["choices"])
        counts = document["counts"]
        n = counts["n"]
        if type(n) is not int or n < 1:
            raise InvalidParameter(
                f"n is {show(n)}; counts are of at least 1 report", field="counts"
            )
        fields = fields_of(shown, None if choices.results else choices.attributes)
        answered = {
            field.name: _number(counts["answered"][field.name], n)
            for field in fields
            if field.mask is not None
        }
        support = {
            field.name: _cells(
                counts["support"].get(field.name), (field.k,), answered.get(field.name, n)
            )
            for field in fields
        }
        held = {(entry["a"], entry["b"]): entry for entry in counts["joint"]}
        joint = {}
        for a, b in [*choices.cross_tables, *(held if choices.results else ())]:
            entry, rows, columns = held[a, b], shown.attribute(a).k, shown.attribute(b).k
            # one record counts as often as it supports combinations of a block with the answer
            seen = shown.answering([a, b])
            own, other = (max(members_of_categories(seen.attribute(name))) for name in (a, b))
            both = _number(entry.get("n", n), n)
            joint[a, b] = JointCounts(
                both,
                _cells(entry["first"], (rows,), both * own),
                _cells(entry["second"], (columns,), both * other),
                _cells(entry["both"], (rows, columns), both * own * other),
            )
        return cls(
            published=published,
            choices=choices,
            n=n,
            support=support,
            joint=joint,
            facts=document["facts"],
            groups=groups,
            answered=answered,
        )


def _number(value: object, most: int) -> int:
    """Return how many of the reports answer something."""
    if type(value) is not int or not 0 <= value <= most:
        raise InvalidParameter(
            f"{show(value)} of {most} reports answer a question; take the counts from the same "
            "bundle as the manifest",
            field="counts",
        )
    return value


def _cells(values: object, shape: tuple[int, ...], most: int) -> Cells:
    cells = np.asarray(values)
    if cells.shape != shape or cells.dtype.kind != "i" or cells.min() < 0 or cells.max() > most:
        raise InvalidParameter(
            f"counts have the shape {cells.shape}; these are whole numbers in [0, {most}] "
            f"of the shape {shape}: take them from the same bundle as the manifest",
            field="counts",
        )
    return np.ascontiguousarray(cells, dtype=np.int64)
