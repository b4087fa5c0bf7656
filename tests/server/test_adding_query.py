"""A statistic is added with the three files that CONTRIBUTING names, and nothing else."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import hushpoll_analysis
import hushpoll_client
import hushpoll_shared

ADDED = Path(__file__).resolve().parent / "adding_query"
TABLE = "    Answered: shares_of_answered,\n"
IMPORTS = "from hushpoll_analysis.frames.tabular import ArrayResult\n"


def test_a_new_statistic_works_everywhere_with_three_files(tmp_path: Path) -> None:
    overlay = tmp_path / "overlay"
    for package in (hushpoll_shared, hushpoll_analysis):
        folder = Path(package.__file__).parent
        shutil.copytree(folder, overlay / folder.name)  # with what is compiled, and when it was
    shutil.copy(ADDED / "largest_share.py", overlay / "hushpoll_shared" / "queries")
    shutil.copy(ADDED / "largest.py", overlay / "hushpoll_analysis" / "estimates")
    registration = overlay / "hushpoll_analysis" / "query_results.py"
    text = registration.read_text(encoding="utf-8")
    assert text.count(TABLE) == text.count(IMPORTS) == 1
    text = text.replace(TABLE, f"{TABLE}    Largest: largest,\n").replace(
        IMPORTS,
        "from hushpoll_analysis.estimates.largest import largest\n"
        f"{IMPORTS}from hushpoll_shared.queries.largest_share import Largest\n",
    )
    registration.write_text(text, encoding="utf-8")
    paths = [overlay, Path(hushpoll_client.__file__).parent.parent, *filter(None, sys.path)]
    done = subprocess.run(
        [sys.executable, str(ADDED / "walk.py"), str(tmp_path)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    listed = subprocess.run(
        [sys.executable, "-m", "hushpoll_shared.queries"],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths))},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "largest_share.py:" in listed.stdout


NAMED = re.compile(rb"conditional[-_ ]?shares", re.IGNORECASE)
ITS_OWN = {
    "shared/hushpoll_shared/queries/conditional_shares.py",
    "server/hushpoll_analysis/relations/conditional.py",
    "server/hushpoll_analysis/query_results.py",
}
PUBLIC = {
    "client/hushpoll_client/analyst/statistics.py",  # the method of `AnalystClient`
    "server/hushpoll_analysis/__init__.py",  # the function of Python
}


def test_a_statistic_is_named_in_its_three_files_and_where_python_has_it():
    root = Path(__file__).resolve().parents[2]
    folders = [*root.glob("*/hushpoll_*"), root / "client" / "hushpoll_client_js" / "src"]
    files = [
        one
        for folder in folders
        if folder.name != "hushpoll_client_js"
        for one in folder.rglob("*")
        if one.suffix in (".py", ".html", ".js", ".css", ".json")
    ]
    assert len(files) > 500
    named = {one.relative_to(root).as_posix() for one in files if NAMED.search(one.read_bytes())}
    assert named == ITS_OWN | PUBLIC
