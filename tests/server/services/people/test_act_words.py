"""The words of acts: every code that the server writes into its action log has some."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import hushpoll_server
from hushpoll_server.jobs.kinds import KINDS
from hushpoll_server.services.people.act_words import ACT_WORDS, act_words
from hushpoll_server.services.people.roles import ORDER
from hushpoll_server.web_application import OPERATIONS
from hushpoll_shared.jobs.registry import kept_jobs
from hushpoll_shared.querying.registry import all_queries

SOURCES = Path(hushpoll_server.__file__).parent
# What stands in the places of the codes that are put together.
NOUNS = [job.kept.noun for job in kept_jobs()]
PARTS = {"asked-for-": KINDS, "fetched-": KINDS, "gave-role-": ORDER, "deleted-": NOUNS}


def codes(call: ast.Call) -> Iterator[str]:
    """The codes of acts that a call writes, if it is one of the action log."""
    match call.func:
        case ast.Attribute(attr="record" | "looked", value=owner) if (
            ast.unparse(owner).endswith("actions") and len(call.args) > 1
        ):
            code = call.args[1]
        case ast.Name(id="_record") if call.args:  # of the dashboard's drafts
            code = call.args[0]
        case ast.Name(id="note_act" | "note_look"):  # of the dashboard
            code = call.args[1]
        case _:
            return
    match code:
        case ast.Constant(value=str(text)):
            looked = ast.unparse(call.func).endswith(("actions.looked", "note_look"))
            yield f"looked-at-{text}" if looked else text
        case ast.JoinedStr(values=[ast.Constant(value=str(beginning)), _]):
            yield from (f"{beginning}{part}" for part in PARTS[beginning])
        case ast.JoinedStr() if ast.unparse(code) == "f'{self.noun}s'":
            yield from (f"looked-at-{noun}s" for noun in NOUNS)
        case ast.Attribute(value=ast.Name(id="query"), attr="name"):  # of any query
            yield from (f"looked-at-{query.name}" for query in all_queries().values())
        case ast.Name(id="act" | "view"):  # of a function that is given the code
            return
        case _:
            raise AssertionError(f"a code that this test cannot read: {ast.unparse(call)}")


def declared(act: str) -> Iterator[str]:
    """The codes of an act that an operation declares: it, or those that begin with it."""
    parts = PARTS.get(f"{act}-")
    yield from (act,) if parts is None else (f"{act}-{part}" for part in parts)


def test_every_code_has_words_and_no_other_has_some():
    written = {
        code for operation in OPERATIONS if operation.act for code in declared(operation.act)
    } | {
        code
        for file in SOURCES.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.Call)
        for code in codes(node)
    }
    assert written == set(ACT_WORDS)


def test_a_code_of_another_release_is_shown_as_its_words():
    assert act_words("deleted-model") == "deleted a model"
    assert act_words("painted-house") == "painted house"
