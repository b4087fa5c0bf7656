"""The package without what the extra ``server`` brings."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import hushpoll_server
from waiting import LONGEST_SECONDS

WITHOUT_FLASK = """
import sys
sys.modules["flask"] = None
from hushpoll_protocols.errors import MissingExtra
for name in ("hushpoll_server", "hushpoll_server.cli.serve"):
    try:
        __import__(name)
    except MissingExtra as error:
        print(error.extra, "pip install . ./server" in str(error))
"""


def test_without_flask_the_extra_is_named():
    found = subprocess.run(
        [sys.executable, "-c", WITHOUT_FLASK],
        capture_output=True,
        text=True,
        timeout=LONGEST_SECONDS,
        check=True,
    )
    assert found.stdout == "server True\n" * 2


@pytest.mark.parametrize(
    "module", ["cli.serve", "processes.ingest", "processes.web", "processes.worker"]
)
def test_a_server_starts_without_what_only_counting_and_training_need(module):
    """Guards: numba and pandas were half of the time that a start took.

    The parent is forked, so it has no thread either.
    """
    code = (
        f"import sys, threading, hushpoll_server.{module}; print(*sys.modules); "
        "assert threading.active_count() == 1"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    loaded = set(found.stdout.split())
    assert f"hushpoll_server.{module}" in loaded
    slow = {"numba", "pandas", "lightgbm", "sklearn", "scipy", "matplotlib", "prometheus_client"}
    slow |= {"authlib", "joserfc", "requests"}  # until a user goes to a provider
    slow |= {"alembic", "psycopg", "limits", "pyarrow"}  # a migration, PostgreSQL, Redis, a table
    assert loaded & slow == set()


def test_the_package_itself_is_cheap_and_holds_two_functions_alone():
    code = (
        "import json, sys, hushpoll_server as package; "
        "heavy = sorted({'sqlalchemy', 'numpy', 'flask'} & set(sys.modules)); "
        "print(json.dumps([package.__all__, heavy]))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert json.loads(found.stdout) == [["create_app", "create_asgi"], []]


def test_views_use_no_store_that_services_hold(site):
    """Guards: a view that wrote respondents' tokens into the store by itself."""
    held = {
        name
        for name, part in vars(site.services).items()
        if type(part).__module__.startswith("hushpoll_server.store")
    }
    assert {"tokens", "reports", "segments", "database"} <= held
    package = Path(hushpoll_server.__file__).parent
    views = [*(package / "http").rglob("*.py"), *(package / "pages").rglob("*.py")]
    used = {
        (path.name, node.attr)
        for path in views
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and node.attr in held and _is_services(node.value)
    }
    assert used == set()


def _is_services(node):
    """Whether an expression is ``services()``, or a variable that holds it."""
    return ast.unparse(node) in ("services()", "services", "parts")
