"""Forks 100 times while threads answer and send: run by test_worker.py in a process of its own.

Arguments: the server's address, the device's file, the number of forks. Prints one JSON object: the
versions answered by the parent and by the children, and how the children ended.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import sys
import threading
import time

from hushpoll_client import ClientConfig, Published, SurveyClient
from hushpoll_shared.drafts.manifest import Manifest

NAME = "forks"
CONFIG = ClientConfig(
    raise_faults=True, exit_patience=60, first_delay=0.02, longest_delay=0.1, wait=300
)
DRAFT = {
    "name": NAME,
    "version": 1,
    "title": "Forks",
    "epsilon": "1",
    "split": "uniform",
    "protocol": "GRR",
    "attributes": [{"name": "a", "role": "sensitive", "categories": ["x", "y"]}],
}
CHILD_SECONDS = 60


def survey(number: int) -> Published:
    return Manifest.from_dict(DRAFT | {"version": number}).resolve()


def client(number: int) -> SurveyClient:
    client_of_survey = SurveyClient(
        url, NAME, published=survey(number), storage=path, config=CONFIG
    )
    assert client_of_survey.give_consent()
    return client_of_survey


def child(number: int, inherited: SurveyClient) -> None:
    # The parent's deadlock would be the child's: the alarm ends it, and the parent sees that.
    signal.alarm(CHILD_SECONDS)
    status = 3
    try:
        own = client(number)
        ok = own.answer({"a": "x"}).status == "kept"
        ok &= own.answer({"a": "y"}).status == "known"
        ok &= inherited.answer({"a": "y"}).status == "known"
        # The child waits for its own report alone: the parent keeps adding others to the outbox.
        ok &= own.send(own.report).status in {"accepted", "duplicate"}
        # Lets its own thread finish: what is cut off in mid-air has to be sent again.
        own.close()
        inherited.close()
        status = 0 if ok else 2
    finally:
        os._exit(status)


def main() -> None:
    numbers = itertools.count(2)
    answered: list[int] = [1]
    over = threading.Event()
    first = client(1)
    first.answer({"a": "x"})
    faults: list[str] = []

    def load() -> None:
        try:
            while not over.is_set():
                number = next(numbers)
                assert client(number).answer({"a": "x"}).status == "kept"
                answered.append(number)
                time.sleep(0.1)
        except BaseException as error:
            faults.append(repr(error))
            raise

    threads = [threading.Thread(target=load) for _ in range(2)]
    for thread in threads:
        thread.start()
    running: dict[int, int] = {}
    ended: list[int] = []

    def reap() -> None:
        pid, status = os.wait()
        del running[pid]
        ended.append(os.waitstatus_to_exitcode(status))

    for number in range(100_000, 100_000 + forks):
        pid = os.fork()
        if pid == 0:
            child(number, first)
        running[pid] = number
        if len(running) >= 4:
            reap()
    while running:
        reap()
    over.set()
    for thread in threads:
        thread.join()
    done = first.flush(120)
    first.close()
    document = {"parent": answered, "ended": ended, "flushed": done, "faults": faults}
    print(json.dumps(document))


if __name__ == "__main__":
    url, path, forks = sys.argv[1], sys.argv[2], int(sys.argv[3])
    main()
