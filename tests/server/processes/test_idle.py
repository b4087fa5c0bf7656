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


def test_an_idle_server_holds_no_library_that_only_work_needs(serve):
    """Guards: 502 MB for four processes that did nothing, 55 of them for counting no reports."""
    server = serve(worker=True)
    wait_until(lambda: server.worker() is not None)
    server.publish(make_draft())
    for path in ("/s/work", "/dashboard/sign-in", "/api/v1/openapi.json", "/ready"):
        assert server.request(path)[0] == 200
    parent = psutil.Process(server.process.pid)
    (ingest,) = server.ingest()
    for process in (parent, ingest, server.web(), server.worker()):
        assert loaded(process) == set(), process.cmdline()


def test_the_first_report_makes_the_web_process_ready_to_count_and_no_other(serve):
    """So that the first seal is as fast as others; and the test above can see what is loaded."""
    server = serve(worker=True)
    published = server.publish(make_draft(minimum_batch=100))
    assert loaded(server.web()) == set()
    assert server.send(published)[0] == 201
    wait_until(lambda: "llvmlite" in loaded(server.web()))
    (ingest,) = server.ingest()
    assert loaded(ingest) == set()
