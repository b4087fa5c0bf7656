"""Turns answers into a report; no other code of the client has an answer and a record at once.

It uses no network, no clock and no file. The caller stores the report and sends those same bytes
every time: to randomise one answer a second time spends its epsilon a second time.

Crash reporters collect the local variables of every frame of a traceback, so the frames through
which an answer passed are emptied before an exception leaves this package (`discreet`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import wraps
from types import TracebackType
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from hushpoll_protocols import SecureBits
from hushpoll_shared.spelling.canonical import parse_json
from hushpoll_shared.wire import reports as wire
from hushpoll_shared.wire.withdrawals import id_of, new_secret

if TYPE_CHECKING:
    from hushpoll_protocols import Bits
    from hushpoll_shared.survey.codec import Codes
    from hushpoll_shared.survey.published import Published

P = ParamSpec("P")
R = TypeVar("R")

Answers = Mapping[str, str | int | Collection[str] | None]

_SECURE = SecureBits()
_ENCODER = json.JSONEncoder(separators=(",", ":"), sort_keys=True)


@dataclass(frozen=True, slots=True)
class Report:
    """One respondent's randomised answers, ready to be sent now, later, or by other means.

    Attributes
    ----------
    digest : str
        Digest of the published survey, 64 hexadecimal digits.
    id : bytes
        16 bytes that look random: the first of SHA-256 of the secret. The server counts an id once,
        so a report may be sent any number of times.
    record : bytes
        The fixed-size record: perturbed attributes as their protocol's record, others in clear.
    secret : bytes or None
        32 random bytes, of which SHA-256 begins with the id. Their holder can take the report
        back until it is sealed (`SurveyClient.take_back`); they are not sent with it, and are in no
        JSON. None of a report that was read from JSON.
    """

    digest: str
    id: bytes
    record: bytes
    secret: bytes | None = field(default=None, repr=False, compare=False)

    def __repr__(self) -> str:
        # The record holds the clear answers, so it stays out of logs and crash reports.
        return f"Report(digest={self.digest[:12]}…, id={self.id.hex()}, {len(self.record)} bytes)"

    def to_json(self) -> str:
        """Return the report as JSON, exactly as the server takes it in a POST."""
        document = wire.encode_report_json(self.digest, wire.Report(self.id, self.record))
        return _ENCODER.encode(document)

    @classmethod
    def from_json(cls, text: str | bytes) -> Report:
        """Read what `to_json` wrote.

        Raises
        ------
        InvalidParameter
            If the text is not JSON or not such a report; base64 that is not canonical included.
        """
        digest, report = wire.parse_report_json(parse_json(text))
        return cls(digest, report.id, report.record)


def discreet(call: Callable[P, R]) -> Callable[P, R]:
    """Make ``call`` raise its exceptions without the local variables of the frames below.

    The frames keep their places, so that a traceback still says where the fault is. Frames of the
    host app are left as they are. An exception that was raised "from None" loses its hidden
    context, for example a ``KeyError`` that carries an answer.
    """

    @wraps(call)
    def sealed(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return call(*args, **kwargs)
        except BaseException as raised:
            error = raised
        # This frame is still running, so that it is not emptied with the others.
        del args, kwargs
        for link in _chain(error):
            _empty(link.__traceback__)
        raise error

    return sealed


def _chain(error: BaseException) -> Iterator[BaseException]:
    pending, seen = [error], set[int]()
    while pending:
        link = pending.pop()
        if id(link) in seen:
            continue
        seen.add(id(link))
        yield link
        if link.__suppress_context__ and link.__cause__ is None:
            if link.__context__ is not None:
                _empty(link.__context__.__traceback__)
            link.__context__ = None
        pending += [near for near in (link.__cause__, link.__context__) if near is not None]


def _empty(trace: TracebackType | None) -> None:
    while trace is not None:
        # A frame that still runs cannot be emptied: this package's wrapper, or the host app's own.
        with suppress(RuntimeError):
            trace.tb_frame.clear()
        trace = trace.tb_next


@discreet
def randomize(published: Published, answers: Answers, *, bits: Bits = _SECURE) -> Report:
    """Perturb the sensitive answers, code the others, and give the record a fresh random id.

    Parameters
    ----------
    published : Published
        The checked survey, from `Published.from_json` or `SurveyClient.published`.
    answers : mapping of str to str, int, None, or list of str
        One category per attribute; an integer stands for its decimal string. None, or no entry,
        means skipped: the attribute's ``missing`` category. For a select-all, by its name, the list
        of its options that apply.
    bits : Bits
        Source of randomness, by default the operating system's. Any other is for simulation and
        tests: with reproducible bits a report protects nobody.

    Returns
    -------
    Report

    Raises
    ------
    InvalidParameter
        If an answer is no category of its attribute, is missing where there is no ``missing``
        category, or belongs to no attribute. The message names the attribute, never the answer.
    """
    return draw(published, published.layout.code_answers(answers), bits=bits)


def draw(published: Published, codes: Codes, *, bits: Bits = _SECURE) -> Report:
    """Perturb answers that are checked and coded already; see `randomize`."""
    record = published.layout.encode(codes, bits)
    secret = new_secret()
    return Report(published.digest, id_of(secret), record, secret)
