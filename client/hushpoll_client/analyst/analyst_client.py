"""`AnalystClient`: everything that an analyst asks a server for. It needs the base install only.

Answers are returned as the server's JSON; published manifests are checked like on a device.
"""

from __future__ import annotations

from hushpoll_client.analyst.drafts import DraftCalls
from hushpoll_client.analyst.jobs import JobCalls
from hushpoll_client.analyst.kept_results import KeptResultCalls
from hushpoll_client.analyst.records import RecordCalls
from hushpoll_client.analyst.reports import ReportCalls
from hushpoll_client.analyst.statistics import StatisticCalls
from hushpoll_client.analyst.surveys import SurveyCalls, TokenCalls


class AnalystClient(
    SurveyCalls,
    DraftCalls,
    TokenCalls,
    RecordCalls,
    StatisticCalls,
    ReportCalls,
    JobCalls,
    KeptResultCalls,
):
    """Bearer-token access to a server; `name` and `version` of a method are the survey's.

    Parameters
    ----------
    url : str
        Address of the server; https, or http for this machine alone.
    token : str or None
        Bearer token with the scopes that the calls need.
    config : ClientConfig
        Timeouts, retries, largest answer.
    session : requests.Session or None
        Session to send with; the caller closes it.
    pacing : Pacing or None
        Source of time and jitter, for tests.

    Raises
    ------
    InvalidParameter
        If the address or the token cannot be used.
    """
