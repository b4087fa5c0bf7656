"""The device side: fetch and pin a survey, preview, randomise once, send the same bytes.

The base install is enough, and importing this loads neither numpy nor requests. The command line
(`hushpoll_client.commandline`) and the analyst's client (`hushpoll_client.analyst`) are not loaded
with it.
"""

from hushpoll_client.config import ClientConfig
from hushpoll_client.preview import ClearLine, PerturbedLine, Preview
from hushpoll_client.randomize import randomize
from hushpoll_client.report import Report
from hushpoll_client.survey_client import Receipt, ReportNotSent, SurveyClient
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
    "HushpollError",
    "InvalidParameter",
    "MalformedRecord",
    "ManifestRefused",
    "MissingExtra",
    "PerturbedLine",
    "Preview",
    "Published",
    "Receipt",
    "Report",
    "ReportNotSent",
    "SurveyClient",
    "TransportError",
    "randomize",
]
