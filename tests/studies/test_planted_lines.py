"""The list of planted faults fits the files that it names; the study itself plants them."""

from pathlib import Path

import pytest

from studies.planted_lines import FAULTS, ROOT


def test_there_are_forty_of_all_packages():
    assert len(FAULTS) == len({fault.what for fault in FAULTS}) == 40
    folders = [Path(fault.file).parts[0] for fault in FAULTS]
    assert set(folders) == {"protocols", "shared", "client", "server"}
    assert min(map(folders.count, folders)) >= 7


@pytest.mark.parametrize("fault", FAULTS, ids=[fault.what for fault in FAULTS])
def test_each_changes_one_line_that_is_there_once(fault, tmp_path):
    text = (ROOT / fault.file).read_text(encoding="utf-8")
    assert text.count(fault.old) == 1
    assert fault.old != fault.new
    assert (ROOT / fault.tests[0]).is_file()
    path = tmp_path / fault.file
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    fault.plant(tmp_path)
    planted = path.read_text(encoding="utf-8")
    changed = [
        line
        for line, other in zip(text.splitlines(), planted.splitlines(), strict=True)
        if line != other
    ]
    assert len(changed) == 1
    compile(planted, fault.file, "exec")
