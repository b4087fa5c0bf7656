"""Every name of ours that the pinned results are computed with.

Nothing else in this folder imports hushpoll: where a name moves, this file changes, and nothing
that it returns.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hushpoll_analysis import (
    AuditPredictions,
    Records,
    audit,
    audit_groups,
    cross_table,
    frequencies,
)
from hushpoll_analysis.auditing.power import AuditAssumptions
from hushpoll_analysis.planning import planner
from hushpoll_analysis.report_shape import report_shape
from hushpoll_client.cli.commandline import main
from hushpoll_protocols import PROTOCOLS, create
from hushpoll_protocols.estimation.frequencies import estimate
from hushpoll_protocols.estimation.likelihood import maximum_likelihood
from hushpoll_protocols.estimation.projection import project_simplex
from hushpoll_protocols.estimation.shrinkage import shrunk
from hushpoll_protocols.kernels import indicators, perturb, support_counts
from hushpoll_shared import Manifest, Published
from hushpoll_shared.wire.batch import encode_many
from hushpoll_shared.wire.records_file import pack_records_header
from hushpoll_shared.wire.reports import ID_SIZE, REPORTS_HEADER_SIZE
from hushpoll_training import (
    baseline_cell,
    cell,
    create_encoding,
    cross_fit,
    describe_codes,
    load_model,
    read_codes,
)
from hushpoll_training.learners.learner import FitOptions
from hushpoll_training.models.recipe import Recipe

__all__ = [
    "PROTOCOLS",
    "cell_of_codes",
    "cells_survey",
    "code_table",
    "create",
    "cross_fitted",
    "cross_tables",
    "domains",
    "encode",
    "estimates",
    "features",
    "hushpoll",
    "indicators",
    "named_estimates",
    "outlook",
    "perturb",
    "priors",
    "published",
    "records_audit",
    "records_file",
    "records_groups_audit",
    "records_of_reports",
    "saved_scores",
    "shape",
    "support_counts",
    "trees_of_text",
]

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.uint8]
Codes = Mapping[str, npt.NDArray[np.int64]]


def hushpoll(*arguments: object) -> str:
    """Run a command in this process and return what it prints; it must end with code 0."""
    out, err = io.StringIO(), io.StringIO()
    try:
        with redirect_stdout(out), redirect_stderr(err):
            main([str(argument) for argument in arguments])
    except SystemExit as ended:
        if ended.code == 0:
            return out.getvalue()
        raise RuntimeError(
            f"hushpoll {' '.join(map(str, arguments))} ended with {ended.code}: "
            f"{out.getvalue()}{err.getvalue()}"
        ) from None
    raise RuntimeError("the command line did not end")


def outlook(draft: dict[str, Any], n: int, *, metric: str = "SPD", **assumed: float) -> Any:
    """Return what a plan says of the draft as it is, and recommends, and what it assumes."""
    given = AuditAssumptions(**assumed)
    told = planner.outlook(Manifest.from_dict(draft), n, given, metric=metric)
    names = ("gap", "positive", "unprivileged", "base", "true_positive", "false_positive")
    return {**told, "assumptions": {name: getattr(given, name) for name in names}}


# Surveys and their records


def published(draft: dict[str, Any]) -> Published:
    """Return the published form of a manifest."""
    return Manifest.from_dict(draft).resolve()


def domains(survey: Published) -> dict[str, tuple[str, ...]]:
    """Return the categories of each attribute, in code order, the missing one last."""
    return {one.name: one.domain for one in survey.attributes}


def encode(survey: Published, codes: Codes, rng: np.random.Generator) -> Rows:
    """Return records uint8[n, L] of people."""
    return encode_many(survey, dict(codes), rng)


def records_file(survey: Published, records: Rows) -> bytes:
    """Return the content of a file of records, as an export is."""
    return pack_records_header(survey, len(records)) + records.tobytes()


def records_of_reports(content: bytes, size: int) -> Rows:
    """Return the records of a file of reports, without their random ids."""
    rows = np.frombuffer(content, np.uint8, offset=REPORTS_HEADER_SIZE)
    return rows.reshape(-1, ID_SIZE + size)[:, ID_SIZE:]


# Estimates


def named_estimates(oracle: Any, records: Rows) -> dict[str, dict[str, Floats]]:
    """Return every named estimate of one attribute."""
    counts, n = support_counts(oracle, records), len(records)
    found: dict[str, dict[str, Floats]] = {}
    for name, chosen in (("default", "weighted"), ("raw", "raw")):
        for confidence in (0.95, 0.99):
            one = estimate(oracle, counts, n, confidence=confidence, estimator=chosen)
            limits = {f"lower {confidence}": one.lower, f"upper {confidence}": one.upper}
            found.setdefault(name, {}).update(limits)
        found[name] |= {"frequency": one.frequency, "standard_error": one.standard_error}
    default = found["default"]["frequency"]
    found["projected"] = {"frequency": project_simplex(default)}
    found["maximum likelihood"] = {"frequency": maximum_likelihood(oracle, records)}
    found["shrunk"] = {"frequency": shrunk(counts, n, p=oracle.p, q=oracle.q)}
    return found


def estimates(survey: Published, records: Rows, confidence: float) -> dict[str, Any]:
    """Return the estimates of every attribute, and what one fake report can do to them."""
    return {
        one.name: {
            "n": one.n,
            "epsilon": one.epsilon,
            "frequency": one.frequency,
            "standard_error": one.standard_error,
            "lower": one.lower,
            "upper": one.upper,
            "poisoning": one.poisoning.to_dict(),
        }
        for one in frequencies(Records(survey, records), confidence=confidence)
    }


def cross_tables(survey: Published, records: Rows, a: str, b: str) -> dict[str, Any]:
    """Return the cross-table of two attributes."""
    found = cross_table(Records(survey, records), a, b)
    return {
        "n": found.n,
        "frequency": found.frequency,
        "standard_error": found.standard_error,
        "lower": found.lower,
        "upper": found.upper,
        "poisoning": found.poisoning.to_dict(),
    }


def shape(survey: Published, records: Rows) -> dict[str, Any]:
    """Return whether reports look like those of devices."""
    return report_shape(Records(survey, records)).to_dict()


# Audits from records alone


def records_audit(
    survey: Published,
    records: Rows,
    predicted: npt.NDArray[np.int64],
    *,
    confidence: float = 0.95,
    outlook: bool = False,
) -> dict[str, Any]:
    """Return an audit of predictions that were made without the protected attribute's record."""
    inputs = ("age", "region", "job", "hours")
    predictions = AuditPredictions(predicted, inputs, "external")
    return audit(
        Records(survey, records), predictions, confidence=confidence, outlook=outlook
    ).to_dict()


def records_groups_audit(
    survey: Published, records: Rows, predicted: npt.NDArray[np.int64]
) -> dict[str, Any]:
    """Return an audit of every region against the first."""
    predictions = AuditPredictions(predicted, ("age", "job", "hours"), "external")
    return audit_groups(
        Records(survey, records),
        predictions,
        attribute="region",
        reference="region-0",
        outlook=False,
    ).to_dict()


# Training


def priors(survey: Published, records: Rows, method: str) -> Mapping[str, tuple[float, ...]]:
    """Return the priors of the posterior encoding."""
    return create_encoding("posterior", prior=method).fit(Records(survey, records)).priors


def features(survey: Published, records: Rows, encoding: str) -> npt.NDArray[np.float32]:
    """Return the features of records, float32[n, m]."""
    checked = Records(survey, records)
    made = create_encoding(encoding).fit(checked).from_records(checked)
    return made.toarray() if hasattr(made, "toarray") else np.asarray(made)


def cross_fitted(
    survey: Published, records: Rows, parameters: Mapping[str, Any], encoding: str
) -> Any:
    """Return predictions of records by models that never saw them."""
    return cross_fit(
        Records(survey, records), Recipe.of(parameters, encoding=encoding), FitOptions(3)
    )


def code_table(path: Path, ignored: tuple[str, ...]) -> Codes:
    """Return a CSV file of integer codes as arrays."""
    return read_codes(path, ignored=ignored)


def cells_survey(
    codes: Codes,
    *,
    name: str,
    target: str,
    protected: str,
    sensitive: tuple[str, ...],
    protocol: str,
    split: str,
    epsilon: str,
) -> Published:
    """Return the survey that one cell of an experiment plays."""
    return describe_codes(
        dict(codes),
        name=name,
        target=target,
        protected=protected,
        sensitive=list(sensitive),
        protocol=protocol,
        split=split,
        epsilon=epsilon,
    ).resolve()


def cell_of_codes(
    survey: Published, codes: Codes, parameters: Mapping[str, Any], *, seed: int, clear: bool
) -> tuple[dict[str, Any], Floats, str]:
    """Run one cell; return its metrics, the scores of all rows, and the text of its trees."""
    run = (baseline_cell if clear else cell)(survey, codes, Recipe.of(parameters), FitOptions(seed))
    scored = run.model.scores(codes)
    return (
        run.evaluation.to_json(),
        scored,
        trees_of_text(run.model.fitted.booster.model_to_string()),
    )


def saved_scores(directory: Path, codes: Codes) -> Floats:
    """Return the scores that a saved model gives to people."""
    return load_model(directory).scores(codes)


def trees_of_text(text: str) -> str:
    """Return the trees of LightGBM's text, without names of columns and parameters."""
    start, end = text.index("\nTree=0\n"), text.index("\nend of trees\n")
    return text[start:end]
