"""No text of a server reaches a terminal raw, by any command, and none chooses a file."""

from __future__ import annotations

import gc
import io
import json
import sys

import click
import pytest

from client.hostile_server import BODIES, HOSTILE, JOB_ID, HostileServer
from hushpoll_client.cli.command_group import LazyGroup, hushpoll
from hushpoll_client.cli.commandline import main
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.spelling.text import printable

NAME = "plain"
FILES = {"table.csv", "table.xlsx", "report.json", "report.html"}
QUESTION = "Is it\u200b you\u3164? :smile: [red]x[/red]"

# Every command that asks a server, with the arguments that bring it to the answer.
COMMANDS = {
    "survey publish": ("draft.json",),
    "draft begin": (NAME, "--version", "1"),
    "draft check": ("draft.json",),
    "draft delete": (JOB_ID, "--yes"),
    "draft image": ("draft.json",),
    "draft import": ("form.json",),
    "draft list": (),
    "draft publish": (JOB_ID, "--revision", "1"),
    "draft save": ("draft.json", "--id", JOB_ID, "--revision", "1"),
    "draft show": (JOB_ID,),
    "page-digest": (),
    "privacy-sheet": (NAME, "--out", "report.html"),
    "survey show": (NAME,),
    "survey list": (),
    "survey close": (NAME, "--yes"),
    "survey delete-records": (NAME, "1", "--yes"),
    "survey origins": (NAME,),
    "survey issue-tokens": (NAME, "--count", "2"),
    "survey tokens": (NAME,),
    "survey invite": (NAME, "--count", "2"),
    "survey invite --from": (NAME, "people.csv"),
    "survey invite --preview": (NAME,),
    "survey invitations": (NAME,),
    "survey remind": (NAME,),
    "token issue": ("--scope", "read"),
    "token list": (),
    "token rotate": ("ab",),
    "token revoke": ("ab",),
    "codebook": (NAME, "--out", "report.html"),
    "cross-table": (NAME, "one", "two", "--out", "table.csv"),
    "estimate": (NAME, "--check-shape"),
    "export": (NAME, "--out", "all.records"),
    "fairness list": (NAME,),
    "fairness delete": (JOB_ID, "--yes"),
    "fairness survey": (NAME, "--out", "report.json"),
    "job start": ("export", NAME),
    "job list": (),
    "job show": (JOB_ID,),
    "job wait": (JOB_ID,),
    "job cancel": (JOB_ID,),
    "job result": (JOB_ID,),
    "model list": (NAME,),
    "model learners": (NAME,),
    "model show": (JOB_ID,),
    "model fetch": (JOB_ID, "--out", "all.records"),
    "model delete": (JOB_ID, "--yes"),
    "ordered": (NAME, "one"),
    "answered": (NAME,),
    "report": (NAME, "--out", "report.html", "--bundle", "all.records"),
    "results list": (NAME,),
    "results publish": (NAME, "--yes"),
    "results table": (NAME, "--out", "table.csv"),
    "results withdraw": (NAME, "--yes"),
    "relate shares": (NAME, "--of", "one", "--given", "two"),
    "relate independence": (NAME, "one", "two"),
    "relate table": (NAME, "one", "two"),
    "relate change": (NAME, "one", "--since", "1"),
    "relate all": (NAME, "--out", "table.xlsx"),
    "relate together": (NAME,),
    "relate ordered-change": (NAME, "one", "--since", "1"),
    "relate means": (NAME, "one"),
    "weight": (NAME, "one"),
    "regress list": (NAME,),
    "regress delete": (JOB_ID, "--yes"),
    "regress survey": (NAME, "--formula", "one ~ two"),
    "simulate": ("--manifest", "draft.json", "--data", "two.csv", "--bulk"),
    "submit": ("two.reports", NAME),
}


@pytest.fixture
def draft():
    return {
        "name": NAME,
        "version": 1,
        "title": QUESTION,
        "description": f"{QUESTION}\n{QUESTION}",
        "epsilon": "1",
        "protocol": "GRR",
        "minimum_batch": 20,
        "attributes": [
            {
                "name": "one",
                "role": "sensitive",
                "categories": [QUESTION, "b"],
                "question": QUESTION,
            }
        ],
    }


@pytest.fixture(autouse=True)
def _no_collection():
    """A collection deep in a nested answer ends objects of other tests, with no stack left."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def call(monkeypatch, capsys, tmp_path, draft):
    """Run a command in a folder of its own, and return its code and what it showed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HUSHPOLL_TOKEN", "hp_x_y")
    monkeypatch.setenv("HUSHPOLL_LEDGER", str(tmp_path / "ledger.sqlite"))
    (tmp_path / "draft.json").write_text(json.dumps(draft))
    (tmp_path / "two.csv").write_text("one\nb\nb\n")
    (tmp_path / "people.csv").write_text("address,name\na@example.org,Ada\n")
    (tmp_path / "form.json").write_text(
        json.dumps({"elements": [{"type": "boolean", "name": "q"}]})
    )

    def run(*arguments: str, typed: str = "") -> tuple[object, str, str]:
        monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        out, err = capsys.readouterr()
        return caught.value.code, out, err

    return run


def check(*texts: str, wrapped: bool = False) -> None:
    for text in texts:
        assert all(c == "\n" or printable(c) == c for c in text), ascii(text)
        # A table breaks long texts where its width ends.
        assert wrapped or not any(line.startswith("Error: forged") for line in text.split("\n"))
        assert "Traceback" not in text
        if "x[/" in text or "[bold" in text:
            assert "[bold]x[/bold]" in text or "[red]x[/red]" in text
        assert "\N{SMILING FACE WITH OPEN MOUTH AND SMILING EYES}" not in text


def arguments(command: str, url: str) -> list[str]:
    if command == "page-digest":
        return [command, f"{url}/s/{NAME}"]
    if command == "survey invite --from":
        name, people = COMMANDS[command]
        return ["survey", "invite", name, "--from", people, "--url", url]
    if command == "survey invite --preview":
        return ["survey", "invite", *COMMANDS[command], "--preview", "--url", url]
    return [*command.split(), *COMMANDS[command], "--url", url]


READ_THE_MANIFEST_ALONE = ("survey show", "privacy-sheet")

# A body that cannot be read is refused in the same words, asked for JSON or not.
TOLD = ("answers", "wrong types", "problems")
ASKED = [*((way, False) for way in BODIES), *((way, True) for way in TOLD)]


@pytest.mark.parametrize(("way", "as_json"), ASKED)
@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_shows_texts_of_a_hostile_server_raw(
    call, tmp_path, draft, command, way, as_json
):
    published = Manifest.from_dict(draft).resolve()
    if command == "submit":
        written = call("simulate", *COMMANDS["simulate"], "--to-file", "two.reports")
        assert written[0] == 0, written
    before = {path.name for path in tmp_path.iterdir()}
    with HostileServer(way, published.canonical) as server:
        code, out, err = call(*arguments(command, server.url), *(["--json"] if as_json else []))
    check(out, err, wrapped=command == "estimate")
    if code == 0 and as_json:
        json.loads(out)
    if way != "answers" and command not in READ_THE_MANIFEST_ALONE:
        # Whatever was answered, it does not say that what was asked for is done.
        assert code in (1, 4), out
    if code != 0:
        assert code != 2, err
        assert err or out
    added = {path.name for path in tmp_path.iterdir()} - before
    assert added <= {"all.records", f"job-{JOB_ID}", *FILES}, added


@pytest.mark.parametrize("job_id", [HOSTILE, "../../tokens", "", "x" * 65])
def test_a_job_of_a_hostile_id_is_not_looked_at(call, draft, job_id):
    published = Manifest.from_dict(draft).resolve()
    with HostileServer("answers", published.canonical, job_id) as server:
        for command in ("fairness survey", "estimate"):
            code, out, err = call(*arguments(command, server.url))
            shows_estimates = command == "estimate"  # which do not wait for a job
            check(out, err, wrapped=shows_estimates)
            assert (code, bool(out)) == (1, shows_estimates), err
            assert "the job's id is" in err
        code, out, err = call("job", "show", job_id.replace("\0", ""), "--url", server.url)
    check(out, err)
    assert code in (1, 2)


@pytest.mark.parametrize("way", BODIES)
def test_a_manifest_that_is_none_is_refused_without_its_text(call, way):
    with HostileServer(way) as server:
        for command in ("survey show", "survey close", "estimate", "export", "fairness survey"):
            code, out, err = call(*arguments(command, server.url))
            check(out, err)
            assert code in (1, 4)
            assert err.startswith("Error: ")


def test_json_keeps_the_texts_of_the_answer(call):
    with HostileServer("answers") as server:
        code, out, _ = call("job", "show", JOB_ID, "--url", server.url, "--json")
    assert code == 0
    assert json.loads(out)["survey"] == HOSTILE


def test_titles_and_questions_are_shown_without_invisible_characters(call, draft):
    published = Manifest.from_dict(draft).resolve()
    with HostileServer("answers", published.canonical) as server:
        code, out, err = call("survey", "show", NAME, "--url", server.url)
        assert code == 0
        check(out, err)
        _, out, err = call("answer", f"{server.url}/s/{NAME}", typed="y\n1\ny\n")
    check(out, err)
    assert "Is it  you ? :smile: [red]x[/red]" in err


def test_a_result_without_out_goes_into_a_new_file_of_our_name(call, tmp_path):
    with HostileServer("answers") as server:
        code, out, err = call("job", "result", JOB_ID, "--url", server.url)
        check(out, err)
        assert code == 0, err
        target = tmp_path / f"job-{JOB_ID}"
        assert json.loads(target.read_bytes())["name"] == HOSTILE
        assert str(target.name) in out
        target.write_bytes(b"mine")
        code, out, err = call("job", "result", JOB_ID, "--url", server.url)
        assert (code, target.read_bytes()) == (1, b"mine")
        assert "is not overwritten; give --out" in err


def test_a_result_that_does_not_arrive_leaves_no_file(call, tmp_path):
    before = set(tmp_path.iterdir())
    with HostileServer("problems") as server:
        code, _, err = call("job", "result", JOB_ID, "--url", server.url)
    assert code == 1
    check(err)
    assert set(tmp_path.iterdir()) == before


def _asking(group: click.Group, path: str = "") -> set[str]:
    """Return the commands that have an address of a server."""
    context, asking = click.Context(group), set()
    for name in group.list_commands(context):
        if isinstance(group, LazyGroup) and name in ("serve", "worker", "migrate"):
            continue
        command = group.get_command(context, name)
        assert command is not None
        whole = f"{path} {name}".strip()
        if isinstance(command, click.Group):
            asking |= _asking(command, whole)
        elif any(option.name == "url" for option in command.params):
            asking.add(whole)
    return asking


def test_every_command_that_asks_a_server_is_tested_here():
    # What hushpoll data downloads is held to a digest, and nothing of it is shown.
    assert _asking(hushpoll) - {"data"} == {one.partition(" --")[0] for one in COMMANDS}
