"""Jobs that send mail to invited people.

Their parameters, which the table of jobs keeps, have no address: a request's people are stored
encrypted before the job is added, and the job has the number of their batch.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

from hushpoll_server.errors import Refused
from hushpoll_server.jobs.parameters import InviteParameters, RemindParameters, people_of
from hushpoll_server.jobs.progress import OnStep, Step
from hushpoll_server.jobs.result import Result, json_result
from hushpoll_server.services.services import Services
from hushpoll_server.services.surveys.mail_texts import MailText
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.store.jobs import QUEUED, RUNNING, JobRow
from hushpoll_shared.reading.people import Person
from hushpoll_shared.spelling.json_values import JsonObject

REST_SECONDS: Final = 3600
"""After the end of the job that wrote to a person, within which none reminds that person."""


def invite(parts: Services, row: VersionRow, parameters: JsonObject, say: OnStep) -> Result:
    """Ask a worker to invite people to a version by mail, each with a link of their own.

    All is checked before anything is sent. The addresses are stored encrypted, and deleted once the
    version is closed. A job that was interrupted goes on where it stopped. Its result has numbers
    alone.
    """
    return _send("invite", parts, row, parameters, say)


def remind(parts: Services, row: VersionRow, parameters: JsonObject, say: OnStep) -> Result:
    """Ask a worker to remind those whose invitation is not redeemed, by mail.

    Nobody who has redeemed gets a mail. Who has answered is not known. People whose invitation was
    never sent, because its job was ended, get the invitation.
    """
    return _send("remind", parts, row, parameters, say)


def _send(
    kind: str, parts: Services, row: VersionRow, parameters: Mapping[str, Any], say: OnStep
) -> Result:
    def tell(done: int, total: int) -> None:
        say(Step("sends the mails", done, total, "mails"))

    texts = {tag: MailText(**text) for tag, text in parameters["texts"].items()}
    sent = parts.mailing.send(row, parameters["batch"], texts, tell)
    return json_result(kind, row, {"survey": row.name, "version": row.version, **asdict(sent)})


def check_invite(parts: Services, row: VersionRow, parameters: InviteParameters) -> None:
    """Refuse what cannot be sent: a person, a text, a setting."""
    most = parts.settings.max_tokens
    if len(parameters.people) > most:
        raise Refused(
            "invalid-request",
            f"people has {len(parameters.people):,} entries, more than {most:,}; invite a part at "
            "a time",
            field="people",
        )
    parts.mailing.check_invited(row, _people(parts, row, parameters), parameters.own_texts())


def check_remind(parts: Services, row: VersionRow, parameters: RemindParameters) -> None:
    """Refuse what cannot be sent: a text, a setting."""
    parts.mailing.check(row, parameters.own_texts(), 0)


def prepare_invite(parts: Services, row: VersionRow, parameters: InviteParameters) -> JsonObject:
    """Store the people, encrypted, and return what the job keeps."""
    people = _people(parts, row, parameters)
    batch = parts.mailing.invite(row, people, parameters.own_texts())
    return {"batch": batch, "texts": parameters.model_dump()["texts"]}


def prepare_remind(parts: Services, row: VersionRow, parameters: RemindParameters) -> JsonObject:
    """Choose who is reminded, and return what the job keeps."""
    jobs = (*parts.jobs.newest_of(row, "invite"), *parts.jobs.newest_of(row, "remind"))
    since = parts.surveys.now() - REST_SECONDS
    busy = [_batch_of(job) for job in jobs if job.state in (QUEUED, RUNNING)]
    ended = [_batch_of(job) for job in jobs if (job.finished_at or 0) > since]
    batch = parts.mailing.remind(row, parameters.own_texts(), busy=busy, recent=[*busy, *ended])
    return {"batch": batch, "texts": parameters.model_dump()["texts"]}


def _batch_of(job: JobRow) -> str:
    return str(json.loads(job.parameters)["batch"])


def undo(parts: Services, kept: JsonObject) -> None:
    """Undo what was stored for a job that was not added."""
    parts.mailing.take_back(str(kept["batch"]))


def _people(parts: Services, row: VersionRow, parameters: InviteParameters) -> list[Person]:
    return people_of(parameters.people, parts.surveys.published(row).languages)
