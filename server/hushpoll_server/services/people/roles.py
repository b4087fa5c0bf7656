"""The roles of a user in a survey: each includes those before it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Final

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.spelling.text import is_name, show

EVERY_SURVEY: Final = "*"
ORDER: Final = ("reader", "analyst", "editor", "admin")
# Names of surveys that an error lists.
_LISTED: Final = 20


class Role(StrEnum):
    """What a user may do with a survey.

    A reader looks at results; an analyst also exports records and asks for jobs; an editor also
    writes drafts, publishes results, invites people, gives out tokens, lists origins and closes
    the survey; an admin also deletes its records and cancels jobs of others. An admin of every
    survey also manages users and API tokens. Each page and route names the role that it needs:
    `dashboard.version_pages`, `http.endpoint`.
    """

    READER = "reader"
    ANALYST = "analyst"
    EDITOR = "editor"
    ADMIN = "admin"

    def includes(self, other: Role) -> bool:
        """Return whether this role allows all that the other does."""
        return ORDER.index(self) >= ORDER.index(other)


def role_in(roles: Mapping[str, str], survey: str) -> Role | None:
    """Return the highest role that roles by survey give in one survey."""
    held = [Role(roles[key]) for key in (survey, EVERY_SURVEY) if key in roles]
    return max(held, key=ORDER.index, default=None)


def parse_role(survey: str, role: str) -> tuple[str, Role]:
    """Return a checked survey name, or ``*``, and role; refuse others."""
    if survey != EVERY_SURVEY and not is_name(survey):
        raise InvalidParameter(
            f"survey is {show(survey)}; give a survey's name ([a-z0-9_-], at most 64 characters), "
            f"or {EVERY_SURVEY} for every survey",
            field="survey",
        )
    if role not in ORDER:
        raise InvalidParameter(
            f"role is {show(role)}; give one of {', '.join(ORDER)}", field="role"
        )
    return survey, Role(role)


def check_published(survey: str, published: Collection[str]) -> None:
    """Refuse a role in a survey that is not there, which would open nothing to anybody."""
    if survey in (EVERY_SURVEY, *published):
        return
    names = ", ".join(sorted(published)[:_LISTED]) or "none so far"
    rest = f" and {len(published) - _LISTED} more" if len(published) > _LISTED else ""
    raise InvalidParameter(
        f"survey is {show(survey)}, and this server has no such survey; its surveys are: "
        f"{names}{rest}. Give one of them, publish the survey first, or give {EVERY_SURVEY} for "
        "every survey",
        field="survey",
    )
