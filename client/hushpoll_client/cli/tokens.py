"""``hushpoll token``: bearer tokens of analysts and programs."""

from __future__ import annotations

from typing import Any

import click

from hushpoll_client.cli.options import analyst, authorized, token_option, url_option
from hushpoll_shared.cli.terminal import emit, emit_answer, json_option, reports_errors

# The server knows the scopes; a list here would only fall behind it.
_SCOPES = "submit, publish, read, train, admin"

expires_option = click.option(
    "--expires-in",
    type=click.IntRange(min=1),
    metavar="SECONDS",
    help="After this the new token is refused.",
)


@click.group()
def token() -> None:
    """Issue, list, rotate and revoke bearer tokens; all of it needs a token of scope admin."""


@token.command()
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    required=True,
    help=f"What it allows, out of {_SCOPES}; may be repeated.",
)
@click.option("--label", default="", help="What it is for.")
@expires_option
@url_option
@token_option
@json_option
@reports_errors
def issue(
    scopes: tuple[str, ...],
    label: str,
    expires_in: int | None,
    url: str,
    token: str | None,
    as_json: bool,
) -> None:
    """Issue a token and print it: it is shown this once."""
    with analyst(url, authorized(token)) as client:
        answer = client.issue_token(scopes, label=label, expires_in=expires_in)
    emit_answer(answer, _issued, as_json=as_json)


@token.command("list")
@url_option
@token_option
@json_option
@reports_errors
def list_tokens(url: str, token: str | None, as_json: bool) -> None:
    """List all tokens, without their secrets, which the server does not have."""
    with analyst(url, authorized(token)) as client:
        found = client.tokens()
    emit_answer(
        {"tokens": found},
        lambda answer: "\n".join(map(_listed, answer["tokens"])),
        as_json=as_json,
    )


@token.command()
@click.argument("token_id", metavar="ID")
@click.option(
    "--overlap",
    type=click.IntRange(min=0),
    metavar="SECONDS",
    help="For how long the old token stays valid; a day by default.",
)
@expires_option
@url_option
@token_option
@json_option
@reports_errors
def rotate(
    token_id: str,
    overlap: int | None,
    expires_in: int | None,
    url: str,
    token: str | None,
    as_json: bool,
) -> None:
    """Replace the token ID by a new one with the same scopes and label.

    ID is the token's public id, its middle part: hp_ID_secret.
    """
    with analyst(url, authorized(token)) as client:
        answer = client.rotate_token(token_id, overlap_seconds=overlap, expires_in=expires_in)
    emit_answer(answer, _rotated, as_json=as_json)


@token.command()
@click.argument("token_id", metavar="ID")
@url_option
@token_option
@json_option
@reports_errors
def revoke(token_id: str, url: str, token: str | None, as_json: bool) -> None:
    """Refuse the token ID from now on."""
    with analyst(url, authorized(token)) as client:
        client.revoke_token(token_id)
    emit({"id": token_id, "state": "revoked"}, f"{token_id} is revoked", as_json=as_json)


def _issued(answer: dict[str, Any]) -> str:
    lines = [f"token: {answer.get('token')}", f"id: {answer.get('id')}"]
    if answer.get("expires_at"):
        lines.append(f"expires at: {answer['expires_at']}")
    return "\n".join(lines)


def _rotated(answer: dict[str, Any]) -> str:
    until = answer.get("replaced_until")
    return f"{_issued(answer)}\n{answer.get('replaces')} is valid until {until}"


def _listed(entry: dict[str, Any]) -> str:
    line = f"{entry.get('id')}  {entry.get('state')}  {','.join(entry.get('scopes', []))}"
    if entry.get("expires_at"):
        line += f"  until {entry['expires_at']}"
    if entry.get("replaced_by"):
        line += f"  replaced by {entry['replaced_by']}"
    return f"{line}  {entry.get('label')}".rstrip()
