"""The course of `hushpoll demo`: one survey by real commands, and the tables that it shows."""

from __future__ import annotations

import secrets
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from rich.table import Table

from hushpoll_fleet.demo.processes import Server, run_command, run_json
from hushpoll_fleet.population.population import Population
from hushpoll_shared.cli.terminal import rendered
from hushpoll_shared.drafts.manifest import Manifest, load_manifest
from hushpoll_shared.group_metrics import METRICS, UTILITY_LABELS
from hushpoll_shared.samples import DEMO_FILE, demo_manifest
from hushpoll_shared.spelling.json_values import JsonMembers, JsonObject

SHOWN: Final = "health"
"""Attribute of the demo's survey whose categories are compared with the truth."""

PANEL: Final = 3000
"""People who give their answers in clear, to test the models on."""


def tell(
    directory: Path,
    *,
    respondents: int,
    seed: int,
    say: Callable[[str], None],
    wait: Callable[[], None] | None = None,
) -> JsonMembers:
    """Play the whole survey in an empty directory, and return its figures.

    `say` is called with each command before it runs, and with its result; `wait` while the server
    still runs, after `say` was told how to reach its dashboard. The seed is of the draw and of the
    training: the respondents' noise comes from the operating system. Raises `CommandFailed`.
    """
    (directory / DEMO_FILE).write_text(demo_manifest(), encoding="utf-8")
    manifest = load_manifest(directory / DEMO_FILE)
    server = Server(directory, options=("--log-level", "warning"))
    say("Start a collecting server with a fresh database, on this machine only:")
    say(f"$ cd {shlex.quote(str(directory))}")
    say(f"{_shown(server.arguments)} &")
    with server:
        say(f"$ export HUSHPOLL_URL={server.url} HUSHPOLL_TOKEN=$(cat admin-token)")
        environment = {"HUSHPOLL_URL": server.url, "HUSHPOLL_TOKEN": server.token}

        def run(meaning: str, *arguments: str) -> JsonMembers:
            say(f"\n{meaning}\n{_shown(arguments)}")
            return run_json(arguments, environment, directory)

        told = _play(run, manifest, respondents, seed, say)
        if wait is not None:
            say(dashboard_of(server, directory, manifest.name))
            wait()
        return told


def dashboard_of(server: Server, directory: Path, survey: str) -> str:
    """Add a user to a running server, and return how to reach a survey's estimates in a browser."""
    password = secrets.token_urlsafe(12)
    file = directory / "password"
    file.touch(mode=0o600)
    file.write_text(password + "\n", encoding="utf-8")
    command = ("user", "add", "demo", "--role", "*=admin", "--password-file", file.name)
    run_command([*command, "--database-url", "sqlite:///hushpoll.sqlite"], directory)
    return (
        f"\nThe estimates in a browser, until you press Ctrl-C:\n"
        f"  {server.url}/dashboard/surveys/{survey}/versions/1/estimates\n"
        f"  name demo, password {password}"
    )


def _play(
    run: Callable[..., dict[str, Any]],
    manifest: Manifest,
    respondents: int,
    seed: int,
    say: Callable[[str], None],
) -> dict[str, Any]:
    name = manifest.name
    published = run("Publish the survey; devices pin its digest:", "survey", "publish", DEMO_FILE)
    say(f"  digest {published['digest']}")
    account = run(
        "Let people answer: each pins the survey, randomises its answers once, and sends them:",
        *("simulate", "--manifest", DEMO_FILE, "--respondents", str(respondents)),
        *("--seed", str(seed), "--write-answers", "answers.csv"),
    )
    say(
        f"  {account['accepted']} of {account['respondents']} reports accepted, "
        f"{account['reports_per_second']:.0f} per second"
    )
    estimates = run("Estimate the population's shares from the records:", "estimate", name)
    comparisons = _compare(manifest, estimates)
    say(estimates_table(SHOWN, comparisons))
    run("Take the records out for training:", "export", name, "--out", "survey.records")
    run(
        "Draw other people, who agreed to give their answers in clear, to test on:",
        *("simulate", "--manifest", DEMO_FILE, "--respondents", str(PANEL)),
        *("--seed", str(seed + 1), "--dry-run", "--write-answers", "panel.csv"),
    )
    training = run(
        "Train on the records, and on the same people's true answers, which only a simulation has:",
        *("train", "--records", "survey.records", "--panel", "panel.csv"),
        *("--baseline", "answers.csv", "--out", "model", "--seed", str(seed)),
    )
    say(training_table(training["baseline"], training["ldp"], PANEL))
    return {"account": account, "estimates": comparisons, "training": training}


def _compare(manifest: Manifest, estimates: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    population = Population.from_manifest(manifest)
    perturbed = {attribute.name for attribute in manifest.attributes if attribute.perturbed}
    comparisons: dict[str, list[dict[str, Any]]] = {}
    for attribute in estimates["attributes"]:
        truth = population.joint(attribute["name"])
        if attribute["name"] in perturbed and truth is not None:
            comparisons[attribute["name"]] = [
                comparison(row, share)
                for row, share in zip(attribute["categories"], truth.tolist(), strict=True)
            ]
    return comparisons


def _shown(arguments: Sequence[str]) -> str:
    json = () if arguments[0] == "serve" else ("--json",)
    return f"$ hushpoll {shlex.join([*arguments, *json])}"


_FAIRNESS: Final = {
    name: f"{name}: {metric.title}, fair at {metric.fair:g}"
    for name, metric in METRICS.items()
    if metric.in_results
}


def comparison(row: Mapping[str, Any], truth: float) -> dict[str, Any]:
    """Return a category's exact share of the population beside its estimate and 95 % interval."""
    return {
        "category": row["category"],
        "truth": truth,
        "estimate": row["frequency"],
        "lower": row["lower"],
        "upper": row["upper"],
        "covered": row["lower"] <= truth <= row["upper"],
    }


def estimates_table(shown: str, comparisons: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Lay out one attribute's comparisons, and count the intervals that cover, of it and of all."""
    table = _table(
        f"{shown}: the truth, and what the randomised records say",
        ("category", "truth", "estimate", "95 % interval", "covers"),
    )
    for row in comparisons[shown]:
        table.add_row(
            row["category"],
            f"{row['truth']:.3f}",
            f"{row['estimate']:.3f}",
            f"{row['lower']:.3f} to {row['upper']:.3f}",
            "yes" if row["covered"] else "no",
        )
    every = [row for rows in comparisons.values() for row in rows]
    return rendered(
        table,
        f"{_covering(comparisons[shown])} intervals cover the truth. Over all "
        f"{len(comparisons)} randomised attributes it is {_covering(every)}; 95 of 100 are "
        "expected.",
    )


def training_table(without: JsonObject, with_ldp: JsonObject, people: object) -> str:
    """Lay out utility and fairness of a model trained without and with LDP.

    A metric is a number, or says why there is none.
    """
    table = _table(
        f"A model of income, tested on {people} people in clear",
        ("metric", "without LDP", "with LDP"),
    )
    for labels in (UTILITY_LABELS, _FAIRNESS):
        for name, label in labels.items():
            table.add_row(label, _number(without.get(name)), _number(with_ldp.get(name)))
        table.add_section()
    return rendered(table)


def _table(title: str, headings: Sequence[str]) -> Table:
    table = Table(title=title)
    for column, heading in enumerate(headings):
        table.add_column(heading, justify="right" if column else "left", no_wrap=column > 0)
    return table


def _covering(rows: Sequence[Mapping[str, Any]]) -> str:
    return f"{sum(row['covered'] for row in rows)} of {len(rows)}"


def _number(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, int | float) else "undefined"
