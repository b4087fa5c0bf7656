"""What a release needs: versions and addresses that agree, and scripts that run."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from datetime import date
from pathlib import Path

import pytest
import yaml

from waiting import LONGEST_SECONDS

ROOT = Path(__file__).resolve().parent.parent
NPM = "client/hushpoll_client_js/package.json"
LOCK = "client/hushpoll_client_js/package-lock.json"
FILES = ("pyproject.toml", "server/pyproject.toml", NPM, LOCK, "CITATION.cff", "CHANGELOG.md")
RELATIVE = re.compile(r"\]\((?!https?://|#)[^)]*\)")
URL = "https://git.example.org/team/hushpoll"


def project(folder: Path) -> dict:
    return tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def hook():
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def checkout(tmp_path):
    """The files that a release changes, with the scripts that change them."""
    for name in (*FILES, "project-url.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    return tmp_path


def run(folder: Path, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [folder / "scripts" / command[0], *command[1:]],
        capture_output=True,
        text=True,
        timeout=LONGEST_SECONDS,
        env={**os.environ, "PYTHON": sys.executable, **environment},
    )


def versions(folder: Path) -> set[str]:
    lock = json.loads((folder / LOCK).read_text(encoding="utf-8"))
    return {
        project(folder)["version"],
        project(folder / "server")["version"],
        json.loads((folder / NPM).read_text(encoding="utf-8"))["version"],
        lock["version"],
        lock["packages"][""]["version"],
        yaml.safe_load((folder / "CITATION.cff").read_text(encoding="utf-8"))["version"],
    }


def test_every_package_and_the_citation_have_one_version():
    assert versions(ROOT) == {project(ROOT)["version"]}


def test_every_address_of_the_repository_is_that_of_the_one_setting(hook):
    url = hook.address((ROOT / "project-url.txt").read_text(encoding="utf-8"))
    package = json.loads((ROOT / NPM).read_text(encoding="utf-8"))
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert package.get("homepage", "") == citation.get("repository-code", "") == url


@pytest.mark.parametrize("url", ["", URL])
def test_the_description_has_no_link_that_leads_nowhere(hook, url):
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    assert RELATIVE.search(page)
    described = hook.description(page, url)
    assert not RELATIVE.search(described)
    assert (f"[contributing]({URL}/blob/main/CONTRIBUTING.md)" in described) == bool(url)
    assert ("· contributing\n" in described) == (not url)
    # A picture is the file itself, or left out with its words.
    assert (f"]({URL}/raw/main/docs/images/dashboard-survey.png)" in described) == bool(url)
    assert ("![" in described) == bool(url)
    # What npm shows is the file itself, so it has none.
    assert not RELATIVE.search((ROOT / NPM).with_name("README.md").read_text(encoding="utf-8"))
    assert not RELATIVE.search((ROOT / "server" / "README.md").read_text(encoding="utf-8"))


def test_the_changelog_s_releases_have_a_version_and_a_date_the_newest_first():
    page = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    first, *released = re.findall(r"^## (.+)$", page, re.MULTILINE)
    assert first == "Unreleased"
    found = [re.fullmatch(r"\[(\d+)\.(\d+)\.(\d+)\] - (\d{4}-\d\d-\d\d)", one) for one in released]
    keys = [(tuple(map(int, one.groups()[:3])), date.fromisoformat(one[4])) for one in found]
    assert keys == sorted(keys, reverse=True)
    if keys:
        assert ".".join(map(str, keys[0][0])) == project(ROOT)["version"]


def test_a_release_writes_its_version_everywhere(checkout):
    for version in ("1.2.3", "1.2.4"):
        done = run(checkout, "release", version)
        assert done.returncode == 0, done.stderr
        assert versions(checkout) == {version}
        assert (
            f"hushpoll[cli,import,kernels]=={version}"
            in project(checkout / "server")["dependencies"]
        )
    citation = (checkout / "CITATION.cff").read_text(encoding="utf-8")
    assert citation.count("date-released:") == 1
    headings = re.findall(r"^## (.+)$", (checkout / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0] == "Unreleased"
    assert re.fullmatch(r"\[1\.2\.4\] - \d{4}-\d\d-\d\d", headings[1])
    refused = run(checkout, "release", "next")
    assert (refused.returncode, "three numbers" in refused.stderr) == (1, True)


def test_the_first_release_makes_a_section_of_all_that_is_unreleased(checkout):
    page = checkout / "CHANGELOG.md"
    _, entries = page.read_text(encoding="utf-8").split("## Unreleased\n")
    version = project(checkout)["version"]
    assert run(checkout, "release", version).returncode == 0
    released = re.fullmatch(
        rf"(?s).*## Unreleased\n\n## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d\n(.*)",
        page.read_text(encoding="utf-8"),
    )
    assert released[1] == entries
    again = run(checkout, "release", version)
    assert (again.returncode, "is not newer than" in again.stderr) == (1, True)
    assert page.read_text(encoding="utf-8") == released[0]


def test_the_address_is_written_everywhere_and_can_be_changed(checkout, hook):
    for url in ("https://old.example.org/a/b/", URL):
        assert run(checkout, "project-url", url).returncode == 0
    setting = (checkout / "project-url.txt").read_text(encoding="utf-8")
    assert hook.address(setting) == URL
    assert setting.startswith("# ")
    package = json.loads((checkout / NPM).read_text(encoding="utf-8"))
    assert (package["homepage"], package["repository"]["url"]) == (URL, f"git+{URL}.git")
    citation = (checkout / "CITATION.cff").read_text(encoding="utf-8")
    assert yaml.safe_load(citation)["repository-code"] == URL
    refused = run(checkout, "project-url", "git.example.org")
    assert (refused.returncode, "no https address" in refused.stderr) == (1, True)


def test_without_a_container_engine_the_image_s_script_says_so(checkout, tmp_path):
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("bash", "dirname", "sed", "env"):
        (tools / name).symlink_to(shutil.which(name))
    done = run(checkout, "image", PATH=str(tools))
    assert (done.returncode, done.stdout) == (77, "")
    assert "this machine has no container engine" in done.stderr


def test_every_command_of_the_checklist_exists():
    page = (ROOT / "docs" / "release-checklist.md").read_text(encoding="utf-8")
    named = set(re.findall(r"^\$ (scripts/[\w-]+)", page, re.MULTILINE))
    assert {"scripts/release", "scripts/distributions", "scripts/image"} <= named
    for name in named:
        assert os.access(ROOT / name, os.X_OK), name


@pytest.mark.slow
def test_distributions_pass_the_index_s_checks_and_install_into_an_empty_environment():
    done = subprocess.run(
        [ROOT / "scripts" / "distributions"], capture_output=True, text=True, timeout=1800
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("PASSED") == 4
    assert done.stdout.count("install from their") == 2
