"""Output in encodings that lack characters: no traceback, plain characters, and whole JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from hushpoll_shared.drafts.yaml_writer import write_yaml
from sample_survey import make_draft

TITLE = "Größe – “Über” 家 😀 ε ≥ 2"
ENCODINGS = ["cp1252", "ascii"]
# Every command's help, in one process.
ALL_HELP = """
import sys
from hushpoll_client.cli.commandline import main
from hushpoll_client.cli.commands import COMMANDS, Group

def run(words):
    try:
        main([*words, "--help"])
    except SystemExit as ended:
        assert ended.code == 0, words

def walk(rows, words):
    for name, row in rows.items():
        run([*words, name])
        if isinstance(row, Group):
            walk(row.commands, [*words, name])

run([])
walk(COMMANDS, [])
"""


def run(encoding, *words, cwd=None, code=None):
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    program = ["-m", "hushpoll_client"] if code is None else ["-c", code]
    return subprocess.run(
        [sys.executable, *program, *words], env=environment, cwd=cwd, capture_output=True
    )


@pytest.fixture
def survey(tmp_path):
    file = tmp_path / "survey.yaml"
    draft = make_draft(title=TITLE, description=TITLE)
    draft["attributes"][0]["question"] = TITLE
    file.write_text(write_yaml(draft), encoding="utf-8")
    return file


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_results_and_errors_are_written_with_what_the_encoding_has(survey, encoding):
    done = run(encoding, "manifest", "check", str(survey))
    assert done.returncode == 0, done.stderr
    done.stdout.decode(encoding)
    done = run(encoding, "manifest", "check", "nämlich – 家.yaml", cwd=survey.parent)
    assert done.returncode == 2
    words = done.stderr.decode(encoding)
    assert "Traceback" not in words
    assert "does not exist" in words


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_json_keeps_every_text(survey, encoding):
    done = run(encoding, "manifest", "check", str(survey), "--json")
    assert done.returncode == 0, done.stderr
    found = json.dumps(json.loads(done.stdout.decode("ascii")), ensure_ascii=False)
    missing = run(encoding, "manifest", "check", TITLE, "--json", cwd=survey.parent)
    assert TITLE in json.loads(missing.stderr.decode("ascii"))["error"]["message"]
    assert "?" not in found


def test_help_of_every_command_is_shown_in_ascii():
    done = run("ascii", code=ALL_HELP)
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()
    assert b"Traceback" not in done.stderr


def test_nearest_plain_characters_stand_in():
    code = (
        "from hushpoll_shared.cli.plain_output import install; install(); import click;"
        "click.echo('a – b … ≥ Ångström ┏━┓ \\ud800 家 e\\u0301'); print('“x”')"
    )
    done = run("ascii", code=code)
    assert done.stdout == b'a - b ... >= Angstrom +-+ ? ? e\n"x"\n', done.stderr
    done = run("cp1252", code=code)
    assert done.stdout.decode("cp1252").startswith("a – b … >= Ångström +-+ ? ?")
    done = run("utf-8", code=code)
    assert done.stdout.decode() == "a – b … ≥ Ångström ┏━┓ ? 家 e\u0301\n“x”\n"
