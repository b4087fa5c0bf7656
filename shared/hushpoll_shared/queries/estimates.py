"""How often each answer was given."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from typing import Any, ClassVar, Final, Literal

from hushpoll_shared.estimators import ESTIMATOR_TERMS, UNBIASED
from hushpoll_shared.qualifying.possible import SHARES, cut_row
from hushpoll_shared.queries.answered_shares import AnsweredAttribute
from hushpoll_shared.queries.parts import (
    ANSWER_IT,
    FREQUENCY,
    CategoryEstimate,
    Poisoning,
    SummaryEstimate,
    estimate_cell,
    limits_cell,
)
from hushpoll_shared.querying.query import Query, confidence, parameter
from hushpoll_shared.querying.result import Result, Section, Tells, member
from hushpoll_shared.survey.questions.selects import SELECTED

ANCHORS: Final = (
    "A device sends one of these anchors in place of a number, so their shares are no shares of "
    "answers.\n"
)
_WHOLE: Final = re.compile(r"-?[0-9]+", re.ASCII)


@dataclass(frozen=True, kw_only=True, slots=True)
class OptionOf:
    """Which option of a select-all an attribute is."""

    question: str = member("Name of the select-all.")
    text: str = member("What the option says.")
    epsilon: str | None = member("Of all its options together; None: sent in clear.")


@dataclass(frozen=True, kw_only=True, slots=True)
class AttributeEstimates:
    """The estimated distribution of one attribute."""

    name: str
    role: Literal["sensitive", "plain", "target"]
    protocol: str | None = member("None: sent in clear.")
    epsilon: str | None
    categories: tuple[CategoryEstimate, ...]
    poisoning: Poisoning | None = member("Of the unbiased estimate; None for another estimator.")
    n: int | None = field(default=None, metadata=ANSWER_IT)
    option: OptionOf | None = field(
        default=None, metadata={"description": "Of a select-all; None: a question of its own."}
    )
    mean: SummaryEstimate | None = field(
        default=None,
        metadata={
            "description": "Of the answers to a number, whose categories are anchors; shares of "
            "anchors are no shares of answers. None where it is too noisy to tell."
        },
    )
    asked: AnsweredAttribute | None = field(
        default=None,
        metadata={
            "description": "Of a follow-up: its shares among those asked, "
            "where they are not too noisy to tell."
        },
    )


@dataclass(frozen=True, kw_only=True)
class EstimatedShares(Result):
    """The estimated distributions of every attribute."""

    title: ClassVar[str] = "estimates"
    has_options: ClassVar[bool] = True

    n: int = member("Reports behind the estimates.")
    confidence: float
    estimator: str
    intervals: str = member(
        "How many of the intervals are expected to miss, and what looking at results again and "
        "again does to them; or that the estimator has no interval, and why."
    )
    attributes: tuple[AttributeEstimates, ...]

    def sections(self) -> Iterator[Section]:
        """Yield a section for each question; a select-all has a row for each option."""
        terms = ESTIMATOR_TERMS.get(self.estimator)
        bounded = terms is None or terms.no_interval is None
        for _, several in groupby(self.attributes, _question_of):
            attributes = tuple(several)
            attribute, option = attributes[0], attributes[0].option
            rows, name, epsilon = attribute.categories, attribute.name, attribute.epsilon
            part: str | Callable[[CategoryEstimate], str] = name
            if option is not None:
                rows = tuple(map(_selected, attributes))
                name, epsilon = option.question, option.epsilon
                names = {row.category: one.name for row, one in zip(rows, attributes, strict=True)}
                part = partial(_part_of, names)
            how = "in clear"
            if attribute.protocol is not None and epsilon is not None:
                how = f"{attribute.protocol}, epsilon {_six_digits(epsilon)}"
            if option is not None:
                how = f"select all that apply; {how}"
            if attribute.n is not None:
                how += f"; {_reports(attributes)}"
            word = "category" if option is None else "option"
            title, below = f"{name} ({how})", [_fakes(attributes)]
            if attribute.mean is not None:
                numbers = [float(row.category) for row in rows if _WHOLE.fullmatch(row.category)]
                title += f": {_mean(attribute.mean, numbers, self.confidence)}"
                # of few numbers a device sends each as it is
                if numbers and len(numbers) < numbers[-1] - numbers[0] + 1:
                    word = "anchor"
                    below.insert(0, ANCHORS)
            if attribute.asked is not None:
                title += ", of all people"
                below.insert(0, _asked(attribute.asked))
            yield Section(
                of=CategoryEstimate,
                rows=rows,
                title=title,
                words={word: "category"},
                shown=FREQUENCY if bounded else FREQUENCY[:1],
                labels={"attribute": "", "category": "category"},
                fixed={"attribute": name},
                hidden=() if bounded else ("standard_error", "lower", "upper"),
                below=tuple(below),
                part=part,
                possible=SHARES,
                tells=Tells(statistic="share", n=attribute.n),
            )


def _mean(mean: SummaryEstimate, numbers: Sequence[float], level: float) -> str:
    """Say the mean of a number, with its interval cut to its limits."""
    shown = cut_row(mean, (numbers[0], numbers[-1]))[0] if numbers else mean
    return f"mean {estimate_cell(shown)} ({100 * level:g} % interval {limits_cell(shown)})"


def _asked(asked: AnsweredAttribute) -> str:
    """Say the shares among those who were asked a follow-up."""
    lines = [f"Of those who were asked ({_share(asked.answered)} of all people):"]
    lines += [f"  {row.category}: {_share(row)}" for row in asked.categories]
    return "\n".join([*lines, ""])


def _reports(attributes: Sequence[AttributeEstimates]) -> str:
    """Say how many reports answer a question of a draw, or each option of a select-all."""
    numbers = sorted(one.n for one in attributes if one.n is not None)
    if numbers[0] == numbers[-1]:
        return f"{numbers[0]:,} reports answer it"
    return f"{numbers[0]:,} to {numbers[-1]:,} reports answer an option"


def _share(row: SummaryEstimate) -> str:
    shown, _ = cut_row(row, SHARES)
    return f"{estimate_cell(shown)}, {limits_cell(shown)}"


def shown_rows(attributes: Iterable[Mapping[str, Any]]) -> int:
    """Return how many rows are shown of attributes; of an option the share of who selects it."""
    lists = (
        one["categories"][:1] if one.get("option") else one["categories"]
        for one in attributes
        if isinstance(one.get("categories"), list)
    )
    return sum(map(len, lists))


def _six_digits(epsilon: str) -> str:
    """Return an epsilon as it is read by people; a text that is no number stays as it is."""
    try:
        return f"{float(epsilon):.6g}"
    except ValueError:
        return epsilon


def _question_of(attribute: AttributeEstimates) -> str:
    return attribute.name if attribute.option is None else attribute.option.question


def _selected(attribute: AttributeEstimates) -> CategoryEstimate:
    """Return the share of those who select an option, under its text."""
    text = attribute.name if attribute.option is None else attribute.option.text
    (row,) = (one for one in attribute.categories if one.category == SELECTED)
    return replace(row, category=text)


def _part_of(names: Mapping[str, str], row: CategoryEstimate) -> str:
    return names[row.category]


def _fakes(attributes: Sequence[AttributeEstimates]) -> str:
    """Say what fake reports could do to any of some estimates."""
    found = [one.poisoning for one in attributes if one.poisoning is not None]
    if not found:
        return ""
    raised = max(one.raised_by for one in found)
    lowered = max((one.lowered_by for one in found), key=abs)
    return replace(found[0], raised_by=raised, lowered_by=lowered).sentence()


@dataclass(frozen=True, kw_only=True)
class Estimates(Query[EstimatedShares]):
    """Estimate the frequencies of every attribute, with standard errors and intervals.

    Unbiased values, unless another estimator is named: one may fall outside [0, 1]. They are about
    the last release. Refused before the first, and below the survey's minimum batch.
    """

    name: ClassVar[str] = "estimates"
    command: ClassVar[str] = "estimate"
    summary: ClassVar[str] = "Show how often each answer was given, with intervals."
    example: ClassVar[str] = "--attribute health"
    looked_at: ClassVar[str] = "the estimates"
    family: ClassVar[str] = "analysis"
    own_command: ClassVar[tuple[Literal["server", "file"], ...]] = ("server", "file")

    estimator: Literal["unbiased", "projected", "likelihood", "shrunk"] = parameter(
        "All but unbiased have no interval. likelihood reads the records themselves.", UNBIASED
    )
    confidence: float = confidence()
