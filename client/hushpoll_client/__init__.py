"""The device side: consent, fetch and pin a survey, preview, randomise once, send the same bytes.

The base install is enough. Importing this costs a host app next to nothing: each name is loaded
when it is first used (PEP 562), requests when something is first sent, numpy never. The command
line (`hushpoll_client.commandline`) and the analyst's client (`hushpoll_client.analyst`) are
modules of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hushpoll_client.config import ClientConfig
    from hushpoll_client.entry import Entry
    from hushpoll_client.faults import ConsentMissing, OutboxFull, StorageError
    from hushpoll_client.ledger import Ledger
    from hushpoll_client.outcome import Outcome
    from hushpoll_client.preview import ClearLine, PerturbedLine, Preview
    from hushpoll_client.randomization import randomize
    from hushpoll_client.receipt import Receipt, ReportNotSent
    from hushpoll_client.report import Report
    from hushpoll_client.survey_client import SurveyClient
    from hushpoll_protocols.errors import (
        BudgetExhausted,
        HushpollError,
        InvalidParameter,
        MalformedRecord,
        ManifestRefused,
        MissingExtra,
        TransportError,
    )
    from hushpoll_shared.published import Published

__all__ = [
    "BudgetExhausted",
    "ClearLine",
    "ClientConfig",
    "ConsentMissing",
    "Entry",
    "HushpollError",
    "InvalidParameter",
    "Ledger",
    "MalformedRecord",
    "ManifestRefused",
    "MissingExtra",
    "OutboxFull",
    "Outcome",
    "PerturbedLine",
    "Preview",
    "Published",
    "Receipt",
    "Report",
    "ReportNotSent",
    "StorageError",
    "SurveyClient",
    "TransportError",
    "randomize",
]

_HOME = {
    "BudgetExhausted": "hushpoll_protocols.errors",
    "ClearLine": "hushpoll_client.preview",
    "ClientConfig": "hushpoll_client.config",
    "ConsentMissing": "hushpoll_client.faults",
    "Entry": "hushpoll_client.entry",
    "HushpollError": "hushpoll_protocols.errors",
    "InvalidParameter": "hushpoll_protocols.errors",
    "Ledger": "hushpoll_client.ledger",
    "MalformedRecord": "hushpoll_protocols.errors",
    "ManifestRefused": "hushpoll_protocols.errors",
    "MissingExtra": "hushpoll_protocols.errors",
    "Outcome": "hushpoll_client.outcome",
    "OutboxFull": "hushpoll_client.faults",
    "PerturbedLine": "hushpoll_client.preview",
    "Preview": "hushpoll_client.preview",
    "Published": "hushpoll_shared.published",
    "Receipt": "hushpoll_client.receipt",
    "Report": "hushpoll_client.report",
    "ReportNotSent": "hushpoll_client.receipt",
    "StorageError": "hushpoll_client.faults",
    "SurveyClient": "hushpoll_client.survey_client",
    "TransportError": "hushpoll_protocols.errors",
    "randomize": "hushpoll_client.randomization",
}


def __getattr__(name: str) -> object:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
