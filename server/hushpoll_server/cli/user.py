"""The commands ``hushpoll user``: the people who sign in to the dashboard, and their roles.

They work on the server's database, with the server running or not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import click

from hushpoll_protocols.errors import InvalidParameter, MissingExtra
from hushpoll_shared.cli.terminal import reports_errors
from hushpoll_shared.reading.text_files import read_secret

try:
    from hushpoll_server.config.configuration import Configuration, configured
    from hushpoll_server.services.people.actions import Actions
    from hushpoll_server.services.people.roles import (
        EVERY_SURVEY,
        ORDER,
        check_published,
        parse_role,
    )
    from hushpoll_server.services.people.users import Member, Users
    from hushpoll_server.store import migrate
    from hushpoll_server.store.catalogue import SurveyStore
    from hushpoll_server.store.database import Database
    from hushpoll_server.store.users import ActionStore, UserStore
except ModuleNotFoundError as error:
    if error.name is None or error.name.startswith("hushpoll"):
        raise
    raise MissingExtra("server", "hushpoll user") from error

ACTOR = "command-line"

_role_option = click.option(
    "--role",
    "roles",
    multiple=True,
    metavar="SURVEY=ROLE",
    help=f"A role ({', '.join(ORDER)}) in a survey, {EVERY_SURVEY} for every survey; may be "
    "repeated.",
)
_password_option = click.option(
    "--password-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="File whose first line is the password; without it the command asks.",
)


@click.command()
@click.argument("name")
@_role_option
@_password_option
@click.option(
    "--oidc",
    is_flag=True,
    help="Add a user without a password, who signs in at the OpenID Connect provider of the "
    "settings oidc_*; NAME is what the provider tells (oidc_name_claim).",
)
@reports_errors
@partial(configured, used=("database_url",))
def add(
    configuration: Configuration,
    name: str,
    roles: tuple[str, ...],
    password_file: Path | None,
    oidc: bool,
) -> None:
    """Add the user NAME, who can then sign in at /dashboard/.

    A reader looks at results; an analyst also exports and asks for jobs; an editor also closes the
    survey; an admin also cancels jobs of others. An admin of every survey also manages users and
    API tokens.
    """
    if oidc and password_file is not None:
        raise InvalidParameter(
            "--oidc adds a user without a password, and --password-file gives one; leave one out",
            field="password_file",
        )
    wanted = _parsed(roles)
    with _opened(configuration, wanted) as (users, actions):
        member = users.add(name, None if oidc else _password(password_file), wanted)
        actions.record(ACTOR, "added-user", subject=member.name)
    click.echo(_line(member))


@click.command("list")
@reports_errors
@partial(configured, used=("database_url",))
def list_users(configuration: Configuration) -> None:
    """List all users with their roles."""
    with _opened(configuration) as (users, _):
        lines = [_line(member) for member in users.all()]
    click.echo("\n".join(lines) or "There is no user yet.")


@click.command()
@click.argument("name")
@reports_errors
@partial(configured, used=("database_url",))
def remove(configuration: Configuration, name: str) -> None:
    """Remove the user NAME, and end every session of theirs."""
    with _opened(configuration) as (users, actions):
        member = users.remove(name)
        actions.record(ACTOR, "removed-user", subject=member.name)
    click.echo(f"{member.name} is removed")


@click.command()
@click.argument("name")
@_password_option
@reports_errors
@partial(configured, used=("database_url",))
def password(configuration: Configuration, name: str, password_file: Path | None) -> None:
    """Give the user NAME another password, and end every session of theirs."""
    with _opened(configuration) as (users, actions):
        users.named(name)  # before anybody types a password
        member = users.set_password(name, _password(password_file))
        actions.record(ACTOR, "changed-password", subject=member.name)
    click.echo(f"{member.name} has another password")


@click.command()
@click.argument("name")
@click.argument("survey")
@click.argument("role_name", metavar="ROLE", type=click.Choice([*ORDER, "none"]))
@reports_errors
@partial(configured, used=("database_url",))
def role(configuration: Configuration, name: str, survey: str, role_name: str) -> None:
    """Give the user NAME a ROLE in SURVEY (* is every survey); none takes it away."""
    # A role in a survey that is gone can still be taken away.
    wanted = {} if role_name == "none" else {survey: role_name}
    with _opened(configuration, wanted) as (users, actions):
        member = users.set_role(name, survey, wanted.get(survey))
        actions.record(ACTOR, f"gave-role-{role_name}", survey=survey, subject=member.name)
    click.echo(_line(member))


@contextmanager
def _opened(
    configuration: Configuration, roles: Mapping[str, str] | None = None
) -> Iterator[tuple[Users, Actions]]:
    settings = configuration.settings
    database = Database(settings.database_url, pool_size=1)
    try:
        migrate.upgrade(database)
        clock = settings.clock
        for survey, role_name in (roles or {}).items():
            # Before anybody types a password.
            parse_role(survey, role_name)
            check_published(survey, {row.name for row in SurveyStore(database).all()})
        yield Users(UserStore(database), clock), Actions(ActionStore(database), clock)
    finally:
        database.close()


def _password(file: Path | None) -> str:
    if file is None:
        typed: Any = click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
        return str(typed)
    return read_secret(file, field="password_file")


def _parsed(roles: tuple[str, ...]) -> dict[str, str]:
    parsed = {}
    for text in roles:
        survey, equals, name = text.rpartition("=")
        if not equals:
            raise InvalidParameter(
                f"--role is {text!r}; write SURVEY=ROLE, such as work-and-health=reader",
                field="role",
            )
        parsed[survey] = name
    return parsed


def _line(member: Member) -> str:
    roles = ", ".join(f"{survey}={role}" for survey, role in member.roles.items())
    account = "  (signs in at the provider)" if member.provider else ""
    return f"{member.name}  {roles or 'no role yet'}{account}"
