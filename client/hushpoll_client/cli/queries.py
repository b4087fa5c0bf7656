"""The commands that ask a server a query, one for each query."""

from __future__ import annotations

from typing import Any

import click

from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_client.cli.options import statistic_command
from hushpoll_shared.cli.given_labels import with_labels
from hushpoll_shared.cli.statistic_commands import statistic_of
from hushpoll_shared.querying.registry import query_named
from hushpoll_shared.spelling.json_values import JsonMembers


def asking(name: str) -> click.Command:
    """Return the command that asks a server the query of a name."""
    query = query_named(name)

    def ask(client: AnalystClient, name: str, version: int, **asked: Any) -> JsonMembers:
        before = asked.get("since_survey") or name, asked.get("since_version", version)
        given = with_labels(
            query, asked, lambda: client.show(name, version), lambda: client.show(*before)
        )
        return client.ask_json(name, version, query.read(given))

    ask.__doc__ = query.__doc__
    return click.command()(statistic_command(statistic_of(query, on_file=False))(ask))
