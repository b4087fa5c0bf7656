"""Root of the ``hushpoll`` command, the one place that knows both sides.

A command is a row of `COMMANDS`, and its module is imported when it is called: the command line of
a device does not load a server. The base install has this module and no click, and says so. Most
rows lead into another distribution, which says what to install where it is missing.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from hushpoll_protocols.errors import MissingExtra


@dataclass(frozen=True, slots=True)
class Row:
    """One command.

    Attributes
    ----------
    target : str
        ``"module:attribute"`` of the click command.
    extra : str
        What brings the module and what it imports, in the terms of
        :class:`hushpoll_protocols.errors.MissingExtra`.
    summary : str
        One line for ``hushpoll --help``, which imports none of the modules.
    instead : mapping of str to Row
        Options that another command of the same name has: where one is given, that row is called.
    """

    target: str
    extra: str
    summary: str
    instead: Mapping[str, Row] = field(default_factory=dict)


_FAIRNESS_OF_FILES: Final = Row(
    "hushpoll_training.cli.fairness:fairness",
    "train",
    "Estimate group fairness from a file, of records alone or of predictions in clear.",
)

COMMANDS: Final[dict[str, Row]] = {
    "answer": Row("hushpoll_client.cli.answer:answer", "cli", "Answer a survey in this terminal."),
    "audit": Row(
        "hushpoll_fleet.cli.audit:command",
        "train",
        "Measure from outside what the SDKs on this machine spend.",
    ),
    "data": Row(
        "hushpoll_training.cli.data:data",
        "train",
        "Get the paper's data sets, cleaned as the paper did.",
    ),
    "card": Row(
        "hushpoll_training.cli.card:card", "train", "Make the card of a model that train saved."
    ),
    "demo": Row(
        "hushpoll_fleet.cli.demo:demo",
        "train",
        "Play a whole survey on this machine, from publishing to a fairness table.",
    ),
    "estimate": Row(
        "hushpoll_client.cli.results:estimate",
        "cli",
        "Show estimates and intervals of every attribute.",
    ),
    "experiment": Row(
        "hushpoll_training.cli.experiment:experiment",
        "train",
        "Rerun the paper's experiments, and draw their figures.",
    ),
    "export": Row(
        "hushpoll_client.cli.results:export", "cli", "Save a survey's records to a file."
    ),
    "fairness": Row(
        "hushpoll_client.cli.fairness:fairness",
        "cli",
        "Estimate group fairness, of a survey, from records alone or of predictions in clear.",
        dict.fromkeys(("--records", "--predictions", "--model"), _FAIRNESS_OF_FILES),
    ),
    "migrate": Row(
        "hushpoll_server.cli.migrate:migrate",
        "server",
        "Bring the server's database to this program's schema version.",
    ),
    "job": Row(
        "hushpoll_client.cli.jobs:job",
        "cli",
        "Let the server's workers fold, export, train or audit, and fetch what they made.",
    ),
    "ledger": Row(
        "hushpoll_client.cli.ledger:ledger",
        "cli",
        "Show, export, send or withdraw what this device has answered.",
    ),
    "plan": Row(
        "hushpoll_analysis.cli.plan:plan_command",
        "server",
        "Compare protocols and splits for a draft, before anybody answers.",
    ),
    "predict": Row(
        "hushpoll_training.cli.train:predict", "train", "Predict with a model that train saved."
    ),
    "serve": Row("hushpoll_server.cli.serve:serve", "server", "Run the collecting server."),
    "simulate": Row(
        "hushpoll_fleet.cli.simulate:simulate",
        "server",
        "Play respondents from a file or a population.",
    ),
    "submit": Row(
        "hushpoll_fleet.cli.submit:submit",
        "server",
        "Upload reports that simulate --to-file wrote.",
    ),
    "survey": Row(
        "hushpoll_client.cli.surveys:survey", "cli", "Publish, show, list and close surveys."
    ),
    "token": Row(
        "hushpoll_client.cli.tokens:token", "cli", "Issue, list, rotate and revoke tokens."
    ),
    "train": Row(
        "hushpoll_training.cli.train:train", "train", "Train on records and measure the fairness."
    ),
    "tune": Row(
        "hushpoll_training.cli.tune:tune_command",
        "train",
        "Search the learner's parameters, on folds of the training rows.",
    ),
    "worker": Row("hushpoll_server.cli.worker:worker", "server", "Fold, and run background jobs."),
}
"""Every command by name."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit.

    Parameters
    ----------
    arguments : sequence of str or None
        Arguments after the program's name; those of the process by default.

    Raises
    ------
    SystemExit
        Always; with 0 done, 1 refused or failed, 2 usage, 3 an extra is missing, 4 network.
    """
    try:
        from hushpoll_client.cli.command_group import run
    except MissingExtra as error:
        sys.stderr.write(f"Error: {error}\n")
        raise SystemExit(3) from None
    raise SystemExit(run(arguments))
