"""Every command that prints a result writes its table, too, or is named here with the reason."""

from __future__ import annotations

from collections.abc import Iterator

import click

from hushpoll_client.cli.command_group import hushpoll

# By command, or by the group of commands.
WITHOUT = {
    "answer": "asks the questions of a survey",
    "card": "writes a page",
    "codebook": "writes a page, or its Markdown or JSON",
    "data": "writes the codes of a data set; --out is their CSV file",
    "demo": "tells a story; each of its commands has --out",
    "draft": "drafts are documents",
    "experiment configs": "lists files",
    "experiment plot": "writes figures",
    "experiment run": "--out is a folder, which holds all results as CSV and Parquet",
    "experiment table": "writes a page, and its tables as CSV",
    "experiment trust": "writes a figure and a page",
    "export": "--out is the file of records, which may be CSV",
    "fairness delete": "deletes an audit",
    "fairness list": "lists audits, of which fairness survey writes the table",
    "job": "job result writes the table that the ending of --out asks for",
    "ledger": "a device's own notes",
    "manifest": "checks a document",
    "migrate": "changes a database",
    "model": "models, whose numbers are in the card",
    "page-digest": "prints a digest",
    "privacy-sheet": "writes a page",
    "predict": "prints CSV; --out is the file of it",
    "regress delete": "deletes a regression",
    "regress list": "lists regressions, of which regress survey writes the table",
    "report": "writes a page, which has its tables as files",
    "results list": "pages that were published",
    "results publish": "publishes a page, which has its tables as files",
    "results withdraw": "takes a page back",
    "serve": "serves",
    "simulate": "sends reports",
    "submit": "sends reports",
    "survey": "surveys are documents",
    "token": "tokens",
    "train": "--out is a folder, whose record has all numbers as JSON",
    "tune": "--out is a folder, which holds the parameters as JSON and all trials as a study",
    "user": "users",
    "worker": "serves",
}


def commands(group: click.Group, path: str = "") -> Iterator[tuple[str, click.Command]]:
    """Yield all commands, by what is typed."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        typed = f"{path} {name}".strip()
        if isinstance(command, click.Group):
            yield from commands(command, typed)
        else:
            yield typed, command


def writes_tables(command: click.Command) -> bool:
    """Whether ``--out`` of a command takes a file of a table."""
    return any(
        "--out" in option.opts and ".csv" in str(option.help) and ".xlsx" in str(option.help)
        for option in command.params
        if isinstance(option, click.Option)
    )


def test_each_command_that_prints_a_table_writes_it_into_a_file() -> None:
    every = dict(commands(hushpoll))
    without = {name for name, command in every.items() if not writes_tables(command)}
    excepted = {name for name in every if {name, name.partition(" ")[0]} & WITHOUT.keys()}
    assert without - excepted == set()


def test_no_exception_is_out_of_date() -> None:
    every = dict(commands(hushpoll))
    for exception in WITHOUT:
        named = [
            command for name, command in every.items() if f"{name} ".startswith(f"{exception} ")
        ]
        assert named, exception
        assert exception == "job" or not any(map(writes_tables, named)), exception
