"""Parameters of each kind of job, as a request gives them and OpenAPI documents them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from hushpoll_analysis.report_shape import ALPHA
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.body_size import BodySize
from hushpoll_server.services.surveys.mail_texts import MailText
from hushpoll_server.survey_reports.sources.choices import (
    MOST_CROSS_TABLES,
    MOST_REGRESSIONS,
    MOST_RESULTS,
)
from hushpoll_shared.estimators import CONFIDENCES
from hushpoll_shared.group_metrics import (
    CONFIDENCE,
    FOLDS,
    LARGEST_CONFIDENCE,
    PROTECTED_INPUTS,
    ProtectedInput,
)
from hushpoll_shared.queries.dependencies import Dependencies
from hushpoll_shared.querying.query import Query
from hushpoll_shared.reading.people import Person, person

Word = Annotated[str, Field(min_length=1, max_length=64)]
Category = Annotated[str, Field(min_length=1, max_length=1000)]


def _as_asked(query: type[Query[Any]], name: str) -> Any:
    """Return a field as a query declares it, where a job does in turn what the query asks."""
    (asked,) = (asked for asked in query.parameters() if asked.name == name)
    return Field(
        asked.default, description=asked.means, ge=asked.least, le=asked.most, gt=asked.above
    )


def confidence_of(intervals: str) -> Any:
    """Return the field that says how sure intervals are."""
    least, most = CONFIDENCES
    return Field(0.95, ge=least, le=most, description=f"Of the {intervals}.")


class Parameters(BaseModel):
    """Parameters of a job: unknown members are refused."""

    model_config = ConfigDict(extra="forbid")

    def given(self, *without: str) -> Any:
        """Return them as JSON, without those that are named and those that were not given."""
        return self.model_dump(exclude_none=True, exclude=set(without))


class SealParameters(Parameters):
    """Sealing has no parameters."""


class ExportParameters(Parameters):
    """The form of a file of records."""

    format: Literal["records", "parquet", "csv", "sav", "dta"] = Field(
        "records",
        description="`records`: the file that carries its own manifest; `sav` and `dta` are of "
        "SPSS and Stata, with labels.",
    )
    content: Literal["records", "indicators", "debiased"] = Field(
        "records",
        description="What a table's columns are: what was reported; a 0/1 column for each "
        "category; or the debiased indicators, whose means are unbiased shares.",
    )
    raw: bool = Field(
        False,
        description="Of CSV: leave texts that begin with = + - @ or a tab as they are; otherwise "
        "they have an apostrophe before them, so that no spreadsheet takes them for formulas.",
    )
    cells: Literal["labels", "codes", "hexadecimal"] | None = Field(
        None,
        description="Of records in CSV: labels (the default) or codes, and a 0/1 column for each "
        "category where a record does not have one; or the bytes of a record in hexadecimal.",
    )
    language: str | None = Field(
        None,
        pattern=r"^[a-zA-Z0-9-]{2,20}$",
        description="Of the labels of `csv`, `sav` and `dta`; by default the survey's own.",
    )
    design: str | None = Field(
        None,
        max_length=5_000,
        description="Of a table: a design as weighted-shares takes it, as JSON, of attributes in "
        "clear. Its weights and strata become the columns weight, stratum and stratum_size.",
    )


class MailTextParameters(Parameters):
    """A text of a mail, with {link} and other placeholders in braces."""

    subject: str = Field(min_length=1, max_length=200)
    body: str = Field(
        min_length=1,
        max_length=10_000,
        description="With {link}; and {greeting}, {name}, {title}, {closes}, {operator} as wanted.",
    )


class RemindParameters(Parameters):
    """Texts of the mails."""

    BODY: ClassVar = BodySize.PEOPLE

    texts: dict[str, MailTextParameters] = Field(
        default_factory=dict,
        max_length=100,
        description="By language of the survey; without one the server's own text is sent.",
    )

    def own_texts(self) -> dict[str, MailText]:
        """Return the texts as the mailing takes them."""
        return {tag: MailText(text.subject, text.body) for tag, text in self.texts.items()}


class PersonParameters(Parameters):
    """One person who is invited."""

    address: str = Field(max_length=1000, description="Of mail, in ASCII.")
    name: str | None = Field(None, max_length=1000)
    language: str | None = Field(
        None, max_length=100, description="One of the survey's; by default its own."
    )


def people_of(people: Sequence[PersonParameters], languages: Sequence[str]) -> list[Person]:
    """Return people of a request, checked; `languages` are those of the survey.

    Raises
    ------
    InvalidParameter
        Naming the person's number, the field, the value and the remedy.
    """
    checked = []
    for number, parameters in enumerate(people, 1):
        try:
            checked.append(person(parameters.model_dump(), languages))
        except InvalidParameter as error:
            raise InvalidParameter(f"person {number}: {error}", field=error.field) from None
    return checked


class InviteParameters(RemindParameters):
    """The people who are invited, each by one address, and the texts of their mails."""

    people: list[PersonParameters] = Field(min_length=1, max_length=100_000)


class RecipeParameters(Parameters):
    """A learner and an encoding."""

    learner: Word | None = Field(
        None, description="The training algorithm, as hushpoll train --learner names it."
    )
    encoding: Word | None = Field(
        None,
        description="How records become features, as hushpoll train --encoding names it.",
    )


class FitParameters(RecipeParameters):
    """A learner with its parameters, and an encoding."""

    seed: int = Field(0, ge=0, le=2**31 - 1, strict=True, description="Of the learner.")
    parameters: dict[str, int | float | Word] = Field(
        default_factory=dict,
        max_length=64,
        description="Of the learner, as hushpoll train --params names them.",
    )


class TrainParameters(FitParameters):
    """How a model is fitted, and whether it is measured."""

    folds: int | None = Field(
        None,
        ge=2,
        le=100,
        strict=True,
        description="Parts to cross-fit, to estimate accuracy and fairness from the records alone; "
        "without it nothing is measured.",
    )


class TuneParameters(RecipeParameters):
    """A search of a learner's parameters on the records alone."""

    seed: int = Field(0, ge=0, le=2**31 - 1, strict=True, description="Of folds and learner.")
    trials: int = Field(
        30, ge=1, le=500, strict=True, description="Sets of parameters that are tried."
    )
    folds: int = Field(
        FOLDS, ge=2, le=20, strict=True, description="Parts that each set is scored on."
    )


class ExpectedShares(Parameters):
    """Shares of the population that are known beforehand: declared, or from an earlier survey."""

    unprivileged: float = Field(
        0.5, gt=0, lt=1, description="Of the people in either group, those in the unprivileged one."
    )
    positive: float = Field(
        0.3, gt=0, lt=1, description="Of the unprivileged group, those predicted positive."
    )
    base: float = Field(0.3, gt=0, lt=1, description="Those with a positive label.")


class FairnessParameters(FitParameters):
    """How fairness is estimated from the records alone."""

    folds: int = Field(
        FOLDS, ge=2, le=100, strict=True, description="Parts to cross-fit: each is audited unseen."
    )
    protected_input: ProtectedInput = Field(
        PROTECTED_INPUTS[0],
        description="What the models get of the protected attribute, never its record: nothing, or "
        "each of its values in turn.",
    )
    groups: str | None = Field(
        None,
        description="An attribute whose categories are compared with `reference`; by default the "
        "two groups of the manifest are.",
    )
    reference: str | None = Field(None, description="A category of `groups`.")
    together: Literal["each", "simultaneous", "discoveries"] = Field(
        "each",
        description="Of several groups: each interval by itself; those of all groups together, and "
        "the largest disparity; or each by itself, with few false discoveries over the groups.",
    )
    confidence: float = Field(
        CONFIDENCE, ge=CONFIDENCES[0], le=LARGEST_CONFIDENCE, description="Of the intervals."
    )
    expected: ExpectedShares | None = Field(
        None,
        description="What a survey of this size can find is said for these shares; by default for "
        "those that the records give.",
    )


class ShapeParameters(Parameters):
    """When the test says that reports do not look like those of devices."""

    alpha: float = Field(
        ALPHA,
        ge=1e-9,
        le=0.5,
        description="Chance, at most, that a survey without a fake is flagged.",
    )


class TableParameters(Parameters):
    """The attributes of a joint table."""

    attributes: list[Word] = Field(
        min_length=2, max_length=3, description="Two or three different attributes."
    )
    confidence: float = confidence_of("intervals of the unbiased shares")
    likelihood: bool = Field(
        True,
        description="Whether shares by maximum likelihood stand beside the unbiased ones: never "
        "negative, and without an interval.",
    )


class DependenciesParameters(Parameters):
    """Of many tests, the part of false discoveries, and the reports that they are about."""

    rate: float = _as_asked(Dependencies, "rate")
    where: dict[Word, list[Category]] | None = Field(
        None,
        min_length=1,
        max_length=64,
        description="By attribute in clear, the categories of the reports that the tests are "
        "about; by default all reports.",
    )


class RegressParameters(Parameters):
    """A regression of one attribute on others, perturbed or in clear."""

    formula: str = Field(
        min_length=1,
        max_length=4_000,
        description="`outcome ~ terms`, such as `income ~ gender + C(region, ref='north')`.",
    )
    family: Literal["logit", "multinomial", "ordered", "linear"] | None = Field(
        None,
        description="Model of the outcome; by default `logit` of two categories, `multinomial` of "
        "more, `linear` of numbers.",
    )
    saturated: bool = Field(
        False,
        description="Whether each combination of values in clear has its own chances of the "
        "perturbed predictors.",
    )
    robust: bool = Field(False, description="Whether standard errors come from the sandwich.")
    estimator: Literal["reduced", "likelihood"] | None = Field(
        None,
        description="`likelihood`: its maximum; `reduced`: that less its first-order bias, where "
        "all slopes have Wald's intervals; by default the second if a question is randomised.",
    )
    confidence: float = confidence_of("intervals")
    at: dict[Word, Category] | None = Field(
        None,
        min_length=1,
        max_length=64,
        description="By predictor, the value that all respondents have in a prediction of the "
        "chances of the outcome.",
    )
    for_readers: bool = Field(
        False,
        description="Whether it keeps to the groups in clear that readers without the right to "
        "export may see: small ones merged, none before the end of collection, and several "
        "attributes only where all together leave no few reports. Readers see such a regression.",
    )


class ReportChoices(Parameters):
    """What a report shows."""

    attributes: list[Word] = Field(
        default_factory=list,
        max_length=256,
        description="Questions that are shown; by default all of them.",
    )
    cross_tables: list[Annotated[list[Word], Field(min_length=2, max_length=2)]] = Field(
        default_factory=list,
        max_length=MOST_CROSS_TABLES,
        description="Pairs of attributes, the rows' first.",
    )
    estimator: Literal["unbiased", "projected", "shrunk"] = Field(
        "unbiased", description="All but unbiased have no interval."
    )
    confidence: float = confidence_of("intervals")
    fairness: bool = Field(
        True, strict=True, description="Whether finished audits of fairness are shown."
    )
    trend: bool = Field(
        False,
        strict=True,
        description="Whether questions are shown beside earlier versions that ask them with the "
        "same answers.",
    )


class ReportParameters(ReportChoices):
    """What a report shows, and the form of its file."""

    results: list[Annotated[str, Field(max_length=4_000)]] = Field(
        default_factory=list,
        max_length=MOST_RESULTS,
        description="What else is shown: the name of a statistic's route and, after a question "
        "mark, its parameters as an address has them.",
    )
    regressions: list[Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]] = Field(
        default_factory=list,
        max_length=MOST_REGRESSIONS,
        description="Ids of kept regressions; `GET .../regressions` lists them.",
    )
    language: Literal["en", "de", "fr", "es"] = Field(
        "en",
        description="Of its words. Other results and regressions have words in `en` alone.",
    )
    format: Literal["html", "pdf", "bundle"] = Field(
        "html",
        description="`html` and `pdf` are one file to read and to print; `bundle` is a ZIP from "
        "which `hushpoll report --from` makes the same report.",
    )
