from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys

import pytest

import hushpoll_client
from waiting import LONGEST_SECONDS

HEAVY = {"numpy", "numba", "flask", "pydantic", "requests", "urllib3", "click", "rich", "yaml"}


def run(code: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=LONGEST_SECONDS,
        **options,
    )


def loaded_by(code: str) -> set[str]:
    done = run(f"import sys\n{code}\nprint(*sys.modules)")
    assert done.returncode == 0, done.stderr
    return {name.partition(".")[0] for name in done.stdout.split()}


MODULES = [
    module.name
    for module in pkgutil.walk_packages(hushpoll_client.__path__, "hushpoll_client.")
    if module.name != "hushpoll_client.__main__"
]


def test_public_names():
    assert hushpoll_client.__all__ == [
        "BudgetExhausted",
        "ClearLine",
        "ClientConfig",
        "ClientDisabled",
        "ConsentMissing",
        "Entry",
        "HushpollError",
        "InvalidParameter",
        "Ledger",
        "MalformedRecord",
        "ManifestRefused",
        "MissingExtra",
        "OutboxFull",
        "Outcome",
        "Outgoing",
        "PerturbedLine",
        "Preview",
        "Published",
        "Receipt",
        "Report",
        "ReportDropped",
        "ReportNotSent",
        "StorageError",
        "SurveyClient",
        "TransportError",
        "randomize",
    ]
    for name in hushpoll_client.__all__:
        assert getattr(hushpoll_client, name).__name__ == name
        assert name in dir(hushpoll_client)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        hushpoll_client.Nothing  # noqa: B018


def test_no_module_hides_a_public_name():
    names = {module.name for module in pkgutil.iter_modules(hushpoll_client.__path__)}
    assert not names & set(hushpoll_client.__all__)


def test_importing_and_randomising_load_nothing_heavy():
    assert not loaded_by("import hushpoll_client") & HEAVY
    names = ", ".join(hushpoll_client.__all__)
    assert not loaded_by(f"from hushpoll_client import {names}") & HEAVY
    assert (
        not loaded_by(
            "import hushpoll_client.analyst.analyst_client, hushpoll_client.cli.commandline"
        )
        & HEAVY
    )


def test_a_client_loads_requests_only_when_it_sends():
    code = "from hushpoll_client import SurveyClient\nSurveyClient('https://example.org', 's')"
    assert not loaded_by(code) & HEAVY


def test_import_loads_few_modules():
    """Guards its time, which scripts/bench measures: 27 modules are loaded, not a hundred."""

    def loaded(code: str) -> int:
        done = run(f"import sys\n{code}\nprint(len(sys.modules))")
        assert done.returncode == 0, done.stderr
        return int(done.stdout)

    assert loaded("import hushpoll_client") - loaded("pass") < 60


def test_no_thread_is_started_at_import():
    code = (
        "import threading, hushpoll_client.analyst.analyst_client, hushpoll_client.device.device\n"
    )
    assert run(f"{code}assert threading.active_count() == 1").returncode == 0


def test_the_client_side_imports_nothing_of_the_server_side():
    loaded = loaded_by(f"import {', '.join(MODULES)}")
    assert "hushpoll_client" in loaded
    assert not loaded & {"hushpoll_server", "hushpoll_training", "hushpoll_analysis", "flask"}


def test_every_module_can_be_imported_alone():
    assert "hushpoll_client.device.survey_client" in MODULES
    for name in MODULES:
        importlib.import_module(name)
