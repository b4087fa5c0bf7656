"""The three distributions, really built: their files, that they stand apart, the SDK's weight."""

from __future__ import annotations

import json
import os
import py_compile
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest

from hushpoll_client.cli.commands import COMMANDS, Group
from hushpoll_protocols.errors import MissingExtra
from waiting import LONGEST_SECONDS

ROOT = Path(__file__).resolve().parent.parent
DEVICE = {"hushpoll_protocols", "hushpoll_shared", "hushpoll_client"}
SERVER = {"hushpoll_analysis", "hushpoll_training", "hushpoll_server", "hushpoll_fleet"}
LABORATORY = {"hushpoll_lab"}
BROWSER = "hushpoll_client_js"
LIMIT = 8_000_000
BENEATH = ("requests", "urllib3", "idna", "certifi", "charset-normalizer")


def project(folder: Path) -> dict:
    return tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]


FOLDERS = {"base": ROOT, "server": ROOT / "server", "lab": ROOT / "server" / "lab"}
BASE, OTHER, LAB = map(project, FOLDERS.values())


def build(folder: Path, into: Path) -> tuple[Path, Path]:
    """Wheel and source distribution of a folder, without a network."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-t", "sdist", "-d", into],
        cwd=folder,
        check=True,
        capture_output=True,
        timeout=LONGEST_SECONDS,
    )
    (wheel,) = into.glob("*.whl")
    (sdist,) = into.glob("*.tar.gz")
    return wheel, sdist


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        found = {name: archive.read(name) for name in archive.namelist()}
    for name in found:
        if name.endswith(".dist-info/RECORD"):  # in the order in which files were found
            found[name] = b"\n".join(sorted(found[name].splitlines()))
    return found


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    made = {}
    for name, folder in FOLDERS.items():
        wheel, sdist = build(folder, tmp_path_factory.mktemp(name))
        made[name] = SimpleNamespace(wheel=wheel, sdist=sdist, files=contents(wheel))
    return SimpleNamespace(**made)


def top(files) -> set[str]:
    return {name.partition("/")[0] for name in files if ".dist-info/" not in name}


def test_all_have_one_version_and_stand_on_exactly_that():
    version = BASE["version"]
    assert OTHER["version"] == version
    package = json.loads((ROOT / "client" / BROWSER / "package.json").read_text())
    assert package["version"] == version
    assert f"hushpoll[cli,import,kernels]=={version}" in OTHER["dependencies"]
    assert LAB["version"] == version
    assert f"hushpoll-server[train]=={version}" in LAB["dependencies"]
    assert BASE["requires-python"] == OTHER["requires-python"] == LAB["requires-python"]
    for name in ("hushpoll", "hushpoll-server", "hushpoll-lab"):
        assert metadata.version(name) == version


def test_the_base_names_no_other_distribution_of_ours():
    # `.[server]` would otherwise fetch that name from an index, from any owner it has there.
    assert [one.split(">")[0] for one in BASE["dependencies"]] == ["requests"]
    for extra in BASE["optional-dependencies"].values():
        assert not any(one.startswith("hushpoll") for one in extra)


def test_every_extra_that_a_command_or_an_error_names_exists():
    rows = {name: row for name, row in COMMANDS.items() if not isinstance(row, Group)}
    for name, group in COMMANDS.items():
        if isinstance(group, Group):
            rows |= {f"{name} {second}": row for second, row in group.commands.items()}
    for name, row in rows.items():
        package = row.target.partition(".")[0]
        said = str(MissingExtra(row.extra, name)).rpartition("pip install ")[2].split()[-1]
        folder, _, extra = said.strip("']").partition("[")
        declared = {".": BASE, "./server": OTHER, "./server/lab": LAB}[folder]
        brings = {".": DEVICE, "./server": SERVER, "./server/lab": LABORATORY}
        assert package in brings[folder], name
        assert not extra or extra in declared["optional-dependencies"]


def test_the_wheels_hold_every_file_of_every_package_and_none_twice(built):
    assert top(built.base.files) == DEVICE
    assert top(built.server.files) == SERVER | {BROWSER}
    assert top(built.lab.files) == LABORATORY
    packed = built.base.files | built.server.files | built.lab.files
    assert len(packed) == sum(len(one.files) for one in vars(built).values())
    for folder in ("protocols", "shared", "client", "server"):
        for package in DEVICE | SERVER | LABORATORY:
            for path in (ROOT / folder / package).rglob("*"):
                name = path.relative_to(ROOT / folder).as_posix()
                if path.is_file() and "/." not in name and "__pycache__" not in name:
                    assert packed[name] == path.read_bytes()
    assert not any("node_modules" in name or "__pycache__" in name for name in packed)
    for wheel in vars(built).values():
        (licence,) = [body for name, body in wheel.files.items() if name.endswith("s/LICENSE")]
        assert licence == (ROOT / "LICENSE").read_bytes()


@pytest.mark.parametrize("name", list(FOLDERS))
def test_a_source_distribution_builds_the_same_wheel(built, name, tmp_path):
    one = getattr(built, name)
    # Beside a folder `client` that is not ours, which must not be looked at.
    (tmp_path / "client" / "hushpoll_fleet").mkdir(parents=True)
    with tarfile.open(one.sdist) as archive:
        if hasattr(tarfile, "data_filter"):  # Python 3.11.4; Debian 12 has 3.11.2
            archive.extraction_filter = tarfile.data_filter
        archive.extractall(tmp_path)
    wheel, _ = build(tmp_path / one.sdist.name.removesuffix(".tar.gz"), tmp_path / "dist")
    assert contents(wheel) == one.files


@pytest.mark.parametrize("name", list(FOLDERS))
def test_the_description_in_a_wheel_has_no_link_to_a_file_beside_it(built, name):
    files = getattr(built, name).files
    (page,) = [body.decode() for path, body in files.items() if path.endswith("/METADATA")]
    assert "Description-Content-Type: text/markdown" in page
    assert not re.search(r"\]\((?!https?://|#)[^)]*\)", page)


def unpack(wheels, folder: Path) -> Path:
    for wheel in wheels:
        with zipfile.ZipFile(wheel.wheel) as archive:
            archive.extractall(folder)
    return folder


def run(folder: Path, code: str) -> subprocess.CompletedProcess[str]:
    """Run with ours from a folder, and the libraries of this environment but not its ours."""
    libraries = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    # -S: an editable install is a .pth file, and those are read by site.
    before = f"import sys; sys.path[:0] = [{str(folder)!r}]; sys.path += {libraries!r}\n"
    return subprocess.run(
        [sys.executable, "-I", "-S", "-c", before + code],
        capture_output=True,
        text=True,
        timeout=LONGEST_SECONDS,
        env={key: value for key, value in os.environ.items() if not key.startswith("HUSHPOLL_")},
    )


ANSWER = """
from hushpoll_client import Published, randomize
from hushpoll_shared import Manifest
import hushpoll_client
attribute = {"name": "smokes", "role": "sensitive", "protocol": "GRR", "categories": ["yes", "no"]}
draft = {"name": "habits", "version": 1, "title": "Habits", "epsilon": "2", "split": "uniform",
         "attributes": [attribute]}
published = Published.from_json(Manifest.from_dict(draft).resolve().canonical)
print(hushpoll_client.__file__, len(randomize(published, {"smokes": "yes"}).record))
"""


@pytest.mark.parametrize("command", ["serve", "simulate", "plan", "train", "demo"])
def test_the_base_alone_answers_and_names_what_the_rest_needs(built, tmp_path, command):
    folder = unpack([built.base], tmp_path)
    answered = run(folder, ANSWER)
    assert answered.stdout.split() == [str(folder / "hushpoll_client" / "__init__.py"), "1"]
    refused = run(
        folder, f"from hushpoll_client.cli.commandline import main\nmain([{command!r}, '--help'])"
    )
    assert (refused.returncode, refused.stdout) == (3, "")
    wanted = {"train": "'./server[train]'", "demo": "'./server[train]'"}
    assert f"pip install . {wanted.get(command, './server')}\n" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_all_together_have_every_command_and_the_browser_s_modules(built, tmp_path):
    folder = unpack([built.base, built.server, built.lab], tmp_path)
    done = run(
        folder,
        "from importlib import import_module, resources\n"
        "from hushpoll_client.cli.commands import COMMANDS\n"
        "for entry in COMMANDS.values():\n"
        "    for row in getattr(entry, 'commands', {'': entry}).values():\n"
        "        module, _, attribute = row.target.partition(':')\n"
        "        getattr(import_module(module), attribute)\n"
        "from hushpoll_server.pages.assets import ENTRY, assets\n"
        "assert assets().files[ENTRY].body\n"
        "from hushpoll_shared.samples import sample_manifest\n"
        "assert sample_manifest()\n"
        "tool = resources.files('hushpoll_client_js') / 'tools' / 'draw.js'\n"
        "print(tool, tool.is_file())",
    )
    assert done.stdout.split() == [str(folder / BROWSER / "tools" / "draw.js"), "True"], done.stderr


def compiled(source: Path, scratch: Path) -> int:
    return Path(py_compile.compile(str(source), cfile=str(scratch), doraise=True)).stat().st_size


def test_the_base_install_with_byte_code_is_under_8_mb(built, tmp_path):
    """The same sum as that of scripts/sdk-size, which installs into a fresh environment."""
    paths = [path for path in unpack([built.base], tmp_path / "base").rglob("*") if path.is_file()]
    for name in BENEATH:
        for entry in metadata.files(name):
            path = Path(entry.locate())
            if path.suffix != ".pyc" and path.is_file():
                paths.append(path)
    sizes = [path.stat().st_size for path in paths]
    codes = [compiled(path, tmp_path / "one.pyc") for path in paths if path.suffix == ".py"]
    assert len(sizes) > 150
    assert sum(sizes) + sum(codes) < LIMIT


def test_pip_takes_all_from_their_folders_and_asks_no_index():
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--dry-run", "--no-index", "--no-build-isolation",
         "--disable-pip-version-check", ".", "./server[dev]", "./server/lab"],
        cwd=ROOT, capture_output=True, text=True, timeout=LONGEST_SECONDS,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    version = BASE["version"]
    installed = " ".join(
        f"{name}-{version}" for name in sorted(("hushpoll", "hushpoll-server", "hushpoll-lab"))
    )
    assert f"Would install {installed}" in done.stdout


@pytest.mark.slow
def test_a_fresh_environment_gets_requests_and_what_it_needs():
    done = subprocess.run(
        [ROOT / "scripts" / "sdk-size"], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
