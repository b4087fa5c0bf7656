"""Takes the added statistic through everything that hushpoll does with one: ``walk.py FOLDER``."""

from __future__ import annotations

import io
import json
import re
import runpy
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import requests
from hushpoll_shared.queries.largest_share import Largest, LargestShare

from hushpoll_analysis import Records
from hushpoll_analysis.query_results import result_of
from hushpoll_analysis.records.source import OfRecords
from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_client.cli.commandline import main
from hushpoll_fleet.demo.processes import Server
from hushpoll_server.charts.figures import cell_of_shares
from hushpoll_server.survey_reports.content.report_results import results_of
from hushpoll_server.survey_reports.files.bundle import read_bundle
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.qualifying.possible import SHARES
from hushpoll_shared.wire.batch import encode_many
from hushpoll_shared.wire.records_file import pack_records_header
from hushpoll_shared.wire.reports import Report, new_report_id, pack_reports

ROOT = Path(__file__).resolve().parents[3]
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


def shown(expected: LargestShare) -> str:
    """Return the share as pages and reports have it, since its section says that it is one."""
    return cell_of_shares(f"{expected.largest.frequency:.4f}", SHARES)


def in_the_docs(document: dict[str, Any], folder: Path) -> None:
    """The references of commands and of HTTP, and the row of the authorisation matrix."""
    sys.path += [str(ROOT / "docs"), str(ROOT / "tests")]
    from directives import commands, routes

    assert "## hushpoll relate largest" in commands.text("relate")
    assert "## hushpoll records largest" in commands.text("records")
    routes.DOCUMENT = folder / "openapi.json"
    routes.DOCUMENT.write_text(json.dumps(document), encoding="utf-8")
    assert "largest-share" in routes.text()
    matrix = runpy.run_path(str(ROOT / "tests" / "server" / "test_authorisation_matrix.py"))
    rows = {route.endpoint: route for route in matrix["ROUTES"]}
    assert (rows["queries.largest_share"].scope, rows["queries.largest_share"].done) == (
        "read",
        422,
    )


def on_the_dashboard(
    server: Server, bearer: dict[str, str], expected: LargestShare, table: bytes
) -> None:
    """Its form, its page, its files and a refusal, for a reader of the survey alone."""
    board, path = f"{server.url}/dashboard", "/surveys/added/versions/1/results"
    for name, roles in (("ada", {"added": "reader"}), ("eve", {})):
        user = {"name": name, "password": "correct horse battery", "roles": roles}
        added = requests.post(f"{server.url}/api/v1/users", json=user, headers=bearer, timeout=300)
        assert added.status_code == 201, added.text
    asked = {"attribute": "health", "confidence": "0.9"}
    with requests.Session() as ada, requests.Session() as eve:
        for person, name in ((ada, "ada"), (eve, "eve")):
            form = person.get(f"{board}/sign-in", timeout=300).text
            token = re.search(r'name="form_token" value="([^"]*)"', form)
            assert token is not None
            fields = {"form_token": token[1], "name": name, "password": "correct horse battery"}
            person.post(f"{board}/sign-in", fields, timeout=300)
        assert f"{path}/largest-share" in ada.get(board + path, timeout=300).text
        empty = ada.get(f"{board}{path}/largest-share", timeout=300).text
        assert "Choose: Question." in empty
        assert '<option value="health">health</option>' in empty
        page = ada.get(f"{board}{path}/largest-share", params=asked, timeout=300).text
        assert shown(expected) in page
        assert "90 % interval" in page
        assert expected.intervals in page
        assert page.count('<div class="bands" role="img"') == 1  # its section declares shares
        assert re.search(r'<h2 id="heading"><bdi dir="ltr">[^<]+</bdi></h2>', page)  # as a sentence
        assert re.search(r'<p class="downloads">Download: <a href="[^"]*largest-share/file', page)
        document = ada.get(f"{board}{path}/largest-share/file.json", params=asked, timeout=300)
        assert numbers(document.json()) == expected.to_dict()
        file = ada.get(f"{board}{path}/largest-share/file.csv", params=asked, timeout=300)
        assert file.content == table
        wrong = asked | {"confidence": "2"}
        refused = ada.get(f"{board}{path}/largest-share", params=wrong, timeout=300)
        assert refused.status_code == 422
        assert re.search(r'name="confidence"[^>]*aria-invalid="true"', refused.text)
        stranger = eve.get(f"{board}{path}/largest-share", params=asked, timeout=300)
        assert stranger.status_code == 404
        signed_out = requests.get(
            f"{board}{path}/largest-share", params=asked, allow_redirects=False, timeout=300
        )
        assert signed_out.status_code == 303


def in_a_report(
    server: Server, client: AnalystClient, expected: LargestShare, folder: Path
) -> None:
    """Its section, and its numbers and table in the bundle, from which they are made again."""
    query = Largest(attribute="health", confidence=0.9)
    words = ("report", "added", "--url", server.url, "--token", server.token)
    hushpoll(*words, "--result", query.address(), "--out", folder / "added.html")
    text = (folder / "added.html").read_text(encoding="utf-8")
    titles = ("Largest share</bdi></h3>", '<p class="asked">Largest share</p>')
    assert any(title in text for title in titles)
    assert shown(expected) in text
    file = io.BytesIO()
    client.report("added", 1, file.write, format="bundle", results=[query])
    basis, files = read_bundle(file.getvalue())
    (found,) = results_of(basis)["results"]
    assert found == json.loads(files["results.json"])["results"][0]
    assert Largest.result_of(found["result"]).largest == expected.largest
    assert any(name.endswith("-largest-share.csv") for name in files)


def walk(folder: Path) -> None:
    """Publish, answer, ask in each way, and compare."""
    published = Manifest.from_dict(DRAFT).resolve()
    rng = np.random.default_rng(1)
    rows = encode_many(published, {"health": rng.integers(0, 2, 200)}, rng)
    file = folder / "added.records"
    file.write_bytes(pack_records_header(published, len(rows)) + rows.tobytes())
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
        assert f"{expected.largest.frequency:.3f}" in text
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
        in_the_docs(document, folder)
        on_the_dashboard(server, bearer, expected, (folder / "2.csv").read_bytes())
        in_a_report(server, client, expected, folder)
        names = [one["name"] for one in operation["parameters"]]
        assert names == ["name", "version", "format", "confidence", "where", "attribute"]
        assert set(document["components"]["schemas"]["LargestAnswer"]["required"]) > {"largest"}
    assert "Show the largest share." in hushpoll("relate", "--help")
    assert "hushpoll relate largest work-and-health health" in hushpoll(
        "relate", "largest", "--help"
    )


if __name__ == "__main__":
    walk(Path(sys.argv[1]))
