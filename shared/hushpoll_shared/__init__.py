"""What client and server agree on: manifest, budget, record, wire, problems.

The base install needs the standard library alone. The array side is in
:mod:`hushpoll_shared.wire.batch` (extra ``kernels``), YAML and the terminal need the extra ``cli``.
"""

from hushpoll_protocols import (
    BudgetExhausted,
    HushpollError,
    InvalidParameter,
    MalformedRecord,
    ManifestRefused,
    MissingExtra,
    TransportError,
)
from hushpoll_shared.spelling.canonical import InvalidJson, canonical_json, parse_json
from hushpoll_shared.spelling.clock import Clock, FixedClock, SystemClock
from hushpoll_shared.survey.attributes import Attribute, PublishedAttribute
from hushpoll_shared.survey.budget import Split, split_budget
from hushpoll_shared.survey.manifest import Manifest, load_manifest
from hushpoll_shared.survey.protected import Protected
from hushpoll_shared.survey.published import Published
from hushpoll_shared.wire.codec import Codes, Field, Layout
from hushpoll_shared.wire.problems import (
    PROBLEM_MEDIA_TYPE,
    PROBLEMS,
    Problem,
    exception_from,
    problem_document,
    problem_from,
)
from hushpoll_shared.wire.records_file import RECORDS_MEDIA_TYPE, pack_records_header, read_records
from hushpoll_shared.wire.reports import (
    REPORTS_MEDIA_TYPE,
    Report,
    b64decode,
    b64encode,
    encode_report_json,
    new_report_id,
    pack_reports,
    parse_report_json,
    unpack_reports,
)

__all__ = [
    "PROBLEMS",
    "PROBLEM_MEDIA_TYPE",
    "RECORDS_MEDIA_TYPE",
    "REPORTS_MEDIA_TYPE",
    "Attribute",
    "BudgetExhausted",
    "Clock",
    "Codes",
    "Field",
    "FixedClock",
    "HushpollError",
    "InvalidJson",
    "InvalidParameter",
    "Layout",
    "MalformedRecord",
    "Manifest",
    "ManifestRefused",
    "MissingExtra",
    "Problem",
    "Protected",
    "Published",
    "PublishedAttribute",
    "Report",
    "Split",
    "SystemClock",
    "TransportError",
    "b64decode",
    "b64encode",
    "canonical_json",
    "encode_report_json",
    "exception_from",
    "load_manifest",
    "new_report_id",
    "pack_records_header",
    "pack_reports",
    "parse_json",
    "parse_report_json",
    "problem_document",
    "problem_from",
    "read_records",
    "split_budget",
    "unpack_reports",
]
