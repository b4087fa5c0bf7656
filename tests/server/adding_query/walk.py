"""Takes the added statistic through everything that hushpoll does with one: ``walk.py FOLDER``."""

from __future__ import annotations

import io
import json
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import requests
from hushpoll_shared.queries.largest_share import Largest

from hushpoll_analysis import Records
from hushpoll_analysis.records.source import OfRecords
from hushpoll_analysis.results import result_of
from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_client.cli.commandline import main
from hushpoll_fleet.demo.processes import Server
from hushpoll_shared.survey.manifest import Manifest
from hushpoll_shared.wire.batch import encode_many
from hushpoll_shared.wire.records_file import pack_records_header
from hushpoll_shared.wire.reports import Report, new_report_id, pack_reports

DRAFT: dict[str, Any] = {
    "name": "added",
    "version": 1,
    "title": "Added",
    "epsilon": "4",
    "minimum_batch": 3,
    "release": "immediate",
    "attributes": [
        {"name": "health", "role": "sensitive", "protocol": "GRR", "categories": ["=bad", "good"]}
    ],
}
STATISTIC = "/api/v1/surveys/added/versions/1/largest-share"


def hushpoll(*words: object) -> str:
    """Run a command, which must succeed, and return what it prints."""
    out = io.StringIO()
    with redirect_stdout(out), pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    assert not ended.value.code
    return out.getvalue()


def numbers(document: dict[str, Any]) -> dict[str, Any]:
    """Return what a document says beside of which release or file it is."""
    about = ("survey", "version", "digest", "pending", "release", "released_at", "next_release")
    return {name: one for name, one in document.items() if name not in (*about, "inputs")}


def walk(folder: Path) -> None:
    """Publish, answer, ask in each way, and compare."""
    published = Manifest.from_dict(DRAFT).resolve()
    rng = np.random.default_rng(1)
    rows = encode_many(published, {"health": rng.integers(0, 2, 200)}, rng)
    file = folder / "added.records"
    file.write_bytes(pack_records_header(published) + rows.tobytes())
    query = Largest(attribute="health", confidence=0.9)
    expected = result_of(query, OfRecords(Records(published, rows)))

    on_file = json.loads(
        hushpoll("records", "largest", file, "health", "--confidence", 0.9, "--json")
    )
    assert numbers(on_file) == expected.to_dict()
    hushpoll("records", "largest", file, "health", "--confidence", 0.9, "--out", folder / "1.csv")

    with Server(folder) as server, AnalystClient(server.url, server.token) as client:
        client.publish(DRAFT)
        reports = [Report(new_report_id(), bytes(row)) for row in rows]
        assert client.submit_bulk("added", pack_reports(published.digest, reports)).accepted == 200
        found = client.ask("added", 1, query)
        assert (found.largest, found.n) == (expected.largest, 200)
        assert found.about is not None
        assert found.about.digest == published.digest
        server_options = ("--url", server.url, "--token", server.token, "--confidence", 0.9)
        asked = ("relate", "largest", "added", "health", *server_options)
        assert numbers(json.loads(hushpoll(*asked, "--json"))) == expected.to_dict()
        text = hushpoll(*asked, "--out", folder / "2.csv")
        assert f"{expected.largest.frequency:.4f}" in text
        assert "90 % interval" in text
        assert (folder / "1.csv").read_bytes() == (folder / "2.csv").read_bytes()
        assert b"'=bad" in (folder / "2.csv").read_bytes() or expected.largest.category == "good"

        bearer = {"Authorization": f"Bearer {server.token}"}
        params = {"attribute": "health", "format": "csv", "confidence": 0.9}
        table = requests.get(server.url + STATISTIC, params, headers=bearer, timeout=300)
        assert table.content == (folder / "2.csv").read_bytes()
        assert "added-1-largest-share.csv" in table.headers["Content-Disposition"]
        assert requests.get(server.url + STATISTIC, params, timeout=300).status_code == 401
        made = requests.post(
            f"{server.url}/api/v1/tokens", json={"scopes": ["submit"]}, headers=bearer, timeout=300
        ).json()
        submitter = {"Authorization": f"Bearer {made['token']}"}
        refused = requests.get(server.url + STATISTIC, params, headers=submitter, timeout=300)
        assert refused.status_code == 403
        refused = requests.get(server.url + STATISTIC, headers=bearer, timeout=300)
        assert (refused.status_code, refused.json()["field"]) == (422, "attribute")
        log = requests.get(f"{server.url}/api/v1/actions", headers=bearer, timeout=300).json()
        looks = {one["words"] for one in log["actions"] if one["act"] == "looked-at-largest-share"}
        assert looks == {"looked at the largest share"}
        document = requests.get(f"{server.url}/api/v1/openapi.json", timeout=300).json()
        operation = document["paths"][
            STATISTIC.replace("added", "{name}").replace("versions/1", "versions/{version}")
        ]["get"]
        names = [one["name"] for one in operation["parameters"]]
        assert names == ["name", "version", "format", "confidence", "attribute"]
        assert set(document["components"]["schemas"]["LargestAnswer"]["required"]) > {"largest"}
    assert "Show the largest share." in hushpoll("relate", "--help")
    assert "hushpoll relate largest work-and-health health" in hushpoll(
        "relate", "largest", "--help"
    )


if __name__ == "__main__":
    walk(Path(sys.argv[1]))
