"""``hushpoll model``: the models that a server has trained; ``hushpoll job start train`` trains."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_client.cli.kept_results import delete_command, job_line, list_command
from hushpoll_client.cli.options import analyst_command, version_of, version_option
from hushpoll_shared.cli.out_file import out_option, replacing
from hushpoll_shared.cli.terminal import CommandGroup, emit, emit_answer
from hushpoll_shared.spelling.json_values import JsonObject


@click.group(cls=CommandGroup)
def model() -> None:
    """List, show, fetch and delete the models that a server has trained."""


@model.command()
@click.argument("name")
@version_option
@analyst_command
def learners(client: AnalystClient, name: str, version: int | None, as_json: bool) -> None:
    """List the learners that may be trained on records of the survey NAME, and why not others."""
    document = client.learners(name, version_of(client, name, version))
    emit_answer(document, _learners, as_json=as_json)


@model.command()
@click.argument("model_id", metavar="ID")
@analyst_command
def show(client: AnalystClient, model_id: str, as_json: bool) -> None:
    """Show what the card of the model ID says of protection, accuracy and limits."""
    emit_answer(client.model_card(model_id), _card, as_json=as_json)


@model.command()
@click.argument("model_id", metavar="ID")
@out_option("ZIP for the model; replaced only once all has arrived.", required=True)
@analyst_command
def fetch(client: AnalystClient, model_id: str, out: Path, as_json: bool) -> None:
    """Fetch the model ID into --out, a ZIP: unzip it, and hushpoll predict reads the folder."""
    with replacing(out) as file:
        size = client.model_file(model_id, file.write)
    emit({"file": str(out), "bytes": size}, f"model {model_id} is in {out}", as_json=as_json)


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
