"""The scripts: what they install from Debian, and what a run of CI takes from before."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from longest_modules import LONGEST_MODULES

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted(path for path in (ROOT / "scripts").iterdir() if path.is_file())
PACKAGES = ROOT / "scripts" / "packages"
# What every system has, or pip brings.
OTHERS = {"bash", "gunicorn", "node", "npm"}


def bash(command, **options):
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command], capture_output=True, text=True, **options
    )


def table():
    listed = bash(f"source {PACKAGES}; debian_packages", check=True).stdout
    return dict(line.partition("#")[0].split() for line in listed.splitlines())


def asked(script):
    """The names that a script asks for."""
    lines = (line.partition(" #")[0] for line in script.read_text(encoding="utf-8").splitlines())
    for line in lines:
        if not line.lstrip().startswith("#"):
            for names in re.findall(r"(?:^|[;&|]|\bthen)\s*have ((?:[\w.+-]+ ?)+)", line):
                yield from names.split()


def test_every_script_asks_by_names_of_the_table():
    names = {script.name: set(asked(script)) for script in SCRIPTS if script != PACKAGES}
    browsers = {"chromium-headless-shell", "firefox-esr"}
    assert browsers | {"redis-server", "curl", "nginx"} <= names["test"]
    assert browsers | {"nginx"} <= names["test-js"]
    assert "libgomp.so.1" in names["environment"] & names["test-lowest"]
    unknown = {name: wanted - set(table()) for name, wanted in names.items()}
    assert not any(unknown.values()), unknown
    assert set(table()) == set().union(*names.values())


def test_the_table_alone_names_packages_to_apt():
    for script in {*SCRIPTS, ROOT / ".ci" / "run"} - {PACKAGES}:
        for line in script.read_text(encoding="utf-8").splitlines():
            if not line.lstrip().startswith("#"):
                assert not re.search(r"apt-get|apt_install|\bapt install|dpkg", line), script.name


def test_the_image_and_the_tests_need_nothing_that_the_table_has_not():
    image = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    for packages in re.findall(r"apt-get install ([^&]+)&&", image.replace("\\\n", " ")):
        # Fonts are no program and no library; the tests make do with those that there are.
        needed = {word for word in packages.split() if not word.startswith(("-", "fonts-"))}
        assert needed <= set(table().values())
    programs = {
        program
        for file in (ROOT / "tests").rglob("*.py")
        for program in re.findall(r'shutil\.which\("([\w.-]+)"\)', file.read_text("utf-8"))
    }
    assert programs <= {*table(), *OTHERS}


@pytest.fixture
def machine(tmp_path):
    """A machine whose apt-get writes down what it is asked for, and brings the program `curl`."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("awk", "bash", "cat", "chmod", "env", "id", "uname"):
        (tools / name).symlink_to(shutil.which(name))
    apt = tools / "apt-get"
    apt.write_text(
        '#!/usr/bin/env bash\nfor last; do :; done\necho "$@" >>"$APT"\n'
        '[ "$last" = curl ] || exit 0\n'
        'printf "#!/bin/sh\\n" >"$TOOLS/curl"\nchmod +x "$TOOLS/curl"\n'
    )
    apt.chmod(0o755)
    sudo = tools / "sudo"
    sudo.write_text('#!/usr/bin/env bash\nexec "$@"\n')
    sudo.chmod(0o755)
    log = tmp_path / "apt"
    log.touch()

    def have(*names):
        environment = {"PATH": str(tools), "TOOLS": str(tools), "APT": str(log)}
        # /usr/sbin, which packages adds, is another machine's.
        source = f"PATH=$PATH:/usr/sbin; source {PACKAGES}; PATH={tools}; have {' '.join(names)}"
        ended = subprocess.run(
            [shutil.which("bash"), "-euo", "pipefail", "-c", source],
            env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        return ended.returncode, ended.stderr, log.read_text().splitlines()

    return have


def test_what_is_missing_is_installed_once_by_its_package(machine):
    status, said, calls = machine("curl", "curl")
    assert status == 0, said
    update, install = calls
    assert update.split()[-1] == "update"
    assert "--no-install-recommends curl" in install
    assert machine("curl") == (0, "", calls)  # it is there now


def test_what_apt_does_not_bring_ends_the_script_with_its_name(machine):
    status, said, calls = machine("nginx", "redis-server")
    assert status != 0
    assert calls[1].endswith("--no-install-recommends nginx-light redis-server")
    assert "nginx is missing although nginx-light was installed" in said


def test_a_name_without_a_row_is_refused(machine):
    status, said, calls = machine("nothing")
    assert (status != 0, calls) == (True, [])
    assert "scripts/packages has no row for nothing" in said


def test_only_our_own_packages_are_built_without_isolation():
    """Others are built with tools that a fresh environment does not have."""
    for file in (*SCRIPTS, ROOT / "Dockerfile"):
        for line in file.read_text(encoding="utf-8").splitlines():
            if "--no-build-isolation" in line and not line.lstrip().startswith("#"):
                assert "--no-deps" in line, f"{file.name}: {line}"


def test_a_run_of_ci_takes_nothing_from_before(tmp_path):
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci" / "run")
    left = [
        ".venv/bin/python", ".venv-lowest/installed", ".venv-dpsgd/x", "build/caches/pip/wheel",
        ".hypothesis/examples/x", "client/hushpoll_client_js/node_modules/.installed",
        "client/hushpoll_client_js/dist/x", "server/a/__pycache__/f.nbi", "tests/__pycache__/x.pyc",
    ]  # fmt: skip
    for name in (*left, "server/a/f.py", "protocols/x", "shared/x", "secrets/x"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "scripts").mkdir()
    script = tmp_path / "scripts" / "test"
    script.write_text("#!/usr/bin/env bash\nenv -0\n")
    script.chmod(0o755)
    outside = {
        "HUSHPOLL_VENV": "/v", "HUSHPOLL_LOWEST_VENV": "/v", "HUSHPOLL_DPSGD_VENV": "/v",
        "HUSHPOLL_DATABASE_URL": "x", "HUSHPOLL_DATA": "/data", "PIP_CACHE_DIR": "/c",
        "XDG_CACHE_HOME": "/c", "npm_config_cache": "/c", "PIP_FIND_LINKS": "/w",
        "UV_CACHE_DIR": "/c",
    }  # fmt: skip
    run = subprocess.run(
        [tmp_path / ".ci" / "run"], env={"PATH": os.environ["PATH"], **outside},
        capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    seen = dict(line.split("=", 1) for line in run.stdout.rstrip("\0").split("\0"))
    assert {name for name in seen if name.startswith("HUSHPOLL")} == {"HUSHPOLL_DATA"}
    assert (seen["CI"], seen["PIP_FIND_LINKS"]) == ("true", "/w")
    caches = [
        "PIP_CACHE_DIR", "UV_CACHE_DIR", "npm_config_cache", "XDG_CACHE_HOME", "MPLCONFIGDIR",
        "PLAYWRIGHT_BROWSERS_PATH",
    ]  # fmt: skip
    for name in caches:
        assert Path(seen[name]).is_relative_to(tmp_path / "build"), name
        assert not Path(seen[name]).exists()
    assert len({seen[name] for name in caches}) == len(caches)
    assert seen["PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD"] == "1"
    assert [name for name in left if (tmp_path / name).exists()] == []
    assert (tmp_path / "secrets" / "x").exists()
    assert "build/" in (ROOT / ".gitignore").read_text().splitlines()


SOURCED = ("packages", "environment", "node")
STEPS = ("test-lowest", "test-dpsgd", "test-js")
PROGRAMS = ("ruff", "lint-imports", "mypy", "python")


@pytest.fixture
def steps(tmp_path):
    """Run scripts/test on programs that say their name, and do what a test adds for one of them."""
    scripts, tools = tmp_path / "scripts", tmp_path / "tools"
    for folder in (scripts, tools):
        folder.mkdir()
    shutil.copy(ROOT / "scripts" / "test", scripts / "test")
    for name in SOURCED:
        (scripts / name).write_text("have() { :; }\n")

    def run(collecting="true", **more):
        for name in (*STEPS, *PROGRAMS):
            program = (scripts if name in STEPS else tools) / name
            rest = more.get(name.replace("-", "_"), "")
            if name == "python":
                before = f"*--collect-only*) {collecting}; exit;; *prepare*) exit;;"
                rest = f'case "$*" in {before} esac; {rest}'
            program.write_text(f'#!/usr/bin/env bash\necho "{name} $*"\n{rest}\n')
            program.chmod(0o755)
        environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "TMPDIR": tmp_path}
        done = bash(f"{scripts}/test; echo it is well", env=environment)
        assert not list(tmp_path.glob("tmp.*"))
        return done

    return run


def test_all_steps_run_beside_each_other_and_what_each_says_is_shown(steps):
    done = steps(python='echo "x passed at last" >>"$RUN_AGAIN_NOTES"')
    assert done.returncode == 0, done.stderr
    for name in (*STEPS, *PROGRAMS):
        assert f"{name} " in done.stdout
    order = [done.stdout.index(f"{name} ") for name in ("mypy", "test-js")]
    assert order == sorted(order)
    assert "passed only when run again" in done.stdout
    assert done.stdout.endswith("x passed at last\nit is well\n")


@pytest.mark.parametrize("step", ["test_lowest", "test_dpsgd", "mypy", "test_js", "python"])
def test_a_step_that_fails_ends_the_others_and_the_run(steps, tmp_path, step):
    running, ended = tmp_path / "running", tmp_path / "ended"
    waits = f"trap 'echo >{ended}; exit 1' INT; echo >{running}; while :; do sleep 0.1; done"
    fails = f"until [ -e {running} ]; do sleep 0.1; done; echo told; exit 3"
    other = "python" if step != "python" else "mypy"
    done = steps(**{step: fails, other: waits})
    assert (done.returncode != 0, "told\n" in done.stdout) == (True, True)
    assert "it is well" not in done.stdout
    assert ended.exists()


def test_style_that_fails_ends_the_run_before_the_tests(steps):
    done = steps(ruff="exit 1")
    assert done.returncode == 1
    assert "python" not in done.stdout


def test_programs_that_cannot_be_had_end_the_run_before_the_tests(steps, tmp_path):
    """They are installed beside the check of types, and all that needs them waits for them."""
    asks = 'have() { case "$*" in *chromium*) echo there is no chromium; exit 1;; esac; }'
    (tmp_path / "scripts" / "packages").write_text(asks)
    done = steps()
    assert done.returncode == 1
    assert "there is no chromium\n" in done.stdout
    assert not re.search("run_again|test-js|test-lowest", done.stdout)


def test_tests_that_cannot_be_collected_are_named_and_not_run(steps):
    done = steps(collecting="echo no such name; exit 2")
    assert done.returncode == 1
    assert "no such name\n" in done.stdout
    assert "run_again" not in done.stdout


def test_without_wheels_of_the_lowest_versions_the_run_goes_on(steps):
    assert steps(test_lowest="exit 77").returncode == 0


def test_arguments_are_of_a_part_of_the_tests(tmp_path, steps):
    steps()
    (tmp_path / "tools" / "pytest").write_text('#!/usr/bin/env bash\necho "pytest $*"\n')
    (tmp_path / "tools" / "pytest").chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}/tools:{os.environ['PATH']}"}
    done = bash(f"{tmp_path}/scripts/test tests/protocols -k grr", env=environment, check=True)
    assert done.stdout.endswith("pytest -m not slow tests/protocols -k grr\n")
    assert "test-js" not in done.stdout


def test_the_modules_that_are_run_first_are_there():
    for name in LONGEST_MODULES:
        assert (ROOT / "tests" / f"{name}.py").is_file(), name


@pytest.mark.parametrize(
    ("uv", "runs"),
    [("exit 0", ["uv"]), ("exit 2", ["uv", "pip"]), (None, ["pip"])],
    ids=["uv", "uv refuses", "no uv"],
)
def test_pip_installs_where_uv_does_not(tmp_path, uv, runs):
    """Guards: a machine whose uv cannot reach the index, on which pip can."""
    asked_of, venv = tmp_path / "asked", tmp_path / "bin"
    venv.mkdir()
    (tmp_path / "constraints.txt").write_text("a==1\nuv==2\n")
    pip = (
        f'case "$*" in *uv==2) exit {"1" if uv is None else "0"};; esac; echo "pip $*" >>{asked_of}'
    )
    (venv / "python").write_text(f"#!/usr/bin/env bash\n{pip}\n")
    if uv is not None:
        (venv / "uv").write_text(
            f'#!/usr/bin/env bash\necho "uv $UV_DEFAULT_INDEX $*" >>{asked_of}\n{uv}\n'
        )
    for program in venv.iterdir():
        program.chmod(0o755)
    done = bash(
        f"root={tmp_path}; source {ROOT}/scripts/install; install_into {tmp_path} --constraint x y",
        env={**os.environ, "PIP_INDEX_URL": "index"}, check=True,
    )  # fmt: skip
    lines = asked_of.read_text().splitlines()
    assert [line.split()[0] for line in lines] == runs
    assert all(line.endswith("--constraint x y") for line in lines)
    assert lines[0].startswith("uv index pip install") == (uv is not None)
    assert ("pip does it" in done.stderr) == ("pip" in runs)
