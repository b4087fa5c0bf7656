"""The files that a hosted page loads: which they are, how long they are kept, that none misses."""

from __future__ import annotations

import gzip
import json
import re
from importlib import resources

import pytest

from hushpoll_analysis.html import style_sheet
from hushpoll_server.pages.assets import PARTS, WORKER, Asset, Assets, assets, hash_of, scripts
from hushpoll_shared.drafts.manifest import Manifest

pytestmark = pytest.mark.sqlite


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
    for path in files:
        if not path.endswith(".js") or path.startswith("dashboard/"):
            continue
        folder = path.rpartition("/")[0]
        for found in re.findall(r'(?:from|import) ?\(?"(\.[^"]+)"', files[path].body.decode()):
            parts = (f"{folder}/{found}" if folder else found).split("/")
            resolved: list[str] = []
            for part in parts:
                if part == "..":
                    resolved.pop()
                elif part != ".":
                    resolved.append(part)
            assert "/".join(resolved) in files, (path, found)


@pytest.fixture
def sdk(tmp_path):
    """A browser SDK with two modules and the bundle that was made of them."""
    for name, body in {
        "src/page/main.js": 'import "../wire.js";',
        "src/wire.js": "export {};",
        "src/index.js": "export {};",
        "dist/page/main.js": "one script",
        "dist/page/main.js.map": "{}",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(body)
    hashes = {
        key: hash_of(
            {
                path.relative_to(tmp_path / folder).as_posix(): path.read_bytes()
                for path in (tmp_path / folder).rglob("*.*")
            }
        )
        for key, folder in (("sources", "src"), ("bundle", "dist"))
    }
    (tmp_path / "bundle.json").write_text(json.dumps(hashes))
    return tmp_path


def test_a_bundle_that_was_made_of_the_sources_is_served_instead_of_them(sdk):
    assert scripts(sdk) == {"page/main.js": b"one script", "page/main.js.map": b"{}"}


@pytest.mark.parametrize("changed", ["src/wire.js", "src/index.js", "dist/page/main.js"])
def test_modules_are_served_where_sources_or_bundle_are_other_than_recorded(sdk, changed):
    (sdk / changed).write_text("changed")
    served = scripts(sdk)
    assert sorted(served) == ["page/main.js", "wire.js"]
    assert served["page/main.js"] == (sdk / "src/page/main.js").read_bytes()


@pytest.mark.parametrize(
    ("script", "packages"),
    [
        (
            'import { a } from "@noble/curves/ed25519.js";\nimport b from "./b.js";',
            ["@noble/curves/ed25519.js"],
        ),
        ('import{a}from"./chunk-X.js";export{b}from"../b.js";const from=1;', []),
    ],
)
def test_packages_that_no_browser_finds_are_named(script, packages):
    files = {"invited.js": script, "style.css": 'from "x"'}
    named = {path: Asset("", body.encode(), b"") for path, body in files.items()}
    assert Assets("0", named).unbundled == packages


@pytest.mark.parametrize("missing", ["dist", "bundle.json"])
def test_modules_are_served_where_no_bundle_was_made(sdk, missing):
    (sdk / missing).rename(sdk.parent / missing)
    assert sorted(scripts(sdk)) == ["page/main.js", "wire.js"]


def test_parts_that_a_survey_may_need_are_those_that_the_sdk_imports_on_demand():
    source = resources.files("hushpoll_client_js") / "src" / "features.js"
    imported = re.findall(r'&& import\("\./(\w+)\.js"\)', source.read_text(encoding="utf-8"))
    assert sorted(imported) == sorted(PARTS)


def test_page_loads_the_parts_beforehand_that_its_survey_needs_and_no_other():
    document = {
        "name": "parts",
        "version": 1,
        "title": "Parts",
        "epsilon": "2",
        "split": "uniform",
        "protocol": "GRR",
        "attributes": [
            {"name": name, "role": "sensitive", "categories": ["yes", "no"]} for name in "ab"
        ],
    }
    files = ["page/main.js", "page/worker.js", "parts/chunk-AB12.js", "parts/blocks-CD34.js"]
    served = Assets("build", dict.fromkeys(files, Asset("text/javascript", b"", b"")))
    alone = Manifest.from_dict(document).resolve()
    assert served.modules(alone) == (files[0], files[2])
    document["together"] = [{"name": "both", "attributes": ["a", "b"]}]
    together = Manifest.from_dict(document).resolve()
    assert served.modules(together) == (files[0], *files[2:])
