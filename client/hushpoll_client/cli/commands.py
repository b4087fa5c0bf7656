"""The table of all commands of ``hushpoll``: where each one is, and what it needs.

Each row names a module, which is imported when its command is called, so that the command line of a
device does not load a server. Many rows lead into the other distribution. This module needs no
click, which the base install does not have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final


@dataclass(frozen=True, slots=True)
class Row:
    """One command."""

    target: str
    """``"module:attribute"`` of the click command, or of what makes one of a query's name."""

    extra: str
    """What brings the module and what it imports, as `MissingExtra` has it."""

    summary: str
    """One line for ``hushpoll --help``, which imports none of the modules."""

    opening: Mapping[str, str] = field(default_factory=dict)
    """By the second word: what the command says it does, before the module is imported."""

    query: str | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """Several commands under one name."""

    summary: str
    commands: Mapping[str, Row] = field(default_factory=dict)
    otherwise: str | None = None
    """The command that is meant where the second word is none of them."""

    of_queries: bool = False
    """Whether queries have commands in it, which are added as it is first looked at."""


def _rows(package: str, extra: str, commands: Mapping[str, tuple[str, str]]) -> dict[str, Row]:
    """Return rows by name of a command's `(module:attribute, summary)` in a package."""
    return {
        name: Row(f"{package}.{target}", extra, summary, _OPENING.get(name, {}))
        for name, (target, summary) in commands.items()
    }


_GROUPS: Final[Mapping[str, Group]] = {
    "draft": Group("Keep a manifest on a server while it is written."),
    "fairness": Group("Estimate group fairness, from records or from predictions."),
    "manifest": Group("Check the manifest of a survey; print its JSON Schema."),
    "records": Group("Compute statistics of an exported file, on this machine.", of_queries=True),
    "regress": Group("Say on which answers another one depends: regressions.", otherwise="survey"),
    "relate": Group("Compare groups, relate questions, and show changes.", of_queries=True),
    "results": Group("Show all results as one table; publish and withdraw results."),
    "user": Group("Add and remove people who sign in, and give them roles."),
}

_OF_CLIENT: Final = {
    "answer": ("answer:answer", "Answer a survey in this terminal."),
    "codebook": ("sheets:codebook", "Write each question, how it was sent, and its shares."),
    "draft import": (
        "drafts:import_draft",
        "Make a draft of an XLSForm or of a survey of SurveyJS.",
    ),
    "draft begin": ("drafts:begin", "Begin the next version of a published survey."),
    "draft check": (
        "drafts:check",
        "Name all faults for which the server would refuse a manifest.",
    ),
    "draft delete": ("drafts:delete", "Delete a draft for good."),
    "draft image": ("drafts:image", "Keep an image on the server for the logo of a survey."),
    "draft list": ("drafts:list_drafts", "List the drafts that the server keeps."),
    "draft publish": ("drafts:publish", "Publish a draft."),
    "draft save": ("drafts:save", "Keep a manifest as a draft, or change one."),
    "draft show": ("drafts:show", "Show a draft with its manifest."),
    "estimate": ("results:estimate", "Show estimates and intervals of every attribute."),
    "export": ("results:export", "Save a survey's records to a file."),
    "fairness survey": ("kept_results:audit_survey", "Let the server audit a collected survey."),
    "fairness list": ("kept_results:list_audits", "List the audits that a server keeps."),
    "fairness delete": ("kept_results:delete_audit", "Delete an audit that a server keeps."),
    "job": ("jobs:job", "Let the server's workers do a job, and fetch the result."),
    "ledger": ("ledger:ledger", "Show, export, send or withdraw what this device has answered."),
    "model": (
        "kept_results:model",
        "List, show, fetch and delete models that a server has trained.",
    ),
    "regress survey": (
        "kept_results:regress_survey",
        "Let a worker fit one to the records of a survey; the word survey may be left out.",
    ),
    "regress list": ("kept_results:list_regressions", "List the regressions that a server keeps."),
    "regress delete": (
        "kept_results:delete_regression",
        "Delete a regression that a server keeps.",
    ),
    "relate all": (
        "queries:dependencies",
        "Test all pairs of attributes for independence, with few false discoveries.",
    ),
    "relate table": (
        "queries:table",
        "Let a worker make the joint table of two or three attributes.",
    ),
    "page-digest": (
        "page_digest:page_digest",
        "Tell whether a hosted page runs the scripts of a release.",
    ),
    "privacy-sheet": (
        "sheets:privacy_sheet",
        "Write two pages on a survey's privacy, to hand to a board.",
    ),
    "report": ("reports:report", "Write a survey's results to one file to print."),
    "results table": ("results:tidy_results", "Show results as one table, a row an estimate."),
    "results list": ("reports:list_publications", "List what was published of a survey."),
    "results publish": ("reports:publish", "Let everybody read chosen results, without sign-in."),
    "results withdraw": ("reports:withdraw", "Take published results back."),
    "survey": ("surveys:survey", "Publish, show, list and close surveys, and invite people."),
    "token": ("tokens:token", "Issue, list, rotate and revoke API tokens."),
    "weight": ("queries:weight", "Weight shares by strata, margins or weights of the population."),
}
_OF_SHARED: Final = {
    "manifest check": (
        "manifest_commands:check",
        "Check that a manifest could be published, and print its digest.",
    ),
    "manifest schema": (
        "manifest_commands:schema",
        "Print the JSON Schema of a manifest, for an editor.",
    ),
}
_OF_ANALYSIS: Final = {
    "plan": ("plan:plan_command", "Say what a survey could tell, before anybody answers."),
    "records estimate": ("records:estimate", "Show estimates and intervals of every attribute."),
    "records results": ("records:results", "Show results as one table, a row an estimate."),
    "records table": ("records:table", "Show the joint table of two or three attributes."),
    "records weight": (
        "weighting:weight",
        "Weight shares by strata, margins or weights of the population.",
    ),
    "records regress": (
        "regress:of_records",
        "Fit a regression of one attribute on others, perturbed or in clear.",
    ),
    "regress data": (
        "regress:data",
        "Fit one to a table of your own whose columns were randomised by a known law.",
    ),
}
_OF_SERVER: Final = {
    "migrate": ("migrate:migrate", "Bring the server's database to this program's schema version."),
    "serve": ("serve:serve", "Run the collecting server."),
    "user add": ("user:add", "Add a user."),
    "user list": ("user:list_users", "List all users with their roles."),
    "user password": ("user:password", "Give a user another password."),
    "user remove": ("user:remove", "Remove a user, and end every session of theirs."),
    "user role": ("user:role", "Give a user a role in a survey, or take it away."),
    "worker": ("worker:worker", "Seal, and run background jobs."),
}
_OF_FLEET: Final = {
    "simulate": ("simulate:simulate", "Play respondents from a file or a population."),
    "submit": ("submit:submit", "Upload reports that simulate --to-file wrote."),
}
_OF_FLEET_THAT_TRAINS: Final = {
    "audit": ("audit:command", "Measure from outside what the SDKs on this machine spend."),
    "demo": ("demo:demo", "Play a whole survey on this machine, with simulated people."),
}
_OF_TRAINING: Final = {
    "card": ("card:card", "Make the card of a model that train saved."),
    "fairness records": (
        "fairness:records",
        "Audit models that are cross-fitted to exported records.",
    ),
    "fairness model": (
        "fairness:model",
        "Audit a saved model on exported records that it has not seen.",
    ),
    "fairness predictions": (
        "fairness:predictions",
        "Compare groups by predictions on rows in clear.",
    ),
    "predict": ("train:predict", "Predict with a model that train saved."),
    "train": ("train:train", "Train on records and measure the fairness."),
    "tune": (
        "tune:tune_command",
        "Search the learner's parameters, on folds of the training rows.",
    ),
}
_OF_LAB: Final = {
    "data": ("data:data", "Get the paper's data sets, cleaned as the paper did."),
    "experiment": (
        "experiment:experiment",
        "Rerun the paper's experiments, and draw their figures.",
    ),
    "fairness certificate": (
        "certificate:certificate",
        "Bound how fair a private linear model would be without its noise.",
    ),
}
_OPENING: Final = {
    "experiment": {
        "run": "This trains every cell of the grid that --out does not have yet. First the "
        "learners are loaded, which takes a few seconds."
    }
}

_ROWS: Final = {
    **_rows("hushpoll_client.cli", "cli", _OF_CLIENT),
    **_rows("hushpoll_shared.cli", "cli", _OF_SHARED),
    **_rows("hushpoll_analysis.cli", "server", _OF_ANALYSIS),
    **_rows("hushpoll_server.cli", "server", _OF_SERVER),
    **_rows("hushpoll_fleet.cli", "server", _OF_FLEET),
    **_rows("hushpoll_fleet.cli", "train", _OF_FLEET_THAT_TRAINS),
    **_rows("hushpoll_training.cli", "train", _OF_TRAINING),
    **_rows("hushpoll_lab.cli", "lab", _OF_LAB),
}
"""By the whole name of each command that no query declares."""


def _query_rows() -> dict[str, Row]:
    """Return the rows of each query: of a server, and of a file of records."""
    # A command that is none of theirs need not wait for the dataclasses of all results.
    from hushpoll_shared.querying.registry import all_queries

    rows = {}
    for query in all_queries().values():
        row = Row("hushpoll_client.cli.queries:command_of", "cli", query.summary, query=query.name)
        if "server" not in query.own_command:
            rows[query.command] = row
        if "file" not in query.own_command:
            on_file = replace(row, target="hushpoll_analysis.cli.queries:computing", extra="server")
            rows[f"records {query.command.rpartition(' ')[2]}"] = on_file
    return rows


def _grouped(rows: Mapping[str, Row]) -> dict[str, Row | Group]:
    """Return the rows by their first word, those of a group within it."""
    commands: dict[str, Row | Group] = {}
    for name, row in rows.items():
        first, _, second = name.rpartition(" ")
        group = commands.get(first) or _GROUPS.get(first)
        if isinstance(group, Group):
            commands[first] = replace(group, commands={**group.commands, second: row})
        else:
            commands[second] = row
    return dict(sorted(commands.items()))


_WITHOUT_QUERIES: Final = _grouped(_ROWS)


class Commands(Mapping[str, Row | Group]):
    """Every command by name; the queries are loaded as soon as one of theirs can be meant."""

    def __getitem__(self, name: str) -> Row | Group:
        command = _WITHOUT_QUERIES.get(name)
        if command is None or (isinstance(command, Group) and command.of_queries):
            return self._all[name]
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    @cached_property
    def _all(self) -> dict[str, Row | Group]:
        return _grouped({**_ROWS, **_query_rows()})


COMMANDS: Final = Commands()
"""Every command by name."""

SECTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "Write and run a survey": ("plan", "manifest", "draft", "survey", "privacy-sheet"),
    "Answer a survey": ("answer", "ledger", "page-digest"),
    "Read results": (
        *("estimate", "answered", "ordered", "cross-table", "relate", "regress", "weight"),
        *("results", "report", "codebook", "export", "records"),
    ),
    "Fairness and models": ("fairness", "train", "tune", "predict", "card", "model"),
    "Run a server": ("serve", "worker", "user", "token", "job", "migrate"),
    "Try it, and do research": ("demo", "simulate", "submit", "audit", "data", "experiment"),
}
"""All commands once, by what a person wants to do: the sections of ``hushpoll --help``."""
