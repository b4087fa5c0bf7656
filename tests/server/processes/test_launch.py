"""A forked child is to its parent, and to itself, as a new program would be; Linux forks."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import psutil

from waiting import LONGEST_SECONDS, wait_until

# It says what it has, and ends with its parent.
LOOKS = """\
import json, os, signal, sys, time
def run():
    line = json.loads(sys.stdin.buffer.readline())
    found = {
        "settings": line["settings"],
        "descriptors": [one for one in range(100) if os.path.exists(f"/proc/self/fd/{one}")],
        "leads": os.getsid(0) == os.getpid(),
        "handlers": [signal.getsignal(signal.SIGTERM) is signal.SIG_DFL, signal.SIGTERM in
                     signal.pthread_sigmask(signal.SIG_BLOCK, ())],
        "name": open("/proc/self/comm").read().strip(),
        "path": sys.path[0],
    }
    with open(f"{line['server']}.json", "w") as file:
        json.dump(found, file)
    os.write(1, b"ready\\n")
    if line["server"] == "fails":
        raise ValueError("a fault of a child")
    while True:  # it is ended, whatever it does
        time.sleep(1)
"""
PARENT = """\
import asyncio, json, os, signal, sys
from hushpoll_server.processes.children import Orders
from hushpoll_server.processes.launch import fork, launch
async def main():
    assert launch() is fork
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, print, "the parent was told to end")
    kept = os.open("/dev/null", os.O_RDONLY)
    children = {
        name: await fork("child_that_looks", Orders({"name": name}, kept, "", None, name))
        for name in ("first", "second", "fails")
    }
    told = [await one.said_ready() for one in children.values()]
    failed = await children["fails"].wait()
    children["first"].send_signal(signal.SIGTERM)
    codes = [failed, await children["first"].wait()]
    runs = children["second"].returncode
    print(json.dumps([kept, told, codes, runs, children["second"].pid]), flush=True)
sys.path.insert(0, os.getcwd())
sys.path.insert(0, "first")
asyncio.run(main())
"""


def test_forked_child_is_as_a_new_program(tmp_path):
    """Guards: pipes of other children that stay open, handlers and a path that are the parent's."""
    (tmp_path / "child_that_looks.py").write_text(LOOKS)
    done = subprocess.run(
        [sys.executable, "-c", PARENT],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=LONGEST_SECONDS,
    )
    assert done.returncode == 0, done.stderr
    kept, told, codes, runs, pid = json.loads(done.stdout)
    assert (told, codes, runs) == ([True] * 3, [1, -signal.SIGTERM], None)
    assert "ValueError: a fault of a child" in done.stderr
    # it ends as soon as its parent has ended, for nobody else has the other end of its pipe
    wait_until(lambda: _has_ended(pid), pause=0.1)
    for name in ("first", "second", "fails"):
        found = json.loads((tmp_path / f"{name}.json").read_text())
        assert found == {
            "settings": {"name": name},
            "descriptors": [0, 1, 2, kept],
            "leads": True,
            "handlers": [True, False],
            "name": "hushpoll-child_that_looks"[:15],
            "path": str(tmp_path),
        }


def _has_ended(pid: int) -> bool:
    try:
        # Where no first process takes the end of orphans, their number stays.
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
