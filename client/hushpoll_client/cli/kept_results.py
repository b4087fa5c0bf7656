"""Commands for results that a server keeps until they are deleted: models, audits, regressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_client.analyst.jobs import how_far
from hushpoll_client.cli.options import (
    Output,
    analyst_command,
    job_watch,
    statistic_command,
    survey_command,
    timeout_option,
    version_of,
    version_option,
    yes_option,
)
from hushpoll_shared.cli.model_options import cross_fitting_options, regression_options
from hushpoll_shared.cli.named_values import named_values
from hushpoll_shared.cli.out_file import out_option, replacing, save_table
from hushpoll_shared.cli.regression_text import regression_text
from hushpoll_shared.cli.statistic_commands import FAIRNESS
from hushpoll_shared.cli.terminal import CommandGroup, agreed, usable, waiting
from hushpoll_shared.reading.pairs import read_pair
from hushpoll_shared.spelling.json_values import JsonObject
from hushpoll_shared.survey.option_texts import question_texts
from hushpoll_shared.tables.regressions import regression_table
from hushpoll_shared.wire.documents.audits import AuditDocument
from hushpoll_shared.wire.documents.jobs import JobDocument
from hushpoll_shared.wire.documents.kept_results import AuditEntry, RegressionEntry


def list_command(
    noun: str,
    entries: str,
    listed: Callable[[AnalystClient, str, int], Sequence[Mapping[str, Any]]],
    line: Callable[[Any], str],
    about: str,
) -> click.Command:
    """Return the command that lists the results of a kind, with the help `about`.

    One is called `noun`, and `entries` is the member of the answer that has all; `line` says an
    entry in words.
    """

    def command(client: AnalystClient, name: str, version: int) -> Output:
        return {
            entries: listed(client, name, version)
        }, lambda answer: "\n".join(map(line, answer[entries])) or f"{name} has no {noun}."

    command.__doc__ = about
    return click.command("list")(survey_command()(command))


def delete_command(noun: str, delete: Callable[[AnalystClient, str], None]) -> click.Command:
    """Return the command that deletes one result of a kind; `noun` it is called."""

    def command(client: AnalystClient, result_id: str, yes: bool) -> Output:
        agreed(f"Delete the {noun} {result_id}? This cannot be undone.", yes=yes)
        delete(client, result_id)
        return {"deleted": result_id}, f"{noun} {result_id} is deleted"

    command.__doc__ = f"""Delete the {noun} ID and its job for good.

    The token must be the one that asked for it, or have the scope admin.
    """
    asks = yes_option(analyst_command(command))
    return click.command("delete")(click.argument("result_id", metavar="ID")(asks))


def job_line(job: JobDocument) -> str:
    """Return the line of an entry's job."""
    return f"{job['id']}  {job['created_at']}  {how_far(job)}"


@click.command("survey")
@click.argument("name")
@version_option
@regression_options
@click.option(
    "--for-readers",
    is_flag=True,
    help="Keep to the groups in clear that readers without the right to export may see.",
)
@timeout_option("Seconds to wait for the worker.")
@analyst_command
def regress_survey(
    client: AnalystClient,
    name: str,
    version: int | None,
    stated: tuple[str, ...],
    out: Path | None,
    timeout: float,
    **asked: Any,
) -> Output:
    """Fit a regression to the records of the survey NAME.

    Attributes are named as in the manifest, perturbed or in clear; of perturbed ones the law is
    known. A running hushpoll worker of the server fits it. The token needs the scope read.
    """
    values = dict(read_pair(text, field="--at", form="NAME=VALUE") for text in stated)
    number = version_of(client, name, version)
    with waiting(f"regression of {name}") as say:
        answer = client.regression(
            name, number, at=values or None, timeout=timeout, on_look=job_watch(say), **asked
        )
    if out is not None:
        usable(lambda: save_table(answer, lambda: regression_table(answer), out))
    saved = "" if out is None else f"\n\nThe table is in {out}."
    return (
        answer,
        lambda found: regression_text(found, question_texts(client.show(name, number))) + saved,
    )


def _regression(entry: RegressionEntry) -> str:
    line, found = job_line(entry["job"]), entry.get("regression")
    if not found:
        return line
    words = (found["formula"], f"{found['n']:,} reports; {found['verdict']}", *found["sentences"])
    return "\n  ".join((line, *words))


list_regressions = list_command(
    "regression",
    "regressions",
    AnalystClient.regressions,
    _regression,
    "List the regressions of the survey NAME, and what they found.",
)
delete_regression = delete_command("regression", AnalystClient.delete_regression)


@click.command("survey")
@cross_fitting_options
@click.option(
    "--seed",
    type=click.IntRange(0, 2**31 - 1),
    default=0,
    show_default=True,
    help="Seed of the folds and of the learner.",
)
@click.option("--learner", metavar="NAME", help="The training algorithm.  [default: the server's]")
@click.option(
    "--encoding", metavar="NAME", help="How records become features.  [default: the server's]"
)
@timeout_option("Seconds to wait for the worker.")
@statistic_command(FAIRNESS, waits=True)
def audit_survey(
    client: AnalystClient,
    name: str,
    version: int,
    params: tuple[str, ...],
    expect: tuple[str, ...],
    timeout: float,
    **settings: Any,
) -> AuditDocument:
    """Estimate a classifier's group fairness from the randomised answers of the survey NAME.

    Group metrics, such as DI and SPD, and the group rates behind them, with intervals. The
    protected attribute is not needed in clear. A running hushpoll worker of the server cross-fits
    the models, so that each record is predicted by a model that never saw it. Where the records
    cannot tell, the answer says so. The token needs the scopes train and read.
    """
    if settings["reference"] is not None and settings["groups"] is None:
        raise click.UsageError("--reference needs --groups, the attribute that it is a category of")
    with waiting(f"fairness of {name}") as say:
        return client.fairness(
            name,
            version,
            parameters=named_values(params),
            expected=named_values(expect) or None,
            timeout=timeout,
            on_look=job_watch(say),
            **settings,
        )


def _audit(entry: AuditEntry) -> str:
    line, audit = job_line(entry["job"]), entry.get("audit")
    if not audit:
        return line
    groups = f"{', '.join(audit['unprivileged'])} beside {' or '.join(audit['privileged'])}"
    line += f"\n  {audit['attribute']}: {groups}; {audit['n']:,} records"
    found = [
        f"{name}: {metric['conclusion']}"
        for name, metric in (audit.get("metrics") or {}).items()
        if metric.get("conclusion")
    ]
    found += [f"{words}: {number}" for words, number in (audit.get("disparities") or {}).items()]
    return f"{line}\n  {'; '.join(found)}" if found else line


list_audits = list_command(
    "audit",
    "audits",
    AnalystClient.audits,
    _audit,
    "List the fairness audits of the survey NAME, and what they found.",
)
delete_audit = delete_command("audit", AnalystClient.delete_audit)


@click.group(cls=CommandGroup)
def model() -> None:
    """List, show, fetch and delete the models that a server has trained."""


@model.command()
@survey_command()
def learners(client: AnalystClient, name: str, version: int) -> Output:
    """List the learners that may be trained on records of the survey NAME, and why not others."""
    return client.learners(name, version), _learners


@model.command()
@click.argument("model_id", metavar="ID")
@analyst_command
def show(client: AnalystClient, model_id: str) -> Output:
    """Show what the card of the model ID says of protection, accuracy and limits."""
    return client.model_card(model_id), _card


@model.command()
@click.argument("model_id", metavar="ID")
@out_option("ZIP for the model; replaced only once all has arrived.", required=True)
@analyst_command
def fetch(client: AnalystClient, model_id: str, out: Path) -> Output:
    """Fetch the model ID into --out, a ZIP: unzip it, and hushpoll predict reads the folder."""
    with replacing(out) as file:
        size = client.model_file(model_id, file.write)
    return {"file": str(out), "bytes": size}, f"model {model_id} is in {out}"


def _run(run: Mapping[str, Any]) -> str:
    job, about = run["job"], run.get("model")
    line = job_line(job)
    if about is None:
        return line
    given = {name: value for name, value in job["parameters"].items() if value}
    chosen = ", ".join(f"{name} {_spelled(value)}" for name, value in given.items())
    privacy = f"local epsilon {about['local_epsilon']}"
    if about.get("epsilon") is not None:
        privacy += f", central epsilon {about['epsilon']:g}"
    line += f"\n  {about['learner']}; {about['encoding']}; {chosen}; {privacy}"
    measured = about.get("on_records")
    return line if measured is None else f"{line}\n  {_accuracy(measured)}"


def _spelled(value: object) -> str:
    """Return a parameter's value in words, never as Python writes it."""
    match value:
        case bool():
            return "yes" if value else "no"
        case None:
            return "none"
        case Mapping():
            return "(" + ", ".join(f"{name} {_spelled(one)}" for name, one in value.items()) + ")"
        case list() | tuple():
            return "(" + ", ".join(map(_spelled, value)) + ")"
    return str(value)


def _accuracy(measured: Mapping[str, Any]) -> str:
    accuracy, constant = measured["accuracy"], measured["constant"]
    return (
        f"accuracy on perturbed records {accuracy['value']:.4f} "
        f"[{accuracy['lower']:.4f}, {accuracy['upper']:.4f}], always the more frequent class "
        f"{constant['value']:.4f}{_verdict(measured)}"
    )


def _verdict(measured: JsonObject) -> str:
    """Return whether the model predicts better than a constant; cards of before do not say it."""
    verdict = str(measured.get("verdict", ""))
    return f": {verdict}" if verdict and not verdict.startswith("better") else ""


def _learners(answer: Mapping[str, Any]) -> str:
    lines = [str(answer["reason"])] if answer.get("reason") else []
    for learner in answer["learners"]:
        if learner.get("reason"):
            lines.append(f"{learner['name']}: cannot run here: {learner['reason']}")
            continue
        lines.append(f"{learner['name']}: {learner['description']}")
        for parameter in learner["parameters"]:
            lines.append(f"  {parameter['name']}: {_allowed(parameter)}")
    return "\n".join(lines)


def _allowed(parameter: Mapping[str, Any]) -> str:
    words, high = parameter.get("words"), parameter.get("high")
    if words:
        allowed = f"one of {', '.join(words)}"
    elif high is None:
        allowed = f"{parameter['kind']} from {parameter['low']:g}"
    else:
        allowed = f"{parameter['kind']} in [{parameter['low']:g}, {high:g}]"
    return f"{allowed}; {_spelled(parameter['default'])} by default"


def _card(card: Mapping[str, Any]) -> str:
    lines = [f"{card['title']} ({card['finished']})", "", "What is protected, and from whom:"]
    lines += [f"- {one['what']}: {one['from_whom']}; {one['how']}" for one in card["protections"]]
    measured = card.get("on_records")
    lines += [
        "",
        str(card["unmeasured"]) if measured is None else _accuracy(measured),
        "",
        "Limits:",
    ]
    return "\n".join([*lines, *(f"- {limit}" for limit in card["limits"])])


model.add_command(
    list_command(
        "model",
        "runs",
        AnalystClient.models,
        _run,
        "List the trainings of the survey NAME with their parameters, privacy and accuracy.",
    )
)
model.add_command(delete_command("model", AnalystClient.delete_model))
