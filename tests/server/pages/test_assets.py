"""The files that a hosted page loads: how long they are kept, and that none is missing."""

from __future__ import annotations

import gzip
import re

from hushpoll_analysis.html import style_sheet
from hushpoll_server.pages.assets import WORKER, assets


def test_files_are_kept_for_ever_under_their_build_alone(site):
    build = assets().build
    for path, asset in assets().files.items():
        answer = site.get(f"/page/{build}/{path}", headers={"Accept-Encoding": "gzip"})
        assert answer.status_code == 200
        assert answer.mimetype == asset.media_type
        assert answer.headers["Content-Encoding"] == "gzip"
        assert gzip.decompress(answer.data) == asset.body
        assert "immutable" in answer.headers["Cache-Control"]
        assert ("Service-Worker-Allowed" in answer.headers) == (path == WORKER)
    plain = site.get(f"/page/{build}/style.css", headers={"Accept-Encoding": "identity"})
    assert plain.data == assets().files["style.css"].body == style_sheet().encode()
    assert site.problem(site.get("/page/0000000000000000/style.css"))[0] == 404
    assert site.problem(site.get(f"/page/{build}/../survey.html"))[0] == 404


def test_every_module_imported_in_the_browser_is_served():
    files = assets().files
    for path in assets().modules:
        folder = path.rpartition("/")[0]
        for found in re.findall(r'from "(\.[^"]+)"', files[path].body.decode()):
            parts = (f"{folder}/{found}" if folder else found).split("/")
            resolved: list[str] = []
            for part in parts:
                if part == "..":
                    resolved.pop()
                elif part != ".":
                    resolved.append(part)
            assert "/".join(resolved) in files, (path, found)
