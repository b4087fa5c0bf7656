"""The table of all commands of ``hushpoll``: where each one is, and what it needs.

Each row names a module, which is imported when its command is called, so that the command line of a
device does not load a server. Many rows lead into the other distribution. This module needs no
click, which the base install does not have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field, replace
from typing import Final


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
    opening : mapping of str to str
        By the second word of the command: what it says it does, before the module is imported.
    query : str or None
        Name of the query that the function at `target` makes the command of.
    """

    target: str
    extra: str
    summary: str
    opening: Mapping[str, str] = field(default_factory=dict)
    query: str | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """Several commands under one name.

    Attributes
    ----------
    summary : str
        One line for ``hushpoll --help``.
    commands : mapping of str to Row
        By the second word of the command.
    otherwise : str or None
        The command that is meant where the second word is none of them.
    of_queries : bool
        Whether queries have commands in it, which are added as it is first looked at.
    """

    summary: str
    commands: Mapping[str, Row]
    otherwise: str | None = None
    of_queries: bool = False


_BY_HAND: Final[dict[str, Row | Group]] = {
    "answer": Row("hushpoll_client.cli.answer:answer", "cli", "Answer a survey in this terminal."),
    "audit": Row(
        "hushpoll_fleet.cli.audit:command",
        "train",
        "Measure from outside what the SDKs on this machine spend.",
    ),
    "data": Row(
        "hushpoll_lab.cli.data:data",
        "lab",
        "Get the paper's data sets, cleaned as the paper did.",
    ),
    "codebook": Row(
        "hushpoll_client.cli.reporting.codebook:codebook",
        "cli",
        "Write each question, how it was sent, and its shares.",
    ),
    "card": Row(
        "hushpoll_training.cli.card:card", "train", "Make the card of a model that train saved."
    ),
    "demo": Row(
        "hushpoll_fleet.cli.demo:demo",
        "train",
        "Play a whole survey on this machine, with simulated people.",
    ),
    "draft": Group(
        "Keep a manifest on a server while it is written.",
        {
            "import": Row(
                "hushpoll_client.cli.drafting.importing:import_draft",
                "cli",
                "Make a draft of an XLSForm or of a survey of SurveyJS.",
            )
        }
        | {
            name: Row(f"hushpoll_client.cli.drafting.drafts:{attribute}", "cli", summary)
            for name, attribute, summary in (
                ("begin", "begin", "Begin the next version of a published survey."),
                ("check", "check", "Name all faults for which the server would refuse a manifest."),
                ("delete", "delete", "Delete a draft for good."),
                ("image", "image", "Keep an image on the server for the logo of a survey."),
                ("list", "list_drafts", "List the drafts that the server keeps."),
                ("publish", "publish", "Publish a draft."),
                ("save", "save", "Keep a manifest as a draft, or change one."),
                ("show", "show", "Show a draft with its manifest."),
            )
        },
    ),
    "estimate": Row(
        "hushpoll_client.cli.results:estimate",
        "cli",
        "Show estimates and intervals of every attribute.",
    ),
    "experiment": Row(
        "hushpoll_lab.cli.experiment:experiment",
        "lab",
        "Rerun the paper's experiments, and draw their figures.",
        {
            "run": "This trains every cell of the grid that --out does not have yet. First the "
            "learners are loaded, which takes a few seconds."
        },
    ),
    "export": Row(
        "hushpoll_client.cli.results:export", "cli", "Save a survey's records to a file."
    ),
    "fairness": Group(
        "Estimate group fairness, from records or from predictions.",
        {
            "survey": Row(
                "hushpoll_client.cli.fairness:survey",
                "cli",
                "Let the server audit a collected survey.",
            ),
            "list": Row(
                "hushpoll_client.cli.fairness:list_audits",
                "cli",
                "List the audits that a server keeps.",
            ),
            "delete": Row(
                "hushpoll_client.cli.fairness:delete_audit",
                "cli",
                "Delete an audit that a server keeps.",
            ),
            "records": Row(
                "hushpoll_training.cli.fairness:records",
                "train",
                "Audit models that are cross-fitted to exported records.",
            ),
            "model": Row(
                "hushpoll_training.cli.fairness:model",
                "train",
                "Audit a saved model on exported records that it has not seen.",
            ),
            "predictions": Row(
                "hushpoll_training.cli.fairness:predictions",
                "train",
                "Compare groups by predictions on rows in clear.",
            ),
            "certificate": Row(
                "hushpoll_lab.cli.certificate:certificate",
                "lab",
                "Bound how fair a private linear model would be without its noise.",
            ),
        },
    ),
    "manifest": Group(
        "Check the manifest of a survey; print its JSON Schema.",
        {
            "check": Row(
                "hushpoll_shared.cli.manifest_commands:check",
                "cli",
                "Check that a manifest could be published, and print its digest.",
            ),
            "schema": Row(
                "hushpoll_shared.cli.manifest_commands:schema",
                "cli",
                "Print the JSON Schema of a manifest, for an editor.",
            ),
        },
    ),
    "migrate": Row(
        "hushpoll_server.cli.migrate:migrate",
        "server",
        "Bring the server's database to this program's schema version.",
    ),
    "job": Row(
        "hushpoll_client.cli.jobs:job",
        "cli",
        "Let the server's workers do a job, and fetch the result.",
    ),
    "ledger": Row(
        "hushpoll_client.cli.ledger:ledger",
        "cli",
        "Show, export, send or withdraw what this device has answered.",
    ),
    "model": Row(
        "hushpoll_client.cli.models:model",
        "cli",
        "List, show, fetch and delete models that a server has trained.",
    ),
    "plan": Row(
        "hushpoll_analysis.cli.plan:plan_command",
        "server",
        "Say what a survey could tell, before anybody answers.",
    ),
    "predict": Row(
        "hushpoll_training.cli.train:predict", "train", "Predict with a model that train saved."
    ),
    "records": Group(
        "Compute statistics of an exported file, on this machine.",
        {
            name: Row(f"hushpoll_analysis.cli.records:{attribute}", "server", summary)
            for name, attribute, summary in (
                ("estimate", "estimate", "Show estimates and intervals of every attribute."),
                ("results", "results", "Show results as one table, a row an estimate."),
                ("table", "table", "Show the joint table of two or three attributes."),
            )
        }
        | {
            "weight": Row(
                "hushpoll_analysis.cli.weighting:weight",
                "server",
                "Weight shares by strata, margins or weights of the population.",
            ),
            "regress": Row(
                "hushpoll_analysis.cli.regress:of_records",
                "server",
                "Fit a regression of one attribute on others, perturbed or in clear.",
            ),
        },
        of_queries=True,
    ),
    "regress": Group(
        "Say on which answers another one depends: regressions.",
        {
            "data": Row(
                "hushpoll_analysis.cli.regress:data",
                "server",
                "Fit one to a table of your own whose columns were randomised by a known law.",
            ),
            "survey": Row(
                "hushpoll_client.cli.regressions:survey",
                "cli",
                "Let a worker fit one to the records of a survey; the word survey may be left out.",
            ),
            "list": Row(
                "hushpoll_client.cli.regressions:list_regressions",
                "cli",
                "List the regressions that a server keeps.",
            ),
            "delete": Row(
                "hushpoll_client.cli.regressions:delete_regression",
                "cli",
                "Delete a regression that a server keeps.",
            ),
        },
        otherwise="survey",
    ),
    "relate": Group(
        "Compare groups, relate questions, and show changes.",
        {
            "all": Row(
                "hushpoll_client.cli.relations:dependencies",
                "cli",
                "Test all pairs of attributes for independence, with few false discoveries.",
            ),
            "table": Row(
                "hushpoll_client.cli.relations:table",
                "cli",
                "Let a worker make the joint table of two or three attributes.",
            ),
        },
        of_queries=True,
    ),
    "page-digest": Row(
        "hushpoll_client.cli.page_digest:page_digest",
        "cli",
        "Tell whether a hosted page runs the scripts of a release.",
    ),
    "privacy-sheet": Row(
        "hushpoll_client.cli.reporting.privacy_sheet:privacy_sheet",
        "cli",
        "Write two pages on a survey's privacy, to hand to a board.",
    ),
    "report": Row(
        "hushpoll_client.cli.reporting.report:report",
        "cli",
        "Write a survey's results to one file to print.",
    ),
    "results": Group(
        "Show all results as one table; publish and withdraw results.",
        {
            "table": Row(
                "hushpoll_client.cli.results:tidy_results",
                "cli",
                "Show results as one table, a row an estimate.",
            )
        }
        | {
            name: Row(f"hushpoll_client.cli.reporting.public_results:{attribute}", "cli", summary)
            for name, attribute, summary in (
                ("list", "list_publications", "List what was published of a survey."),
                ("publish", "publish", "Let everybody read chosen results, without sign-in."),
                ("withdraw", "withdraw", "Take published results back."),
            )
        },
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
        "hushpoll_client.cli.surveys:survey",
        "cli",
        "Publish, show, list and close surveys, and invite people.",
    ),
    "token": Row(
        "hushpoll_client.cli.tokens:token", "cli", "Issue, list, rotate and revoke API tokens."
    ),
    "user": Group(
        "Add and remove people who sign in, and give them roles.",
        {
            name: Row(f"hushpoll_server.cli.user:{attribute}", "server", summary)
            for name, attribute, summary in (
                ("add", "add", "Add a user."),
                ("list", "list_users", "List all users with their roles."),
                ("password", "password", "Give a user another password."),
                ("remove", "remove", "Remove a user, and end every session of theirs."),
                ("role", "role", "Give a user a role in a survey, or take it away."),
            )
        },
    ),
    "train": Row(
        "hushpoll_training.cli.train:train", "train", "Train on records and measure the fairness."
    ),
    "tune": Row(
        "hushpoll_training.cli.tune:tune_command",
        "train",
        "Search the learner's parameters, on folds of the training rows.",
    ),
    "weight": Row(
        "hushpoll_client.cli.weighting:weight",
        "cli",
        "Weight shares by strata, margins or weights of the population.",
    ),
    "worker": Row("hushpoll_server.cli.worker:worker", "server", "Seal, and run background jobs."),
}


class Commands(MutableMapping[str, Row | Group]):
    """Every command by name; the queries are loaded as soon as one of theirs can be meant."""

    def __init__(self, by_hand: Mapping[str, Row | Group]) -> None:
        self._rows = dict(by_hand)
        self._whole = False

    def __getitem__(self, name: str) -> Row | Group:
        row = self._rows.get(name)
        if row is None or (isinstance(row, Group) and row.of_queries):
            return self._all()[name]
        return row

    def __setitem__(self, name: str, row: Row | Group) -> None:
        self._rows[name] = row

    def __delitem__(self, name: str) -> None:
        del self._rows[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def _all(self) -> dict[str, Row | Group]:
        if not self._whole:
            self._add_queries()
            self._whole = True
        return self._rows

    def _add_queries(self) -> None:
        """Add the commands of each query: of a server, and of a file of records."""
        # A command that is none of theirs need not wait for the dataclasses of all results.
        from hushpoll_shared.querying.registry import all_queries

        for query in all_queries().values():
            group, _, last = query.command.rpartition(" ")
            row = Row("hushpoll_client.cli.queries:asking", "cli", query.summary, query=query.name)
            on_file = replace(row, target="hushpoll_analysis.cli.queries:computing", extra="server")
            for where, place, one in (("server", group, row), ("file", "records", on_file)):
                if where in query.own_command:
                    continue
                within = self._rows.get(place)
                if isinstance(within, Group):
                    self._rows[place] = replace(within, commands={**within.commands, last: one})
                else:
                    self._rows[last] = one


COMMANDS: Final = Commands(_BY_HAND)
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
