"""docs/architecture.md says what the code is: its rooms, its picture and the way of one report."""

from __future__ import annotations

import ast
import importlib.util
import re
from pathlib import Path

import pytest

from studies import architecture
from studies.trace_report import trace

Named = ast.FunctionDef | ast.ClassDef


@pytest.fixture(scope="module")
def page() -> str:
    return architecture.PAGE.read_text(encoding="utf-8")


def test_page_lists_every_room(page: str) -> None:
    assert architecture.section(page, "rooms") == architecture.table_of_rooms(), (
        "run scripts/architecture"
    )


def test_picture_shows_every_room() -> None:
    drawn = architecture.PICTURE.read_text(encoding="utf-8")
    assert drawn == architecture.picture(), "run scripts/architecture"


def test_modules_on_the_page_exist(page: str) -> None:
    for module in architecture.modules_on_the_page(page):
        assert importlib.util.find_spec(module) is not None, f"{module}: run scripts/architecture"


def test_what_answers_where_something_is_decided_is_there(page: str) -> None:
    places = re.findall(r"`([a-z_/]+\.py)`: `(\w+)(?:\.(\w+))?`", page)
    assert len(places) == 14
    for file, name, method in places:
        tree = ast.parse((architecture.ROOT / file).read_text(encoding="utf-8"))
        named = {one.name: one for one in tree.body if isinstance(one, Named)}
        assert name in named, f"{file} has no {name}"
        if method:
            inside = {one.name for one in ast.walk(named[name]) if isinstance(one, Named)}
            assert method in inside, f"{file} has no {name}.{method}"


def test_page_lists_the_modules_on_the_way_of_one_report(page: str, tmp_path: Path) -> None:
    ran = trace(tmp_path)
    # A device, an analyst and a job do the same each time. What the processes of a server do beside
    # the report depends on the moment: `scripts/architecture --check` compares them, too.
    for process in ("device", "hushpoll_server.jobs.apart", "analyst"):
        modules = {module for module, processes in ran.items() if process in processes}
        title = architecture.PROCESSES[process]
        assert modules == architecture.modules_on_the_page(page, title), "run scripts/architecture"


def test_no_import_inside_the_server_goes_up_the_picture() -> None:
    rows = {room: row for row, rooms in enumerate(architecture.SERVER_ROWS) for room in rooms}
    folder = architecture.ROOT / "server" / "hushpoll_server"
    for path in folder.rglob("*.py"):
        room = path.relative_to(folder).parts[0]
        for imported in architecture.imported_rooms(path, "hushpoll_server"):
            if room in rows and imported in rows:
                assert rows[room] <= rows[imported], f"{path} imports {imported}"


def test_few_mappings_of_any_stand_in_product_code() -> None:
    # A document of a known form is a dataclass or a TypedDict, and a free one is a JsonObject, so
    # that mypy checks what is read from it. What is left is mostly keywords of libraries.
    found = sum(
        len(re.findall(r"\b(?:dict|Mapping)\[str, Any\]", path.read_text(encoding="utf-8")))
        for package in ("client", "protocols", "server", "shared")
        for path in (architecture.ROOT / package).rglob("*.py")
        if not {"build", "node_modules"} & set(path.parts)
    )
    assert found < 300


MOST_COLUMNS = 160
BY_HAND = {
    "codebook.html": "cells in languages of their own, below the code as a number",
    "label.html": "a body of the table for each party; the device draws the same",
    "parts.html": "the macro of the files that training writes",
    "tables.html": "the macro of all others",
}


def test_templates_are_read_line_by_line_and_draw_tables_and_figures_by_macros() -> None:
    templates = list((architecture.ROOT / "server").rglob("templates/**/*.html"))
    assert len(templates) > 50
    for path in templates:
        text = path.read_text(encoding="utf-8")
        long = [line for line in text.splitlines() if len(line) > MOST_COLUMNS]
        assert not long, f"{path}: break {long[0][:60]!r}..."
        assert "<table" not in text or path.name in BY_HAND, f"{path}: use tables.html"
        assert "<figure class" not in text or path.name == "figures.html", path
