"""What the processes of a server hold before there is work for them: libraries, not seconds."""

from __future__ import annotations

import re

import psutil

from sample_survey import make_draft
from waiting import wait_until

# Libraries with compiled parts, of which a process that has loaded one maps a file.
HEAVY = ("llvmlite", "numba", "pandas", "lightgbm", "sklearn", "scipy", "pyarrow", "vl_convert")
HEAVY += ("psycopg_binary", "matplotlib", "polars")
OURS = re.compile(rf"/site-packages/({'|'.join(HEAVY)})(?:\.libs)?/")


def loaded(process: psutil.Process) -> set[str]:
    """The heavy libraries that a process maps."""
    paths = (OURS.search(file.path) for file in process.memory_maps())
    return {found[1] for found in paths if found}


def test_idle_server_holds_no_library_that_only_work_needs_until_the_first_report(serve):
    """The first report makes the web process ready to count, so that the first seal is fast.

    Guards: 502 MB for four processes that did nothing, 55 of them for counting no reports.
    """
    server = serve(worker=True)
    wait_until(lambda: server.worker() is not None)
    published = server.publish(make_draft(minimum_batch=100))
    for path in ("/s/work", "/dashboard/sign-in", "/api/v1/openapi.json", "/ready"):
        assert server.request(path)[0] == 200
    parent = psutil.Process(server.process.pid)
    (ingest,) = server.ingest()
    for process in (parent, ingest, server.web(), server.worker()):
        assert loaded(process) == set(), process.cmdline()
    assert server.send(published)[0] == 201
    wait_until(lambda: "llvmlite" in loaded(server.web()))
    assert loaded(ingest) == set()
