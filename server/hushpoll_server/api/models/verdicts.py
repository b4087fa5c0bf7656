"""The verdict of a result, as answers have it that are about no query."""

from __future__ import annotations

from typing import Final

from hushpoll_server.api.schemas import row_model
from hushpoll_shared.qualifying.verdict import Verdict

RESULT_VERDICT: Final = row_model(Verdict)
