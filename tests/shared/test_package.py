from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import hushpoll_shared
from hushpoll_protocols import MissingExtra

PUBLIC = {"Manifest", "Published", "load_manifest"}
OPTIONAL = {
    "batch": {"numpy"},
    "job_statistics": {"click"},
    "manifest_commands": {"click"},
    "manifest_lines": {"yaml"},
    "model_options": {"click"},
    "out_file": {"click"},
    "query_options": {"click"},
    "records_file": {"numpy"},
    "regression_text": {"rich"},
    "result_text": {"rich"},
    "statistic_commands": {"click"},
    "statistic_texts": {"rich"},
    "table_files": {"xlsxwriter"},
    "terminal": {"click", "rich"},
    "voprf": {"rbcl"},
    "weighting": {"rich"},
    "workbook": {"openpyxl", "xlrd"},
    "yaml_reader": {"yaml"},
    "yaml_writer": {"yaml"},
}
FOLDER = Path(hushpoll_shared.__file__).parent
MODULES = sorted(FOLDER.rglob("*.py"))


def test_public_names() -> None:
    assert set(hushpoll_shared.__all__) == PUBLIC
    for name in PUBLIC:
        assert getattr(hushpoll_shared, name) is not None


def test_importing_loads_the_standard_library_and_the_protocols_alone() -> None:
    script = (
        "import sys, hushpoll_shared\n"
        "hushpoll_shared.Manifest, hushpoll_shared.Published\n"
        "for name in sorted({name.partition('.')[0] for name in sys.modules}):\n"
        "    if name not in sys.stdlib_module_names: print(name)"
    )
    before = "import sys\n" + script.split("\n", 2)[2]
    loaded, bare = (
        set(
            subprocess.run(
                [sys.executable, "-c", code], check=True, capture_output=True, text=True
            ).stdout.split()
        )
        for code in (script, before)
    )
    assert loaded - bare == {"hushpoll_protocols", "hushpoll_shared"}


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)
def test_optional_imports_stay_in_their_modules(module: Path) -> None:
    tree = ast.parse(module.read_text())
    imported = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            imported.add(str(node.module).partition(".")[0])
    foreign = imported - set(sys.stdlib_module_names) - {"hushpoll_protocols", "hushpoll_shared"}
    assert foreign == OPTIONAL.get(module.stem, set())


def test_without_numpy_the_array_side_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    monkeypatch.delitem(sys.modules, "hushpoll_shared.wire.batch", raising=False)
    with pytest.raises(MissingExtra) as caught:
        importlib.import_module("hushpoll_shared.wire.batch")
    assert caught.value.extra == "kernels"
