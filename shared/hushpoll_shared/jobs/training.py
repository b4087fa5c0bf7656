"""Jobs that train: a model, a search of a learner's parameters, a fairness audit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from hushpoll_shared.estimators import CONFIDENCES
from hushpoll_shared.group_metrics import (
    CONFIDENCE,
    FOLDS,
    LARGEST_CONFIDENCE,
    PROTECTED_INPUTS,
    ProtectedInput,
)
from hushpoll_shared.jobs.job import Job, Kept, KeptJob, Size, Word
from hushpoll_shared.querying.query import Request, parameter
from hushpoll_shared.wire.documents.jobs import JobName

MOST_SEED = 2**31 - 1


@dataclass(frozen=True, kw_only=True)
class RecipeChoices(Request):
    """A learner and an encoding."""

    learner: Word | None = parameter(
        "The training algorithm, as hushpoll train --learner names it.", None
    )
    encoding: Word | None = parameter(
        "How records become features, as hushpoll train --encoding names it.", None
    )


@dataclass(frozen=True, kw_only=True)
class FitChoices(RecipeChoices):
    """A learner with its parameters, and an encoding."""

    seed: int = parameter("Of the learner.", 0, least=0, most=MOST_SEED, strict=True)
    parameters: Annotated[Mapping[str, int | float | Word], Size(most=64)] = parameter(
        "Of the learner, as hushpoll train --params names them.", empty=dict
    )


@dataclass(frozen=True, kw_only=True)
class Train(FitChoices, KeptJob):
    """Ask a worker to fit a model to the version's records.

    The result is a ZIP of what `hushpoll train --out` writes: unzip it, and `hushpoll predict`
    reads the folder. To fetch it, a token needs the scope `read`. With `folds`, further models are
    cross-fitted to estimate accuracy and fairness on perturbed records; the model's card says them
    as `on_records`.
    """

    name: ClassVar[JobName] = "train"
    scope: ClassVar[str] = "train"
    words: ClassVar[str] = "a model"
    body: ClassVar[str] = "How a model is fitted, and whether it is measured."
    kept: ClassVar[Kept] = Kept(
        "model",
        "the models",
        "List the newest 200 trainings of a version; those that are done have a model.\n\n"
        "A training is asked for as a job, `jobs/train`. Its model is kept until it is deleted.",
        work="training",
        besides="its model",
    )

    folds: int | None = parameter(
        "Parts to cross-fit, to estimate accuracy and fairness from the records alone; without it "
        "nothing is measured.",
        None,
        least=2,
        most=100,
        strict=True,
    )


@dataclass(frozen=True, kw_only=True)
class Tune(RecipeChoices, Job):
    """Ask a worker to search a learner's parameters on the records alone, as `hushpoll tune` does.

    The score is the accuracy on perturbed records that a model did not see. The best of many scores
    is better than its parameters deserve: train with them and `folds`, by another seed, to measure.
    The result is JSON: `parameters`, which a training takes, `score`, `trials` and `pruned`. To
    fetch it, a token needs the scope `read`.
    """

    name: ClassVar[JobName] = "tune"
    scope: ClassVar[str] = "train"
    words: ClassVar[str] = "a search for a model's parameters"
    body: ClassVar[str] = "A search of a learner's parameters on the records alone."

    seed: int = parameter("Of folds and learner.", 0, least=0, most=MOST_SEED, strict=True)
    trials: int = parameter(
        "Sets of parameters that are tried.", 30, least=1, most=500, strict=True
    )
    folds: int = parameter(
        "Parts that each set is scored on.", FOLDS, least=2, most=20, strict=True
    )


@dataclass(frozen=True, kw_only=True)
class ExpectedShares(Request):
    """Shares of the population that are known beforehand: declared, or from an earlier survey."""

    unprivileged: float = parameter(
        "Of the people in either group, those in the unprivileged one.", 0.5, above=0, below=1
    )
    positive: float = parameter(
        "Of the unprivileged group, those predicted positive.", 0.3, above=0, below=1
    )
    base: float = parameter("Those with a positive label.", 0.3, above=0, below=1)


@dataclass(frozen=True, kw_only=True)
class Fairness(FitChoices, KeptJob):
    """Ask a worker for group metrics with intervals, estimated from the records alone.

    Models are cross-fitted, so that none saw the records that it is audited on. A survey without a
    protected attribute or a target is refused. Where an interval has no bound, the result has null
    and says that it cannot conclude. It is the JSON that `hushpoll fairness --json` prints, and is
    kept until it is deleted. To fetch it, a token needs the scope `read`.
    """

    name: ClassVar[JobName] = "fairness"
    scope: ClassVar[str] = "train"
    words: ClassVar[str] = "a fairness audit"
    body: ClassVar[str] = "How fairness is estimated from the records alone."
    table: ClassVar[str | None] = "fairness"
    rows: ClassVar[str] = "metrics"
    kept: ClassVar[Kept] = Kept(
        "audit",
        "the fairness audits",
        "List the newest 200 audits of fairness of a version; those that are done say what they "
        "found.\n\nAn audit is asked for as a job, `jobs/fairness`, and its result is the job's. "
        "It is kept until\nit is deleted.",
    )

    folds: int = parameter(
        "Parts to cross-fit: each is audited unseen.", FOLDS, least=2, most=100, strict=True
    )
    protected_input: ProtectedInput = parameter(
        "What the models get of the protected attribute, never its record: nothing, or each of its "
        "values in turn.",
        PROTECTED_INPUTS[0],
    )
    groups: str | None = parameter(
        "An attribute whose categories are compared with `reference`; by default the two groups of "
        "the manifest are.",
        None,
    )
    reference: str | None = parameter("A category of `groups`.", None)
    together: Literal["each", "simultaneous", "discoveries"] = parameter(
        "Of several groups: each interval by itself; those of all groups together, and the largest "
        "disparity; or each by itself, with few false discoveries over the groups.",
        "each",
    )
    confidence: float = parameter(
        "Of the intervals.", CONFIDENCE, least=CONFIDENCES[0], most=LARGEST_CONFIDENCE
    )
    expected: ExpectedShares | None = parameter(
        "What a survey of this size can find is said for these shares; by default for those that "
        "the records give.",
        None,
    )
