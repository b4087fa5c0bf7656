"""A mail server on this machine that keeps what it is given, and refuses what a test says."""

from __future__ import annotations

import asyncio
import socket
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session


class Kept:
    """What was given to the server.

    `answers` has replies to ``RCPT`` by address, each for one time, before it is taken;
    `encrypted` says of each mail whether it came by TLS. At an address of `hangs_up` the
    connection ends, once for each time that it is there. A mail is taken after `delay` seconds.
    """

    def __init__(self) -> None:
        self.mails: list[EmailMessage] = []
        self.addresses: list[str] = []
        self.encrypted: list[bool] = []
        self.answers: dict[str, list[str]] = {}
        self.hangs_up: list[str] = []
        self.delay = 0.0

    async def handle_RCPT(  # noqa: N802  # aiosmtpd's name
        self, server: SMTP, _session: Session, envelope: Envelope, address: str, _options: Any
    ) -> str:
        if address in self.hangs_up:
            self.hangs_up.remove(address)
            server.transport.abort()
            return "421 gone"
        if self.answers.get(address):
            return self.answers[address].pop(0)
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(  # noqa: N802  # aiosmtpd's name
        self, server: SMTP, _session: Session, envelope: Envelope
    ) -> str:
        await asyncio.sleep(self.delay)
        self.encrypted.append(server.transport.get_extra_info("sslcontext") is not None)
        message = message_from_bytes(bytes(envelope.content or b""), policy=default)
        assert isinstance(message, EmailMessage)
        self.mails.append(message)
        self.addresses += envelope.rcpt_tos
        return "250 OK"


class MailServer:
    """aiosmtpd in a thread of its own, on a free port; `options` are those of its SMTP."""

    def __init__(self, **options: Any) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self.kept = Kept()
        self._controller = Controller(self.kept, hostname="127.0.0.1", port=self.port, **options)

    def __enter__(self) -> MailServer:
        self._controller.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._controller.stop()
