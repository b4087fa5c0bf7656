"""What a server loads beside its first requests, so that the first seal does not hold them up."""

from __future__ import annotations

import subprocess
import sys

# Machine code that numba has loaded is in the dispatchers' overloads.
SCRIPT = """
import gc
import numpy as np
from numba.core.registry import CPUDispatcher
from hushpoll_analysis.records.pair_counts import count_pairs
from hushpoll_analysis.records.records import RecordStream
from hushpoll_protocols import SecureBits
from hushpoll_server.services.results.counting import prepare
from hushpoll_shared.wire.batch import malformed_many
from hushpoll_shared.survey.manifest import Manifest

def loaded():
    return {
        (one.py_func.__module__, one.py_func.__qualname__, signature)
        for one in gc.get_objects() if isinstance(one, CPUDispatcher)
        for signature in one.overloads
    }

prepare()
before = loaded()
assert before
protocols = ["GRR", "BLH", "OLH", "RAPPOR", "OUE", "SS", "THE"]
attributes = [
    {"name": name.lower(), "role": "sensitive", "protocol": name, "range": [1, 90]}
    for name in protocols
]
attributes.append({"name": "town", "role": "plain", "range": [1, 300]})
published = Manifest.from_dict(
    {"name": "work", "version": 1, "title": "Work", "epsilon": "14", "attributes": attributes}
).resolve()
codes = published.layout.code_answers({one.name: "3" for one in published.attributes})
records = [published.layout.encode(codes, SecureBits()) for _ in range(500)]
body = np.frombuffer(b"".join(records), dtype=np.uint8).reshape(len(records), -1)
bad, _ = malformed_many(published, body)
assert not bad.any()
assert count_pairs(RecordStream.trusted(published, [body.copy()])).counts.n == len(records)
assert loaded() == before, loaded() - before
"""


def test_the_first_seal_finds_its_machine_code_loaded():
    """Guards: 0.45 s for everybody who had a report under way."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
