"""Models: start a training or a search, watch it, compare trainings, read a card, delete."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, NotRequired, TypedDict, cast

from flask import Response, request

from hushpoll_server.charts.figures import level, percent
from hushpoll_server.charts.rows import BoundedShare, Share
from hushpoll_server.charts.specifications import Chart, estimates_chart
from hushpoll_server.dashboard.figures import download, drawn
from hushpoll_server.dashboard.forms import ask_for, given_in_form, learners_in_form
from hushpoll_server.dashboard.frame import (
    choice,
    member,
    number_in,
    page,
)
from hushpoll_server.dashboard.jobs import delete_result
from hushpoll_server.dashboard.surveys import of_survey, why_not_shown
from hushpoll_server.dashboard.version_pages import back_to, note_look, shows, takes
from hushpoll_server.errors import Refused
from hushpoll_server.http.endpoint import services
from hushpoll_server.jobs.learners import learners as learners_of
from hushpoll_server.services.people.roles import Role
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_shared import group_metrics
from hushpoll_shared.spelling.json_values import JsonMembers, JsonObject
from hushpoll_shared.tables.result_table import ResultTable, columns
from hushpoll_shared.wire.documents.jobs import JobDocument
from hushpoll_shared.wire.documents.kept_results import ModelSummary

MOST_COMPARED: Final = 8
COLUMNS: Final = columns(
    model="text", metric="text", value="number", lower="number", upper="number"
)
METRICS: Final = {
    name: f"{metric.title}, {name} (fair at {metric.fair:g})"
    for name, metric in group_metrics.METRICS.items()
    if name in ("DI", "SPD", "EOD", "OAD")
}
UNENDED: Final = ("queued", "running")


@shows("/models", Role.READER)
def models(row: VersionRow) -> Response:
    """List the trainings of a version; an analyst has a form to start one."""
    parts = services()
    runs = parts.models.history(row)
    note_look(row, "models")
    searches = parts.jobs.newest_of(row, "tune")
    return page(
        "models.html",
        **of_survey(row, "models"),
        runs=runs,
        searches=[parts.jobs.describe(job) for job in searches],
        measured=sum(bool(run["model"] and run["model"]["on_records"]) for run in runs),
        goes_on=sum(run["job"]["state"] in UNENDED for run in runs)
        + sum(job.state in UNENDED for job in searches),
        **(_form(row) if member().may(row.name, Role.ANALYST) else {"form": None}),
    )


@takes("/models", Role.ANALYST, models)
def ask_for_training(row: VersionRow) -> Response:
    """Ask for a training or for a search of parameters, which a worker does."""
    kind = "tune" if request.form.get("what") == "tune" else "train"
    ask_for(row, kind, _chosen(row, kind))
    return back_to(row, "models")


@shows("/models/compare", Role.READER)
def compare(row: VersionRow) -> Response:
    """Set the parameters and metrics of two or more models beside each other."""
    runs = _compared(row)
    note_look(row, "models")
    rows = _metric_rows(runs)
    chart = _accuracy_chart(rows)
    return page(
        "compare_models.html",
        **of_survey(row, "models"),
        runs=runs,
        ids=[run["job"]["id"] for run in runs],
        settings=_settings(runs),
        metrics=_metrics(runs),
        **drawn(chart),
    )


@shows("/models/compare.<form>", Role.READER)
def compare_file(row: VersionRow, form: str) -> Response:
    """Return the chart of compared models, or the metrics behind it, as a file."""
    rows = _metric_rows(_compared(row))
    chart = _accuracy_chart(rows)
    if chart is None:
        raise Refused("not-found", "nothing was measured of these models")
    table = ResultTable.of("models compared", COLUMNS, rows, {"confidence": 0.95})
    return download(row, form, "models", chart, table)


@shows("/models/<model_id>", Role.READER)
def model_card(row: VersionRow, model_id: str) -> Response:
    """Show a model's card, and how to measure it on a panel."""
    job = services().models.of_version(row, model_id)
    parts = services()
    card = parts.models.card(job)
    card["on_records"] = _seen(row, card.get("on_records"))
    note_look(row, "models")
    return page(
        "model_card.html",
        **of_survey(row, "models"),
        job=parts.jobs.describe(job),
        card=card,
        fair=METRICS,
        groups=parts.surveys.published(row).protected,
        learner=parts.jobs.describe(job)["parameters"].get("learner", "lightgbm"),
    )


@takes("/models/<model_id>/delete", Role.ANALYST)
def delete_model(row: VersionRow, model_id: str) -> Response:
    """Delete a training that has ended: the user's own, or any if the user is an admin of it."""
    return delete_result(services().models, row, model_id, page="models")


def _form(row: VersionRow) -> dict[str, Any]:
    """Return what the form of a training needs; its learner is chosen in the address."""
    found = learners_in_form(row)
    if (form := found["form"]) is not None:
        runnable = {one["name"]: one for one in form["learners"] if one["reason"] is None}
        form["labels"] = [(name, one["label"]) for name, one in runnable.items()]
        form["not_here"] = [one for one in form["learners"] if one["reason"] is not None]
        form["chosen"] = runnable[choice("learner", runnable, form["default_learner"])]
    return found


def _chosen(row: VersionRow, kind: str) -> JsonMembers:
    """Return what the form asks for, as a request of the API says it; defaults are left out."""
    form, chosen = request.form, given_in_form(kind)
    if kind == "tune":
        return chosen
    known = {one["name"]: one for one in learners_of(services(), row)["learners"]}
    parameters: JsonMembers = {}
    for allowed in known.get(form.get("learner", ""), {"parameters": []})["parameters"]:
        text = form.get(f"parameter-{allowed['name']}", "").strip()
        if text in ("", str(allowed["default"])):
            continue
        parse = {"word": str, "number": float, "whole number": int}[allowed["kind"]]
        parameters[allowed["name"]] = number_in(allowed["name"], text, parse)
    return chosen | {"parameters": parameters}


def _compared(row: VersionRow) -> list[_Run]:
    """Return the models that the address chooses."""
    ids = request.args.getlist("model")
    if not 2 <= len(set(ids)) <= MOST_COMPARED:
        raise Refused(
            "invalid-request",
            f"{len(set(ids))} models are chosen; go back and choose 2 to {MOST_COMPARED}",
            field="model",
        )
    runs = [(run["job"], run["model"]) for run in services().models.compared(row, ids)]
    return [
        {"job": job, "model": model, "measured": _seen(row, model.get("on_records"))}
        for job, model in runs
        if model is not None  # which the service has refused
    ]


def _seen(row: VersionRow, on_records: JsonObject | None) -> _Measured | None:
    """Return what was measured of a model, without metrics of groups that the user may not see."""
    measured = cast("_Measured | None", on_records)
    if measured is None or not measured["fairness"]:
        return measured
    published = services().surveys.published(row)
    names = {one.name for one in (published.target,) if one is not None}
    names |= set() if published.protected is None else {published.protected.attribute}
    withheld = why_not_shown(row, measured, names)
    if withheld is None:
        return measured
    return {**measured, "fairness": None, "withheld": withheld}


def _settings(runs: Sequence[_Run]) -> list[_Setting]:
    """Return a line for each setting, with its value in each model and whether they differ."""
    every = [
        {
            "learner": run["model"]["learner"],
            "encoding": run["model"]["encoding"],
            "seed": run["model"]["seed"],
            "records": run["model"].get("rows"),
            "local epsilon": run["model"]["local_epsilon"],
            "central epsilon": run["model"].get("epsilon"),
            "delta": run["model"].get("delta"),
            "accountant": run["model"].get("accountant"),
            **run["model"]["parameters"],
        }
        for run in runs
    ]
    names = dict.fromkeys(name for settings in every for name in settings)
    lines = []
    for name in names:
        values: list[object] = [one.get(name) for one in every]
        differs = any(value != values[0] for value in values)
        lines.append(_Setting(name=name, values=values, differs=differs))
    return sorted(lines, key=lambda line: not line["differs"])


def _measured(run: _Run) -> dict[str, _Interval]:
    """Return what was measured of a model on perturbed records, by the metric's name."""
    found = run["measured"]
    if found is None:
        return {}
    fairness = found["fairness"] or {}
    return {
        "accuracy": found["accuracy"],
        **{name: fairness[name] for name in METRICS if "value" in fairness.get(name, {})},
    }


class _Interval(TypedDict):
    """An estimate with its interval."""

    value: float
    lower: float
    upper: float


class _Measured(TypedDict):
    """What was measured of a model on perturbed records; ``withheld`` says why not all is shown."""

    n: int
    accuracy: _Interval
    fairness: dict[str, _Interval] | None
    withheld: NotRequired[str]


class _Run(TypedDict):
    """A training that is compared."""

    job: JobDocument
    model: ModelSummary
    measured: _Measured | None


class _MetricRow(TypedDict):
    """A metric of one model, measured on perturbed records."""

    model: str
    metric: str
    value: float
    lower: float
    upper: float


class _MetricLine(TypedDict):
    """A metric in each model, and its differences from the first."""

    name: str
    values: list[_Interval | None]
    differences: list[dict[str, float | None] | None]


class _Setting(TypedDict):
    """A setting with its value in each model."""

    name: str
    values: list[object]
    differs: bool


def _metrics(runs: Sequence[_Run]) -> list[_MetricLine]:
    """Return a line for each metric: its value in each model, and its difference from the first."""
    every = [_measured(run) for run in runs]
    lines = []
    for name in ("accuracy", *METRICS):
        values = [measured.get(name) for measured in every]
        if any(value is not None for value in values):
            differences = [_difference(values[0], value) for value in values[1:]]
            label = METRICS.get(name, "accuracy on perturbed records")
            lines.append(_MetricLine(name=label, values=values, differences=differences))
    return lines


def _difference(first: _Interval | None, other: _Interval | None) -> dict[str, float | None] | None:
    """Return a difference with limits that hold whenever those of both values do."""
    if first is None or other is None or None in (first["value"], other["value"]):
        return None
    ends = [first["lower"], first["upper"], other["lower"], other["upper"]]
    bounded = None not in ends
    return {
        "value": other["value"] - first["value"],
        "lower": other["lower"] - first["upper"] if bounded else None,
        "upper": other["upper"] - first["lower"] if bounded else None,
    }


def _metric_rows(runs: Sequence[_Run]) -> list[_MetricRow]:
    return [
        {
            "model": f"{place + 1}: {run['job']['parameters'].get('learner', 'lightgbm')}",
            "metric": name,
            "value": found["value"],
            "lower": found["lower"],
            "upper": found["upper"],
        }
        for place, run in enumerate(runs)
        for name, found in _measured(run).items()
    ]


def _accuracy_chart(rows: Sequence[_MetricRow]) -> Chart | None:
    """Return the chart of the models' accuracies, None where none was measured."""
    drawn = [
        BoundedShare(
            category=row["model"], frequency=row["value"], lower=row["lower"], upper=row["upper"]
        )
        for row in rows
        if row["metric"] == "accuracy"
    ]
    if not drawn:
        return None
    shares = [Share(**row) for row in drawn]
    chart = estimates_chart("accuracy", shares, confidence=0.95, total=len(drawn), possible=None)
    best = max(drawn, key=lambda row: row["frequency"])
    apart = all(best["lower"] > row["upper"] for row in drawn if row is not best)
    sentence = (
        f"Model {best['category']} has the largest accuracy on perturbed records: "
        f"{percent(best['frequency'])}, with a {level(0.95)} interval from "
        f"{percent(best['lower'])} to {percent(best['upper'])}. "
        + (
            "No other model's interval reaches into it."
            if apart
            else "Its interval overlaps that of another model, so this order may be chance."
        )
    )
    return replace(chart, sentence=sentence)
