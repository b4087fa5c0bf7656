"""``hushpoll token``: API tokens, of analysts and programs."""

from __future__ import annotations

import click

from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_client.cli.options import Output, analyst_command
from hushpoll_shared.cli.terminal import CommandGroup
from hushpoll_shared.wire.documents.administration import (
    RotateDocument,
    TokenDocument,
    TokenSummary,
)

# The server knows the scopes; a check here would refuse those of a newer server.
_SCOPES = "submit, publish, read, train, admin"

_expires_option = click.option(
    "--expires-in",
    type=click.IntRange(min=1),
    metavar="SECONDS",
    help="After this the new token is refused.",
)


@click.group(cls=CommandGroup)
def token() -> None:
    """Issue, list, rotate and revoke API tokens; all of it needs one of scope admin.

    Respondents' single-use tokens are issued by hushpoll survey issue-tokens.
    """


@token.command()
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    required=True,
    help=f"What it allows, out of {_SCOPES}; may be repeated.",
)
@click.option("--label", default="", help="What it is for.")
@click.option(
    "--survey",
    "surveys",
    multiple=True,
    metavar="NAME",
    help="A survey that it is for; may be repeated. Every survey by default.",
)
@_expires_option
@analyst_command
def issue(
    client: AnalystClient,
    scopes: tuple[str, ...],
    label: str,
    surveys: tuple[str, ...],
    expires_in: int | None,
) -> Output:
    """Issue a token and print it: it is shown this once."""
    answer = client.issue_token(scopes, label=label, expires_in=expires_in, surveys=surveys or None)
    return answer, _issued


@token.command("list")
@analyst_command
def list_tokens(client: AnalystClient) -> Output:
    """List all tokens, without their secrets, which the server does not have."""
    return {"tokens": client.tokens()}, lambda answer: "\n".join(map(_listed, answer["tokens"]))


@token.command()
@click.argument("token_id", metavar="ID")
@click.option(
    "--overlap",
    type=click.IntRange(min=0),
    metavar="SECONDS",
    help="For how long the old token stays valid; a day by default.",
)
@_expires_option
@analyst_command
def rotate(
    client: AnalystClient, token_id: str, overlap: int | None, expires_in: int | None
) -> Output:
    """Replace the token ID by a new one with the same scopes and label.

    ID is the token's public id, its middle part: hp_ID_secret.
    """
    answer = client.rotate_token(token_id, overlap_seconds=overlap, expires_in=expires_in)
    return answer, _rotated


@token.command()
@click.argument("token_id", metavar="ID")
@analyst_command
def revoke(client: AnalystClient, token_id: str) -> Output:
    """Refuse the token ID from now on."""
    client.revoke_token(token_id)
    return {"id": token_id, "state": "revoked"}, f"{token_id} is revoked"


def _issued(answer: TokenDocument) -> str:
    lines = [f"token: {answer.get('token')}", f"id: {answer.get('id')}"]
    if answer.get("expires_at"):
        lines.append(f"expires at: {answer['expires_at']}")
    return "\n".join(lines)


def _rotated(answer: RotateDocument) -> str:
    until = answer.get("replaced_until")
    return f"{_issued(answer)}\n{answer.get('replaces')} is valid until {until}"


def _listed(entry: TokenSummary) -> str:
    line = f"{entry.get('id')}  {entry.get('state')}  {','.join(entry.get('scopes', []))}"
    surveys = entry.get("surveys")
    if surveys:
        line += f"  for {','.join(surveys)}"
    line += f"  last used {entry.get('last_used') or 'never'}"
    if entry.get("expires_at"):
        line += f"  until {entry['expires_at']}"
    if entry.get("replaced_by"):
        line += f"  replaced by {entry['replaced_by']}"
    return f"{line}  {entry.get('label')}".rstrip()
