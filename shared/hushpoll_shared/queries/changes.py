"""How the shares of an attribute have changed since another version or survey."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.qualifying.possible import DIFFERENCES
from hushpoll_shared.qualifying.verdict import DIFFERENCE, Reach, half_width
from hushpoll_shared.queries.parts import (
    ASSUMED,
    HOW_TO_READ,
    LEVEL,
    BoundedEstimate,
    ComparingQuery,
    Comparison,
    EpsilonOfBoth,
    Wave,
)
from hushpoll_shared.querying.query import Spelling, confidence, parameter, simultaneous
from hushpoll_shared.querying.result import Section, Tells, TextColumn, member
from hushpoll_shared.spelling.canonical import InvalidJson, parse_json

CHANGE: Final = (
    TextColumn("before", lambda row: f"{row.before.value:.4f}"),
    TextColumn("after", lambda row: f"{row.after.value:.4f}"),
    TextColumn("change", lambda row: f"{row.difference.value:+.4f}"),
    TextColumn(LEVEL, lambda row: f"{row.difference.lower:+.4f} to {row.difference.upper:+.4f}"),
)


def labels_of(text: str, field: str) -> dict[str, str]:
    """Return the mapping of categories to labels that a text gives as a JSON object of texts."""
    try:
        mapping = parse_json(text.encode())
    except InvalidJson as error:
        raise InvalidParameter(f"{field}: {error}", field=field) from error
    if not isinstance(mapping, dict) or not all(isinstance(one, str) for one in mapping.values()):
        raise InvalidParameter(
            f'{field} is no object of texts; give such as {{"old": "new"}}', field=field
        )
    return mapping


# Two of them fit into a request's head, where a character can take twelve bytes.
LABELS: Final = Spelling(labels_of, json.dumps, "CATEGORY=LABEL", pairs=("attribute",))
EARLIER_LABELS: Final = replace(LABELS, pairs=("since_attribute", "attribute"), earlier=True)


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelChange:
    """The share of one label before and after."""

    label: str
    before: BoundedEstimate
    after: BoundedEstimate
    difference: BoundedEstimate = member("After minus before.")


@dataclass(frozen=True, kw_only=True)
class ChangeOfShares(Comparison):
    """How the shares of an attribute have changed between two versions."""

    title: ClassVar[str] = "change"

    before: Wave
    after: Wave
    confidence: float
    simultaneous: bool
    intervals: str = member(HOW_TO_READ)
    assumption: str = member(ASSUMED)
    epsilon_of_both: EpsilonOfBoth
    changes: tuple[LabelChange, ...]

    def sections(self) -> Iterator[Section]:
        """Yield a row for each label."""
        yield Section(
            of=LabelChange,
            rows=self.changes,
            words={"category": "label"},
            shown=CHANGE,
            labels={"label": "label"},
            part="changes",
            possible=DIFFERENCES,
            interval_of="difference",
            tells=Tells(statistic="share", question=self.after.attribute, category=("label",)),
        )

    def reaches(self) -> Iterator[Reach]:
        """Yield how far the intervals of the differences reach."""
        yield Reach(
            part="changes",
            what=f"a change of a share of {self.after.attribute}",
            half_width=half_width(one.difference for one in self.changes),
            most=DIFFERENCE,
        )


@dataclass(frozen=True, kw_only=True)
class Change(ComparingQuery[ChangeOfShares]):
    """Estimate how the shares of an attribute have changed since another version or survey.

    Both groups of respondents are taken for independent. The answer says what a person who answered
    both has spent.
    """

    name: ClassVar[str] = "changes"
    single_answers: ClassVar[str] = "changes of shares"
    command: ClassVar[str] = "relate change"
    summary: ClassVar[str] = (
        "Show how an attribute's shares have changed since another version or survey."
    )
    example: ClassVar[str] = "health"
    looked_at: ClassVar[str] = "the changes between two versions or surveys"
    family: ClassVar[str] = "relations"

    mapping: Mapping[str, str] | None = parameter(
        "JSON object from categories of this version to labels; a category that is not named is "
        "its own label. Both sides must have the same labels.",
        None,
        spelling=LABELS,
        flag="map",
    )
    since_mapping: Mapping[str, str] | None = parameter(
        "The same for the version to compare with.",
        None,
        spelling=EARLIER_LABELS,
        flag="since-map",
    )
    confidence: float = confidence()
    simultaneous: bool = simultaneous("differences", "")
