"""A real server on a real database, and reports to send it; shared by the ingest benchmarks."""

from __future__ import annotations

import http.client
import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hushpoll_fleet.demo.processes import Server
from hushpoll_shared.survey.published import Published
from hushpoll_shared.wire.batch import encode_many
from postgres import PostgreSQL

DATABASES = ("sqlite", "postgresql")
SURVEY = "load"
REPORTS = f"/api/v1/surveys/{SURVEY}/reports"

# A record of 42 bytes: one attribute of each family of protocols, and two in clear.
DRAFT: dict[str, Any] = {
    "name": SURVEY,
    "version": 1,
    "title": "Load",
    "epsilon": "4",
    "release": "immediate",
    "attributes": [
        {"name": "gender", "role": "sensitive", "protocol": "GRR", "categories": ["F", "M"]},
        {"name": "age", "role": "sensitive", "protocol": "OUE", "range": [17, 90]},
        {"name": "country", "role": "sensitive", "protocol": "SS", "range": [1, 42]},
        {"name": "race", "role": "sensitive", "protocol": "OLH", "range": [1, 5]},
        {"name": "education", "role": "plain", "range": [1, 16]},
        {"name": "income", "role": "target", "categories": ["0", "1"], "positive": "1"},
    ],
}

Bytes = npt.NDArray[np.uint8]


@contextmanager
def empty_database(kind: str) -> Iterator[tuple[str, Path]]:
    """Give the URL of a new database, and a folder; SQLite's file is in it."""
    folder = Path(tempfile.mkdtemp(prefix="hushpoll-load-"))
    try:
        if kind == "sqlite":
            yield f"sqlite:///{folder}/hushpoll.sqlite", folder
        else:
            with PostgreSQL() as server:
                yield server.create("hushpoll"), folder
    finally:
        shutil.rmtree(folder)


@contextmanager
def running(kind: str, *options: str) -> Iterator[tuple[Server, str, Published]]:
    """Serve the survey from a new database; give the server, the database's URL and the survey."""
    with (
        empty_database(kind) as (url, folder),
        Server(
            folder, options=("--database-url", url, "--log-level", "warning", *options)
        ) as server,
    ):
        yield server, url, publish(server)


def publish(server: Server) -> Published:
    """Publish the survey."""
    status, answer = ask(server, "POST", "/api/v1/surveys", json.dumps(DRAFT).encode())
    assert status == 201, answer
    return Published.from_json(answer["manifest"])


def ask(server: Server, method: str, path: str, body: bytes | None = None) -> tuple[int, Any]:
    """Send one request as the administrator."""
    connection = connect(server)
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {server.token}"}
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    reply = answer.status, json.loads(answer.read())
    connection.close()
    return reply


def connect(server: Server) -> http.client.HTTPConnection:
    """Open a connection that is kept."""
    return http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=60)


def records(published: Published, count: int, rng: np.random.Generator) -> Bytes:
    """Return uint8[count, L]: perturbed records of uniform answers."""
    codes = {
        attribute.name: rng.integers(0, len(attribute.categories), count)
        for attribute in published.attributes
    }
    return encode_many(published, codes, rng)


def ids(count: int, rng: np.random.Generator) -> Bytes:
    """Return uint8[count, 16]."""
    return rng.integers(0, 256, (count, 16), dtype=np.uint8)
