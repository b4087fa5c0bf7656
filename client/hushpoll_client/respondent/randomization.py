"""Answers in, report out: the only code of the client that raw answers pass through.

No network, no clock, no file. Whoever calls it keeps the report and sends those same bytes for
ever: randomising one answer a second time spends its epsilon a second time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hushpoll_client.respondent.discretion import discreet
from hushpoll_client.respondent.report import Report
from hushpoll_protocols import SecureBits
from hushpoll_shared.wire import reports as wire

if TYPE_CHECKING:
    from hushpoll_protocols import Bits
    from hushpoll_shared.survey.published import Published
    from hushpoll_shared.wire.codec import Codes

Answers = Mapping[str, str | int | None]

_SECURE = SecureBits()


@discreet
def randomize(published: Published, answers: Answers, *, bits: Bits = _SECURE) -> Report:
    """Perturb the sensitive answers, code the others, and give the record a fresh random id.

    Parameters
    ----------
    published : Published
        The checked survey, from `Published.from_json` or `SurveyClient.published`.
    answers : mapping of str to str, int or None
        One category per attribute; an integer stands for its decimal string. None, or no entry,
        means skipped: the attribute's ``missing`` category.
    bits : Bits
        Source of randomness; the operating system's unless told otherwise. Anything else is for
        simulation and tests: with reproducible bits a report protects nobody.

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
    return Report(published.digest, wire.new_report_id(), record)
