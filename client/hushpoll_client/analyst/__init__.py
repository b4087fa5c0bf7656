"""The analyst's side: `AnalystClient` publishes surveys and fetches what they have yielded."""

from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_client.analyst.jobs import JobFailed
from hushpoll_client.analyst.records import BulkReceipt

__all__ = ["AnalystClient", "BulkReceipt", "JobFailed"]
