"""A protocol is added with the three files that CONTRIBUTING names, and nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import hushpoll_analysis
import hushpoll_client
import hushpoll_protocols
import hushpoll_shared

HERE = Path(__file__).resolve().parent
ADDED = HERE / "adding"
PACKAGE = Path(hushpoll_protocols.__file__).parent
IMPORT = "from hushpoll_protocols.oracles.grr import GRR\n"
END_OF_THE_TABLE = "    }\n)\n"


def _with_the_three_files(folder: Path) -> Path:
    """Copy the package, and add the module, the kernel and the line of the registry."""
    copy = folder / "hushpoll_protocols"
    shutil.copytree(PACKAGE, copy)  # with what is compiled, and when it was
    shutil.copy(ADDED / "pairs.py", copy / "oracles" / "pairs.py")
    shutil.copy(ADDED / "pairs_kernel.py", copy / "kernels" / "pairs.py")
    registry = copy / "registry.py"
    text = registry.read_text(encoding="utf-8")
    for mark, line in (
        (IMPORT, "from hushpoll_protocols.oracles.pairs import Pairs\n"),
        (
            END_OF_THE_TABLE,
            '        "PAIRS": Registration(Pairs, "hushpoll_protocols.kernels.pairs"),\n',
        ),
    ):
        assert text.count(mark) == 1
        text = text.replace(mark, line + mark)
    registry.write_text(text, encoding="utf-8")
    return folder


def test_a_new_protocol_works_everywhere_with_three_files(tmp_path: Path) -> None:
    overlay = _with_the_three_files(tmp_path / "overlay")
    packages = (hushpoll_shared, hushpoll_client, hushpoll_analysis)
    folders = [Path(package.__file__).parent.parent for package in packages]
    paths = [overlay, *folders, HERE, HERE.parent]
    done = subprocess.run(
        [sys.executable, str(ADDED / "walk.py"), str(tmp_path)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
