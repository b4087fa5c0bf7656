"""What leaves the device: a digest, a random id and one perturbed record."""

from __future__ import annotations

import json
from dataclasses import dataclass

from hushpoll_shared.spelling.canonical import parse_json
from hushpoll_shared.wire import reports as wire


@dataclass(frozen=True, slots=True)
class Report:
    """One respondent's randomised answers, ready to be sent now, later, or by other means.

    Attributes
    ----------
    digest : str
        Digest of the published survey, 64 hexadecimal digits.
    id : bytes
        16 random bytes. The server counts an id once, so a report may be sent any number of times.
    record : bytes
        The fixed-size record: perturbed attributes as their protocol's record, others in clear.
    """

    digest: str
    id: bytes
    record: bytes

    def __repr__(self) -> str:
        # The record holds the clear answers, so it stays out of logs and crash reports.
        return f"Report(digest={self.digest[:12]}…, id={self.id.hex()}, {len(self.record)} bytes)"

    def to_json(self) -> str:
        """Return the report as JSON, exactly as the server takes it in a POST."""
        document = wire.encode_report_json(self.digest, wire.Report(self.id, self.record))
        return json.dumps(document, separators=(",", ":"), sort_keys=True)

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
