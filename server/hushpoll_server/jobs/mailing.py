"""Jobs that send mail to invited people.

Their parameters, which the table of jobs keeps, have no address: a request's people are stored
encrypted before the job is added, and the job has the number of their batch.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.errors import Refused
from hushpoll_server.jobs.progress import OnStep, Step
from hushpoll_server.jobs.result import Result, json_result
from hushpoll_server.services.services import Services
from hushpoll_server.services.surveys.mail_texts import MailText
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.store.jobs import QUEUED, RUNNING, JobRow
from hushpoll_shared.jobs.collecting import Invite, Remind
from hushpoll_shared.reading.people import Person, person
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

    texts = mail_texts(parameters["texts"])
    sent = parts.mailing.send(row, parameters["batch"], texts, tell)
    return json_result(kind, row, sent)


def check_invite(parts: Services, row: VersionRow, asked: Invite) -> None:
    """Refuse what cannot be sent: a person, a text, a setting."""
    most = parts.settings.max_tokens
    if len(asked.people) > most:
        raise Refused(
            "invalid-request",
            f"people has {len(asked.people):,} entries, more than {most:,}; invite a part at "
            "a time",
            field="people",
        )
    parts.mailing.check_invited(row, _people(parts, row, asked), _texts(asked))


def check_remind(parts: Services, row: VersionRow, asked: Remind) -> None:
    """Refuse what cannot be sent: a text, a setting."""
    parts.mailing.check(row, _texts(asked), 0)


def prepare_invite(parts: Services, row: VersionRow, asked: Invite) -> JsonObject:
    """Store the people, encrypted, and return what the job keeps."""
    people = _people(parts, row, asked)
    batch = parts.mailing.invite(row, people, _texts(asked))
    return {"batch": batch, "texts": asked.to_json()["texts"]}


def prepare_remind(parts: Services, row: VersionRow, asked: Remind) -> JsonObject:
    """Choose who is reminded, and return what the job keeps."""
    jobs = (*parts.jobs.newest_of(row, "invite"), *parts.jobs.newest_of(row, "remind"))
    since = parts.surveys.now() - REST_SECONDS
    busy = [_batch_of(job) for job in jobs if job.state in (QUEUED, RUNNING)]
    ended = [_batch_of(job) for job in jobs if (job.finished_at or 0) > since]
    batch = parts.mailing.remind(row, _texts(asked), busy=busy, recent=[*busy, *ended])
    return {"batch": batch, "texts": asked.to_json()["texts"]}


def _batch_of(job: JobRow) -> str:
    return str(json.loads(job.parameters)["batch"])


def undo(parts: Services, kept: JsonObject) -> None:
    """Undo what was stored for a job that was not added."""
    parts.mailing.take_back(str(kept["batch"]))


def _people(parts: Services, row: VersionRow, asked: Invite) -> list[Person]:
    return people_of(asked.to_json()["people"], parts.surveys.published(row).languages)


def _texts(asked: Remind) -> dict[str, MailText]:
    return mail_texts(asked.to_json()["texts"])


def mail_texts(texts: Mapping[str, Any]) -> dict[str, MailText]:
    """Return texts of a request, by language, as the mailing takes them."""
    return {tag: MailText(**text) for tag, text in texts.items()}


def people_of(people: Sequence[Any], languages: Sequence[str]) -> list[Person]:
    """Return people of a request, checked; `languages` are those of the survey."""
    checked = []
    for number, members in enumerate(people, 1):
        try:
            checked.append(person(members, languages))
        except InvalidParameter as error:
            raise InvalidParameter(f"person {number}: {error}", field=error.field) from None
    return checked
