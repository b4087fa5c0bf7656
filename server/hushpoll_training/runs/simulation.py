"""Simulated training: clear rows are split; one part is perturbed, the other tests in clear."""

from __future__ import annotations

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.survey.manifest import Manifest
from hushpoll_shared.survey.published import Published
from hushpoll_training.data.target import Target
from hushpoll_training.learners.learner import FitOptions
from hushpoll_training.models.model import Codes, count_rows
from hushpoll_training.models.recipe import Recipe
from hushpoll_training.runs.cell import TEST_SIZE, baseline_cell, cell
from hushpoll_training.runs.training_run import TrainingRun


def train_simulated(
    published: Published,
    codes: Codes,
    recipe: Recipe,
    options: FitOptions,
    *,
    test_size: float = TEST_SIZE,
) -> TrainingRun:
    """Run one cell and its baseline; see :func:`hushpoll_training.runs.cell.cell`."""
    # a target that gives no labels is refused before the baseline is fitted
    Target.of(published)
    against = baseline_cell(published, codes, recipe, options, test_size=test_size)
    ours = cell(published, codes, recipe, options, test_size=test_size)
    tested = sum(ours.evaluation.rows[name] for name in ("tested", "unanswered"))
    return TrainingRun(
        mode="simulation",
        model=ours.model,
        ldp=ours.evaluation,
        baseline=against.evaluation,
        tested_on=f"{tested} rows in clear that were not trained on",
        baseline_is="fitted to the same rows in clear",
        unmeasured=None,
        rows={
            "records": count_rows(codes) - tested,
            "fitted": ours.model.rows,
            "baseline": against.model.rows,
            **ours.evaluation.rows,
        },
        timings={"baseline": against.timings["fit"], **ours.timings},
        seed=options.seed,
        settings={"test_size": test_size},
    )


def override(
    manifest: Manifest,
    *,
    protocol: str | None = None,
    split: str | None = None,
    epsilon: str | None = None,
) -> Manifest:
    """Return the manifest with another protocol, split or epsilon.

    Parameters
    ----------
    manifest : Manifest
        A draft.
    protocol : str, optional
        Of every sensitive attribute, whatever each names; a target keeps its own.
    split : str, optional
        ``uniform``, ``k-based`` or ``optimal``.
    epsilon : str, optional
        The total.

    Raises
    ------
    InvalidParameter
        For a value that a manifest refuses.
    """
    draft = manifest.to_dict()
    if protocol is not None:
        draft["protocol"] = protocol
        for attribute in draft["attributes"]:
            if attribute["role"] == "sensitive":
                attribute.pop("protocol", None)
    if split is not None:
        draft["split"] = split
    if epsilon is not None:
        draft["epsilon"] = epsilon
    try:
        return Manifest.from_dict(draft)
    except InvalidParameter as error:
        raise InvalidParameter(f"with the options: {error}", field=error.field) from None
