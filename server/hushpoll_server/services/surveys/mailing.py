"""Invitations by mail: whom they go to, and giving them to the mail server, one by one.

Each mail is written down as sent once the mail server has taken it. So a worker that is killed
sends none twice but the one that was on its way, of which nobody knows whether it was taken.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from typing import Final

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.config.settings import Settings
from hushpoll_server.errors import Refused
from hushpoll_server.logs import get_logger
from hushpoll_server.services.surveys.address_seal import AddressSeal
from hushpoll_server.services.surveys.invitations import Invitations
from hushpoll_server.services.surveys.mail_server import Given, MailServer, MailServerAway
from hushpoll_server.services.surveys.mail_texts import (
    MailText,
    check_people,
    check_texts,
    mail_text,
    our_text,
)
from hushpoll_server.services.surveys.surveys import SurveyService
from hushpoll_server.store.addressees import AddresseeRow, AddresseeStore, Due, Mail
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_shared.reading.people import Person, check_different
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.terms import INVITED
from hushpoll_shared.wire.documents.administration import MailPreviewDocument
from hushpoll_shared.wire.documents.jobs import MailsSent

log = get_logger(__name__)

NEEDED: Final = ("smtp_host", "mail_sender", "public_url", "address_key")
PAUSES: Final = (1.0, 2.0, 5.0, 10.0, 20.0, 30.0)
"""Seconds before a mail server that is away, or says "later", is asked again."""
LOOK_SECONDS: Final = 0.5
# A job that would take longer than it may is refused before it begins.
SHARE_OF_JOB: Final = 0.8

SAMPLE_PERSON: Final = ("ada@example.org", "Ada Lovelace")
SAMPLE_INVITATION: Final = "the-invitation-of-this-person"
SAMPLE_LANGUAGE: Final = "en"
"""It stands for that of a survey that states none."""

Texts = Mapping[str, MailText]
OnMail = Callable[[int, int], object]
"""Called with how many mails are done, of how many; it raises where the job may not go on."""


class Mailing:
    """Invites people by mail, and reminds those who have not redeemed their invitation."""

    def __init__(
        self,
        store: AddresseeStore,
        *,
        surveys: SurveyService,
        invitations: Invitations,
        settings: Settings,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._store = store
        self._surveys = surveys
        self._invitations = invitations
        self._settings = settings
        self._sleep = sleep

    @property
    def missing(self) -> list[str]:
        """The settings without which no mail is sent."""
        return [name for name in NEEDED if getattr(self._settings, name) is None]

    def check(self, row: VersionRow, texts: Texts, people: int) -> Published:
        """Return the survey of a version, and refuse one to which nobody can be invited by mail.

        It takes no invitations, is closed, a setting is missing, so many mails take longer than a
        job may, or a text of the survey team is none.
        """
        published = self._invitations.check_open(row)
        if self.missing:
            raise Refused(
                "invalid-request",
                f"this server sends no mail, because {', '.join(self.missing)} "
                f"{'is' if len(self.missing) == 1 else 'are'} not set; ask its operator, or issue "
                "invitations and send the links yourself",
                field=self.missing[0],
            )
        most = int(self._settings.mail_rate * self._settings.job_seconds / 60 * SHARE_OF_JOB)
        if people > most:
            raise Refused(
                "invalid-request",
                f"{people:,} mails are more than the {most:,} that a job sends in its time "
                f"(mail_rate {self._settings.mail_rate} a minute, job_seconds "
                f"{self._settings.job_seconds}); invite a part at a time, or ask the operator to "
                "raise one of them",
                field="people",
            )
        check_texts(texts, published)
        return published

    def check_invited(self, row: VersionRow, people: Sequence[Person], texts: Texts) -> None:
        """Check all of what ``invite`` takes; raises as it does."""
        published = self.check(row, texts, len(people))
        self._check_people(people, texts, published)

    @staticmethod
    def _check_people(people: Sequence[Person], texts: Texts, published: Published) -> None:
        places = [(f"person {number}", person) for number, person in enumerate(people, 1)]
        check_different(places)
        check_people(places, texts, published)

    def invite(self, row: VersionRow, people: Sequence[Person], texts: Texts) -> str:
        """Add people and their invitations; return the batch of their mails, which wait.

        Refused is, as a whole, an address that is there twice or invited already, and a person for
        whom there is no text in their language.
        """
        self.check_invited(row, people, texts)
        seal = self._seal_of(row)
        rows, places = [], dict[bytes, int]()
        for number, person in enumerate(people, 1):
            code = secrets.token_urlsafe(32)
            invitation = hashlib.sha256(code.encode()).digest()
            address = seal.address(person, row.id)
            places[address] = number
            sealed = seal.sealed(person, code, invitation)
            rows.append(AddresseeRow(invitation, address, seal.key_id, sealed))
        batch = secrets.token_hex(16)
        known = self._store.add(row.id, batch, rows)
        if known:
            number = min(places[address] for address in known)
            raise InvalidParameter(
                f"the address {people[number - 1].address!r} (person {number}) is invited to "
                f"{row.name} version {row.version} already, as {len(known)} of these "
                f"{len(people)} are; take those out, and remind them by hushpoll survey remind",
                field="address",
            )
        return batch

    def remind(
        self, row: VersionRow, texts: Texts, *, busy: Collection[str], recent: Collection[str]
    ) -> str:
        """Let all who have not redeemed their invitation get a mail; return its batch.

        Those to whom the invitation was never sent get it now. People whose mail waits in a batch
        of `busy` are left to it, and those who got one in a batch of `recent` get none. Where there
        is nobody to write to, that is refused.
        """
        rows = [] if self.missing else self._store.unredeemed(row.id)
        published = self.check(row, texts, len(rows))
        seal = self._seal_of(row)
        people = [seal.opened(one.sealed, one.invitation)[0] for one in rows]
        check_people([("a person who is reminded", one) for one in people], texts, published)
        batch = secrets.token_hex(16)
        if not any(self._store.remind(row.id, batch, busy=busy, recent=recent)):
            raise Refused(
                "invalid-request",
                f"nobody is to be reminded of {row.name} version {row.version}: nobody was "
                "invited by mail, all have redeemed their invitation, a job writes to them now, or "
                "they got a mail within the last hour; wait until it is over",
                field="survey",
            )
        return batch

    def our_texts(self, row: VersionRow, *, reminder: bool) -> dict[str, MailText | None]:
        """Return our text in each of the survey's languages; None where there is none of ours."""
        published = self._surveys.require_submission(row, INVITED)
        return {
            tag: our_text(tag, published, reminder=reminder)
            for tag in published.languages or (SAMPLE_LANGUAGE,)
        }

    def preview(
        self, row: VersionRow, texts: Texts, *, reminder: bool, people: Sequence[Person] = ()
    ) -> list[MailPreviewDocument]:
        """Return what a person would get, in each language that there is a text in.

        Each of `people`, to whom it would be sent, is checked as `invite` does.
        """
        published = self._surveys.require_submission(row, INVITED)
        check_texts(texts, published)
        self._check_people(people, texts, published)
        previews = []
        for tag, ours in self.our_texts(row, reminder=reminder).items():
            if tag not in texts and ours is None:
                continue
            sample = Person(*SAMPLE_PERSON, tag)
            mail = self._composed(
                sample, row, published, texts, SAMPLE_INVITATION, reminder=reminder
            )
            body = mail.get_content().replace("\r\n", "\n")
            sender, recipient, subject = (
                str(mail[name] or "") for name in ("From", "To", "Subject")
            )
            preview: MailPreviewDocument = {
                "language": tag,
                "sender": sender,
                "recipient": recipient,
                "subject": subject,
                "body": body,
            }
            previews.append(preview)
        return previews

    def take_back(self, batch: str) -> None:
        """Undo a batch that nothing was sent of."""
        self._store.take_back(batch)

    def counts(self, row: VersionRow) -> dict[Mail, int]:
        """Return how many people of a version have a mail in each state; none once it is closed."""
        return self._store.counts(row.id)

    def forget_closed(self) -> int:
        """Delete the people of versions that are closed; return how many they were."""
        return self._store.forget_closed(self._surveys.now())

    def send(self, row: VersionRow, batch: str, texts: Texts, on_mail: OnMail) -> MailsSent:
        """Give the mails of a batch that wait to the mail server; refuse where that stays away."""
        published = self._surveys.published(row)
        if self.missing:
            raise Refused(
                "invalid-request",
                f"this worker sends no mail, because it has no {', '.join(self.missing)}; give it "
                "the server's settings",
            )
        seal = self._seal_of(row)
        waiting = self._store.waiting(batch)
        done = dict.fromkeys(Given, 0)
        later = list[bytes]()
        server = MailServer(self._settings)
        try:
            for pause in (0.0, *PAUSES):
                self._wait(pause, lambda: on_mail(_settled(done), len(waiting)))
                later.clear()
                for invitation in self._store.waiting(batch):
                    on_mail(_settled(done), len(waiting))
                    due = self._store.due(invitation, batch)
                    if due is None:
                        continue
                    given = self._give(server, self._message(row, published, due, seal, texts))
                    if given is Given.LATER:
                        later.append(invitation)
                        continue
                    mail = Mail.SENT if given is Given.TAKEN else Mail.REFUSED
                    self._store.settle(invitation, batch, mail)
                    done[given] += 1
                    self._wait(60 / self._settings.mail_rate, lambda: None)
                if not later:
                    break
        finally:
            server.close()
        done[Given.LATER] = len(later)
        on_mail(len(waiting), len(waiting))
        log.info("mails-sent", survey=row.name, version=row.version, **done)
        redeemed = len(waiting) - sum(done.values())
        return {
            "survey": row.name,
            "version": row.version,
            "sent": done[Given.TAKEN],
            "refused": done[Given.REFUSED],
            "later": done[Given.LATER],
            "redeemed": redeemed,
        }

    def _give(self, server: MailServer, message: tuple[EmailMessage, str]) -> Given:
        """Give a mail to the server, which may come back after a while."""
        for pause in PAUSES:
            try:
                return server.give(*message)
            except MailServerAway:
                self._sleep(pause)
        raise Refused(
            "unavailable",
            f"the mail server has been away for {sum(PAUSES):.0f} s; the mails that it took are "
            "not sent again: hushpoll survey remind goes on with those who got none",
            retry_after=60,
        )

    def _message(
        self, row: VersionRow, published: Published, due: Due, seal: AddressSeal, texts: Texts
    ) -> tuple[EmailMessage, str]:
        """Return a mail, and the address that it goes to."""
        settings, invitation = self._settings, due.addressee.invitation
        if due.addressee.key_id != seal.key_id:
            raise _other_key(row, due.addressee.key_id, seal)
        person, code = seal.opened(due.addressee.sealed, invitation)
        message = self._composed(person, row, published, texts, code, reminder=due.reminders > 0)
        sender = str(settings.mail_sender)
        message["Date"] = format_datetime(settings.clock.now())
        # The same if this mail is sent again, so that a mail program can show it once.
        mark = hashlib.sha256(invitation + due.reminders.to_bytes(4, "big")).hexdigest()[:32]
        message["Message-ID"] = f"<{mark}@{sender.rpartition('@')[2]}>"
        message["Auto-Submitted"] = "auto-generated"
        return message, person.address

    def _composed(
        self,
        person: Person,
        row: VersionRow,
        published: Published,
        texts: Texts,
        code: str,
        *,
        reminder: bool,
    ) -> EmailMessage:
        """Return a person's mail but for what tells one sending of it from another."""
        settings = self._settings
        page = f"{settings.public_url or ''}/s/{row.name}"
        text = mail_text(
            person,
            published,
            texts,
            link=f"{page}#sha256={row.digest}&invitation={code}",
            reminder=reminder,
        )
        message = EmailMessage(policy=SMTP)
        if settings.mail_sender is not None:
            message["From"] = Address(published.operator or "", addr_spec=settings.mail_sender)
        message["To"] = Address(person.name or "", addr_spec=person.address)
        if settings.mail_reply_to is not None:
            message["Reply-To"] = settings.mail_reply_to
        message["Subject"] = text.subject
        message.set_content(text.body.rstrip("\n") + "\n", cte="quoted-printable")
        return message

    def _wait(self, seconds: float, look: Callable[[], object]) -> None:
        while seconds > 0:
            self._sleep(min(seconds, LOOK_SECONDS))
            seconds -= LOOK_SECONDS
            look()

    def _seal_of(self, row: VersionRow) -> AddressSeal:
        """Return the seal of a version: that of its people, so that an address stays one."""
        newest = AddressSeal(str(self._settings.address_key))
        used = self._store.key_ids(row.id)
        former = self._settings.former_address_keys
        keys = {newest.key_id: newest}
        for key in [] if former is None or used <= set(keys) else former.split(","):
            seal = AddressSeal(key)
            keys[seal.key_id] = seal
        for key_id in sorted(used - set(keys)):
            raise _other_key(row, key_id, newest)
        return keys[min(used)] if used else newest


def _settled(done: Mapping[Given, int]) -> int:
    return done[Given.TAKEN] + done[Given.REFUSED]


def _other_key(row: VersionRow, key_id: str, seal: AddressSeal) -> Refused:
    log.error("address-key-missing", survey=row.name, version=row.version, key=key_id)
    return Refused(
        "unavailable",
        f"people are invited to {row.name} version {row.version} under the address_key with the id "
        f"{key_id}, and this server's has the id {seal.key_id}; its operator adds the former key "
        "to former_address_keys until the version is closed",
        retry_after=60,
    )
