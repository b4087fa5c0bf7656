"""Jobs that are statistics: what is asked of records, where counts do not suffice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final, Literal

from hushpoll_shared.jobs.job import (
    Category,
    Job,
    Kept,
    KeptJob,
    Size,
    Word,
    asked_as,
    confidence_of,
)
from hushpoll_shared.queries.dependencies import Dependencies
from hushpoll_shared.querying.query import Request, parameter
from hushpoll_shared.wire.documents.jobs import JobName

SHAPE_ALPHA: Final = 0.01


@dataclass(frozen=True, kw_only=True)
class Shape(Job):
    """Ask a worker whether the reports look like those that devices make.

    Parts of a record's form have a law that no answer changes, such as the number of bits that OUE
    sets, and careless fakes miss it. The result is JSON: per attribute a p-value and what deviates
    most, and `flagged`. GRR, SS and answers in clear leave nothing to test. The test does not find
    careful fakes; `poisoning` beside each estimate says what they can do.
    """

    name: ClassVar[JobName] = "shape"
    scope: ClassVar[str] = "read"
    words: ClassVar[str] = "a test of the reports' shape"
    body: ClassVar[str] = "When the test says that reports do not look like those of devices."
    table: ClassVar[str | None] = "shape"
    rows: ClassVar[str] = "attributes"

    alpha: float = parameter(
        "Chance, at most, that a survey without a fake is flagged.",
        SHAPE_ALPHA,
        least=1e-9,
        most=0.5,
    )


@dataclass(frozen=True, kw_only=True)
class Table(Job):
    """Ask a worker for the joint table of two or three attributes.

    Each cell has the unbiased share with its interval and, unless `likelihood` is false, the share
    by maximum likelihood: never negative, but without an interval. To fetch the result, a token
    needs the scope `read`.
    """

    name: ClassVar[JobName] = "table"
    scope: ClassVar[str] = "read"
    words: ClassVar[str] = "a table of several questions"
    body: ClassVar[str] = "The attributes of a joint table."
    table: ClassVar[str | None] = "joint-table"
    rows: ClassVar[str] = "cells"

    attributes: Annotated[tuple[Word, ...], Size(2, 3)] = parameter(
        "Two or three different attributes."
    )
    confidence: float = confidence_of("intervals of the unbiased shares")
    likelihood: bool = parameter(
        "Whether shares by maximum likelihood stand beside the unbiased ones: never negative, and "
        "without an interval.",
        True,
    )


_NESTED: Final = "By category; of several attributes nested in their order. "
_NAMES: Final = "Names of attributes"
_Nested = Mapping[str, Any]
_Names = Annotated[tuple[str, ...], Size(most=64)]
_Rows = Annotated[tuple[tuple[Any, ...], ...], Size(most=1 << 16)]
_ROWS: Final = (
    "In place of the object: a list for each cell, its categories in the order of the attributes "
    "and its number."
)


@dataclass(frozen=True, kw_only=True)
class MarginModel(Request):
    """A distribution of the population that is known."""

    attributes: _Names = parameter(f"{_NAMES}, perturbed or in clear.")
    shares: _Nested | None = parameter(
        _NESTED + "They add up to 1; the missing category may be left out.", None
    )
    rows: _Rows | None = parameter(_ROWS, None)


@dataclass(frozen=True, kw_only=True)
class StrataModel(Request):
    """Parts of the population from which respondents were drawn without replacement."""

    attributes: _Names = parameter(f"{_NAMES} in clear.")
    sizes: _Nested | None = parameter(_NESTED + "Numbers of people.", None)
    rows: _Rows | None = parameter(_ROWS, None)


@dataclass(frozen=True, kw_only=True)
class WeightsModel(Request):
    """Weights of respondents by what they answered in clear.

    A sealed record has no id and no place in an order, so a weight cannot be given to a person: it
    is a number for each category of attributes in clear, or for each cell of several.
    """

    attributes: _Names = parameter(f"{_NAMES} in clear; at most 65,536 cells.")
    weights: _Nested | None = parameter(_NESTED + "People for whom a respondent stands.", None)
    rows: _Rows | None = parameter(_ROWS, None)


@dataclass(frozen=True, kw_only=True)
class DesignModel(Request):
    """What is known of the sample and of its population."""

    margins: Annotated[tuple[MarginModel, ...], Size(most=16)] = parameter(
        "One is post-stratified to, several are raked to.", ()
    )
    strata: StrataModel | None = parameter("", None)
    weights: WeightsModel | None = parameter("", None)
    population: float | None = parameter(
        "People from whom respondents were drawn without replacement.", None
    )
    bounds: Annotated[tuple[float, ...], Size(most=64)] | None = parameter(
        "Smallest and largest factor by which margins may change a weight.", None
    )


@dataclass(frozen=True, kw_only=True)
class Weight(Job):
    """Ask a worker for the shares of several attributes by weights, strata and known margins.

    The design is that of `weighted-shares`, which answers at once where a survey is small or the
    design has one attribute. To fetch the result, a token needs the scope `read`.
    """

    name: ClassVar[JobName] = "weight"
    scope: ClassVar[str] = "read"
    words: ClassVar[str] = "weighted shares"
    body: ClassVar[str] = "The attributes of a job for weighted shares, and a design."
    table: ClassVar[str | None] = "weighted-shares"
    rows: ClassVar[str] = "attributes"

    attributes: Annotated[tuple[Word, ...], Size(1, 64)] = parameter(
        "Different attributes whose shares are estimated."
    )
    design: DesignModel = parameter("As of the route `weighted-shares`.", empty=DesignModel)
    confidence: float = confidence_of("intervals")


@dataclass(frozen=True, kw_only=True)
class DependencyTests(Job):
    """Ask a worker for tests of independence of all pairs whose joint counts are kept.

    It is what the route `dependencies` answers at once where few pairs have rare answers. Of the
    others a pair takes up to a second. To fetch the result, a token needs the scope `read`.
    """

    name: ClassVar[JobName] = "dependencies"
    scope: ClassVar[str] = "read"
    words: ClassVar[str] = "tests of all pairs of questions"
    body: ClassVar[str] = (
        "Of many tests, the part of false discoveries, and the reports that they are about."
    )
    table: ClassVar[str | None] = "dependencies"
    rows: ClassVar[str] = "pairs"

    rate: float = asked_as(Dependencies, "rate")
    where: Annotated[Mapping[Word, tuple[Category, ...]], Size(1, 64)] | None = parameter(
        "By attribute in clear, the categories of the reports that the tests are about; by default "
        "all reports.",
        None,
    )


@dataclass(frozen=True, kw_only=True)
class Regress(KeptJob):
    """Ask a worker for a regression of one attribute on others, perturbed or in clear.

    Maximum likelihood on the exact law of every record: which answers depend on which, other things
    equal. The result is kept until it is deleted. To fetch it, a token needs the scope `read`.
    """

    name: ClassVar[JobName] = "regress"
    scope: ClassVar[str] = "read"
    words: ClassVar[str] = "a regression"
    body: ClassVar[str] = "A regression of one attribute on others, perturbed or in clear."
    table: ClassVar[str | None] = "regression"
    rows: ClassVar[str] = "coefficients"
    kept: ClassVar[Kept] = Kept(
        "regression",
        "the regressions",
        "List the newest 200 regressions of a version; those that are done say what they found."
        "\n\nA regression is asked for as a job, `jobs/regress`, and its result is the job's. "
        "It is kept\nuntil it is deleted.",
    )

    formula: Annotated[str, Size(1, 4_000)] = parameter(
        "`outcome ~ terms`, such as `income ~ gender + C(region, ref='north')`."
    )
    family: Literal["logit", "multinomial", "ordered", "linear"] | None = parameter(
        "Model of the outcome; by default `logit` of two categories, `multinomial` of more, "
        "`linear` of numbers.",
        None,
    )
    saturated: bool = parameter(
        "Whether each combination of values in clear has its own chances of the perturbed "
        "predictors.",
        False,
    )
    robust: bool = parameter("Whether standard errors come from the sandwich.", False)
    estimator: Literal["reduced", "likelihood"] | None = parameter(
        "`likelihood`: its maximum; `reduced`: that less its first-order bias, where all slopes "
        "have Wald's intervals; by default the second if a question is randomised.",
        None,
    )
    confidence: float = confidence_of("intervals")
    at: Annotated[Mapping[Word, Category], Size(1, 64)] | None = parameter(
        "By predictor, the value that all respondents have in a prediction of the chances of the "
        "outcome.",
        None,
    )
    for_readers: bool = parameter(
        "Whether it keeps to the groups in clear that readers without the right to export may see: "
        "small ones merged, none before the end of collection, and several attributes only where "
        "all together leave no few reports. Readers see such a regression.",
        False,
    )
