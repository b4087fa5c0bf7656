"""Jobs of a survey that collects: sealing, and mails to invited people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

from hushpoll_shared.jobs.job import Job, Size
from hushpoll_shared.querying.query import Request, parameter
from hushpoll_shared.wire.documents.jobs import JobName


@dataclass(frozen=True, kw_only=True)
class Seal(Job):
    """Ask a worker to seal reports that wait: a minimum batch, or all after the survey's end.

    Sealing releases nothing, and the result has no numbers of reports that are not released.
    """

    name: ClassVar[JobName] = "seal"
    scope: ClassVar[str] = "publish"
    words: ClassVar[str] = "a seal of waiting reports"
    body: ClassVar[str] = "Sealing has no parameters."


@dataclass(frozen=True, kw_only=True)
class MailTextParameters(Request):
    """A text of a mail, with {link} and other placeholders in braces."""

    subject: Annotated[str, Size(1, 200)] = parameter("")
    body: Annotated[str, Size(1, 10_000)] = parameter(
        "With {link}; and {greeting}, {name}, {title}, {closes}, {operator} as wanted."
    )


@dataclass(frozen=True, kw_only=True)
class Remind(Job):
    """Ask a worker to remind those whose invitation is not redeemed, by mail.

    Nobody who has redeemed gets a mail. Who has answered is not known. People whose invitation was
    never sent, because its job was ended, get the invitation.
    """

    name: ClassVar[JobName] = "remind"
    scope: ClassVar[str] = "publish"
    words: ClassVar[str] = "reminders by mail"
    body: ClassVar[str] = "Texts of the mails."

    texts: Annotated[Mapping[str, MailTextParameters], Size(most=100)] = parameter(
        "By language of the survey; without one the server's own text is sent.", empty=dict
    )


@dataclass(frozen=True, kw_only=True, repr=False)
class PersonParameters(Request):
    """One person who is invited."""

    address: Annotated[str, Size(most=1000)] = parameter("Of mail, in ASCII.")
    name: Annotated[str, Size(most=1000)] | None = parameter("", None)
    language: Annotated[str, Size(most=100)] | None = parameter(
        "One of the survey's; by default its own.", None
    )


@dataclass(frozen=True, kw_only=True, repr=False)
class Invite(Remind):
    """Ask a worker to invite people to a version by mail, each with a link of their own.

    All is checked before anything is sent. The addresses are stored encrypted, and deleted once the
    version is closed. A job that was interrupted goes on where it stopped. Its result has numbers
    alone.
    """

    name: ClassVar[JobName] = "invite"
    words: ClassVar[str] = "invitations by mail"
    body: ClassVar[str] = (
        "The people who are invited, each by one address, and the texts of their mails."
    )

    people: Annotated[tuple[PersonParameters, ...], Size(1, 100_000)] = parameter("")
