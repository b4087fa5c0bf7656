"""The mail server that invitations are given to, spoken to by SMTP.

Its replies are told apart by what follows: a mail is taken, refused for good, or to be given again
later; a server that is away is asked again; settings that it does not accept end the job. What a
reply says is neither stored nor logged: it can quote an address.
"""

from __future__ import annotations

import smtplib
import ssl
from contextlib import suppress
from email.message import EmailMessage
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from hushpoll_server.config.settings import Settings
from hushpoll_server.errors import Refused

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

TIMEOUT_SECONDS: Final = 60.0
# RFC 5321, section 4.5.3.2.6: giving up sooner would send a mail twice that a slow server took.
TAKEN_SECONDS: Final = 600.0
_FOR_GOOD: Final = 500
_CLOSING: Final = 421


class Given(StrEnum):
    """What the mail server said to a mail."""

    TAKEN = "taken"
    REFUSED = "refused"
    LATER = "later"


class MailServerAway(Exception):
    """The mail server does not answer, or hung up."""


class _Patient(smtplib.SMTP):
    """Waits longer for the one reply after which a mail is taken."""

    def data(self, msg: ReadableBuffer | str) -> tuple[int, bytes]:
        """Give the content of a mail, and wait until it is taken."""
        if self.sock is not None:
            self.sock.settimeout(TAKEN_SECONDS)
        try:
            return super().data(msg)
        finally:
            if self.sock is not None:
                self.sock.settimeout(TIMEOUT_SECONDS)


class _PatientOverTls(_Patient, smtplib.SMTP_SSL):
    """The same over a connection that is encrypted from its begin."""


class MailServer:
    """A connection to the mail server of the settings, made when there is a mail to give."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._connection: smtplib.SMTP | None = None

    def give(self, message: EmailMessage, address: str) -> Given:
        """Give a mail for one address to the server; refuse settings that it does not accept.

        Where it does not answer, or hung up, `MailServerAway` is raised, and whether it took this
        mail is not known.
        """
        try:
            connection = self._connection or self._connect()
            self._connection = connection
            connection.send_message(
                message, from_addr=self._settings.mail_sender, to_addrs=[address]
            )
        except smtplib.SMTPRecipientsRefused as error:
            ((code, _),) = error.recipients.values()
            return self._said(code)
        except smtplib.SMTPSenderRefused as error:
            if error.smtp_code < _FOR_GOOD:
                return self._said(error.smtp_code)
            raise self._unaccepted("mail_sender", error.smtp_code) from None
        except smtplib.SMTPDataError as error:
            return self._said(error.smtp_code)
        except smtplib.SMTPAuthenticationError as error:
            raise self._unaccepted("smtp_user and smtp_password", error.smtp_code) from None
        except smtplib.SMTPNotSupportedError:
            raise self._unaccepted("smtp_security or smtp_user", None) from None
        except ssl.SSLCertVerificationError as error:
            self.close()
            raise Refused(
                "invalid-request",
                "the mail server's certificate does not hold for smtp_host: "
                f"{error.verify_message}; its operator corrects smtp_host or the certificate",
                field="smtp_host",
            ) from None
        except (OSError, smtplib.SMTPException):
            self.close()
            raise MailServerAway from None
        return Given.TAKEN

    def close(self) -> None:
        """End the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(OSError, smtplib.SMTPException):
                connection.quit()

    def _connect(self) -> smtplib.SMTP:
        settings = self._settings
        host, port = str(settings.smtp_host), settings.smtp_port
        if settings.smtp_security == "tls":
            connection: smtplib.SMTP = _PatientOverTls(
                host, port, timeout=TIMEOUT_SECONDS, context=ssl.create_default_context()
            )
        else:
            connection = _Patient(host, port, timeout=TIMEOUT_SECONDS)
        try:
            if settings.smtp_security == "starttls":
                # It raises where the server does not offer it, so nothing goes in clear.
                connection.starttls(context=ssl.create_default_context())
            if settings.smtp_user is not None and settings.smtp_password is not None:
                connection.login(settings.smtp_user, settings.smtp_password)
        except BaseException:
            connection.close()
            raise
        return connection

    def _said(self, code: int) -> Given:
        if code == _CLOSING:
            self.close()
            raise MailServerAway
        return Given.REFUSED if code >= _FOR_GOOD else Given.LATER

    def _unaccepted(self, settings: str, code: int | None) -> Refused:
        self.close()
        said = "offers no such thing" if code is None else f"answers {code}"
        return Refused(
            "invalid-request",
            f"the mail server does not accept {settings} and {said}; its operator corrects the "
            "setting, and then hushpoll survey remind goes on with those who got no mail",
            field=settings.partition(" ")[0],
        )
