"""The device side: consent, fetch and pin a survey, preview, randomise once, send the same bytes.

The base install is enough. Importing this costs a host app next to nothing: each name is loaded
when it is first used (PEP 562), Requests when something is first sent, numpy never. The command
line is in `hushpoll_client.cli`, the analyst's client in `hushpoll_client.analyst`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hushpoll_client.config import ClientConfig
    from hushpoll_client.device.ledger import Entry, Ledger
    from hushpoll_client.device.outcomes import (
        ClientDisabled,
        ConsentMissing,
        OutboxFull,
        Outcome,
        Outgoing,
        Receipt,
        ReportDropped,
        ReportNotSent,
        StorageError,
    )
    from hushpoll_client.device.preview import ClearLine, PerturbedLine, Preview
    from hushpoll_client.device.randomization import Report, randomize
    from hushpoll_client.device.survey_client import SurveyClient
    from hushpoll_protocols.errors import (
        BudgetExhausted,
        HushpollError,
        InvalidParameter,
        MalformedRecord,
        ManifestRefused,
        MissingExtra,
        TransportError,
    )
    from hushpoll_shared.survey.published import Published

__all__ = [
    "BudgetExhausted",
    "ClearLine",
    "ClientConfig",
    "ClientDisabled",
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
    "Outgoing",
    "PerturbedLine",
    "Preview",
    "Published",
    "Receipt",
    "Report",
    "ReportDropped",
    "ReportNotSent",
    "StorageError",
    "SurveyClient",
    "TransportError",
    "randomize",
]

_HOME = {
    "BudgetExhausted": "hushpoll_protocols.errors",
    "ClearLine": "hushpoll_client.device.preview",
    "ClientConfig": "hushpoll_client.config",
    "ClientDisabled": "hushpoll_client.device.outcomes",
    "ConsentMissing": "hushpoll_client.device.outcomes",
    "Entry": "hushpoll_client.device.ledger",
    "HushpollError": "hushpoll_protocols.errors",
    "InvalidParameter": "hushpoll_protocols.errors",
    "Ledger": "hushpoll_client.device.ledger",
    "MalformedRecord": "hushpoll_protocols.errors",
    "ManifestRefused": "hushpoll_protocols.errors",
    "MissingExtra": "hushpoll_protocols.errors",
    "Outcome": "hushpoll_client.device.outcomes",
    "Outgoing": "hushpoll_client.device.outcomes",
    "ReportDropped": "hushpoll_client.device.outcomes",
    "OutboxFull": "hushpoll_client.device.outcomes",
    "PerturbedLine": "hushpoll_client.device.preview",
    "Preview": "hushpoll_client.device.preview",
    "Published": "hushpoll_shared.survey.published",
    "Receipt": "hushpoll_client.device.outcomes",
    "Report": "hushpoll_client.device.randomization",
    "ReportNotSent": "hushpoll_client.device.outcomes",
    "StorageError": "hushpoll_client.device.outcomes",
    "SurveyClient": "hushpoll_client.device.survey_client",
    "TransportError": "hushpoll_protocols.errors",
    "randomize": "hushpoll_client.device.randomization",
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
