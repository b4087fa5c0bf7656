"""Wrong blocks, trees, numbers, select-alls, matrices and draws: told alike wherever they come in.

Each is written in YAML, sent to the API, and shown in the form of a draft. All three name the same
field, what is wrong with it and what to do; and the form, sent back, has lost nothing.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from hushpoll_server.dashboard.drafts.form import form_of, manifest_of
from hushpoll_shared.drafts.manifest_problems import manifest_problems
from hushpoll_shared.drafts.yaml_writer import write_yaml
from hushpoll_shared.reading.yaml_reader import parse_yaml
from sample_survey import SURVEYS
from server.dashboard.test_draft_form import sent

pytestmark = pytest.mark.sqlite


def question(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "role": "sensitive", "categories": ["no", "yes"], **more}


def amount(**limits: Any) -> dict[str, Any]:
    return {"name": "n", "role": "sensitive", "number": {"low": 0, "high": 10, **limits}}


def select(**more: Any) -> dict[str, Any]:
    return {**question("o", categories=["x", "y", "z"], select={}), **more}


def matrix(**more: Any) -> dict[str, Any]:
    rows = [{"name": "i", "question": "I"}, {"name": "j", "question": "J"}]
    return {**question("m", question="How?", items=rows), **more}


def draft(*questions: dict[str, Any], **more: Any) -> dict[str, Any]:
    survey = {"name": "s", "version": 1, "title": "S", "epsilon": "3", "protocol": "SS"}
    own = questions or tuple(map(question, "abcd"))
    return {**survey, "attributes": list(own), **more}


def block(name: str, *names: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "attributes": list(names), **more}


def draw(*blocks: str, answer: Any = 1, name: str = "rota") -> dict[str, Any]:
    return {"draws": [{"name": name, "blocks": list(blocks), "answer": answer}]}


def ranges(high: int) -> tuple[dict[str, Any], ...]:
    return tuple({"name": one, "role": "sensitive", "range": [1, high]} for one in "ab")


WRONG: dict[str, tuple[dict[str, Any], str, str]] = {
    "a cycle": (
        draft(question("a", ask_if={"b": ["yes"]}), question("b", ask_if={"a": ["yes"]})),
        "attributes[a].ask_if",
        "a after b after a",
    ),
    "a router that comes later": (
        draft(question("a", ask_if={"b": ["yes"]}), question("b")),
        "attributes[a].ask_if",
        "move a behind b",
    ),
    "a follow-up in clear": (
        draft(question("a"), question("b", role="plain", ask_if={"a": ["yes"]})),
        "attributes[b].ask_if",
        "make the role of b sensitive",
    ),
    "a follow-up of a select-all": (
        draft(select(), question("b", ask_if={"o": ["x"]})),
        "attributes[b].ask_if",
        "ask a yes/no question before the follow-up",
    ),
    "a follow-up of an option": (
        draft(select(), question("b", ask_if={"o_1": ["selected"]})),
        "attributes[b].ask_if",
        "an option of the select-all o; a router has one answer",
    ),
    "a matrix after its own item": (
        draft(matrix(ask_if={"i": ["yes"]}), question("b")),
        "attributes[m].ask_if",
        "an item of the same matrix",
    ),
    "limits that fall": (
        draft(amount(low=10, high=1)),
        "attributes[n].number.high",
        "from low 10 to high 1; low is less than high: correct them",
    ),
    "limits that are no integers": (
        draft(amount(low=0.5)),
        "attributes[n].number.low",
        "is 0.5; it is an integer",
    ),
    "a long unit": (
        draft(amount(unit="x" * 41)),
        "attributes[n].number.unit",
        "41 characters long; it must have 1 to 40 characters: shorten it",
    ),
    "a number in a block": (
        draft(amount(), question("b"), together=[block("t", "n", "b")]),
        "together[t].attributes",
        "take it out of the block, or give it categories",
    ),
    "a domain too large": (
        draft(*ranges(300), together=[block("t", "a", "b", protocol="OLH")]),
        "together[t].attributes",
        "300 * 300 = 90000 combinations of answers; a block has at most 65536",
    ),
    "a record too large": (
        draft(*ranges(200), together=[block("t", "a", "b", protocol="OUE")]),
        "together",
        "5000 bytes; with together it has at most 1024",
    ),
    "a question in two blocks": (
        draft(together=[block("t", "a", "b"), block("u", "b", "c")]),
        "together[u].attributes",
        "remove it from one of them",
    ),
    "a block of one": (draft(together=[block("t", "a")]), "together[t].attributes", "add one"),
    "a block called like a question": (
        draft(together=[block("c", "a", "b")]),
        "together[c].name",
        "rename the block",
    ),
    "an option in a block": (
        draft(select(), question("b"), together=[block("t", "o_1", "b")]),
        "together[t].attributes",
        "an option of the select-all o",
    ),
    "k-based with a block": (
        draft(together=[block("t", "a", "b")], split="k-based"),
        "split",
        "choose uniform, optimal or weights",
    ),
    "k-based with a draw": (
        draft(**draw("a", "b"), split="k-based"),
        "split",
        "choose uniform, optimal or weights",
    ),
    "more answers than blocks": (
        draft(**draw("a", "b", answer=5)),
        "draws[rota].answer",
        "is 5; of 2 blocks a device answers 1: correct it",
    ),
    "always an unknown block": (
        draft(answer=1, always=["zz"]),
        "always",
        "its blocks are a, b, c, d: correct the name",
    ),
    "a draw in a draw": (
        draft(draws=[*draw("a", "b")["draws"], *draw("rota", "c", name="two")["draws"]]),
        "draws[two].blocks",
        "'rota', which is no block of the survey",
    ),
    "a draw of an option": (
        draft(select(), question("b"), **draw("o_1", "b")),
        "draws[rota].blocks",
        "a select-all is drawn as a whole: name o",
    ),
    "a draw of a matrix whose items are apart": (
        draft(matrix(), question("b"), **draw("m", "b")),
        "draws[rota].blocks",
        "name its items, i, j, or give the matrix together: true",
    ),
    "at most no option": (
        draft(select(select={"at_most": 0})),
        "attributes[o].select.at_most",
        "is 0; it is an integer from 1 to 3",
    ),
    "at least more than at most": (
        draft(select(select={"at_least": 2, "at_most": 1})),
        "attributes[o].select.at_least",
        "nobody could answer: lower at_least, or raise at_most",
    ),
    "a limit in words": (
        draft(select(select={"at_most": "two"})),
        "attributes[o].select.at_most",
        "is 'two'; it is an integer from 1 to 3",
    ),
    "more options than a survey has questions": (
        draft(select(categories=[f"option {place}" for place in range(300)])),
        "attributes[o].categories",
        "has 300 options, and each of them is a question of the results",
    ),
    "limits of a number in words": (
        draft(amount(low="none", high="ten")),
        "attributes[n].number.low",
        "write it in digits alone",
    ),
    "a number without a last limit": (
        draft({"name": "n", "role": "sensitive", "number": {"low": 0}}),
        "attributes[n].number.high",
        "has no high; add it",
    ),
    "a draw of a target in clear": (
        draft(question("a"), question("b", role="target", positive="yes"), **draw("a", "b")),
        "draws[rota].blocks",
        "take it out, or give it a protocol",
    ),
    "a help text of a matrix that is not translated": (
        draft(
            matrix(help="In the last week."),
            question("b"),
            language="en",
            translations={
                "de": {
                    "title": "T",
                    "attributes": {
                        "m": {"question": "Wie?"},
                        "i": {"question": "II"},
                        "j": {"question": "JJ"},
                    },
                }
            },
        ),
        "translations[de].attributes[m].help",
        "translations[de].attributes[m].help is missing",
    ),
    "pairs of one option": (
        draft(select(select={"at_most": 1}, want="pairs")),
        "attributes[o].want",
        "raise at_most, or want shares",
    ),
    "pairs of a question with one answer": (
        draft(question("a", want="pairs")),
        "attributes[a].want",
        "leave it out, or add select",
    ),
    "a matrix of one row": (
        draft(matrix(items=[{"name": "i", "question": "I"}])),
        "attributes[m].items",
        "a matrix has 2 items or more",
    ),
    "an item called like a question": (
        draft(matrix(), question("i")),
        "attributes[i].name",
        "two entries named i; names differ: rename one",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_yaml_and_the_form_tell_what_is_wrong_and_keep_it(case: str) -> None:
    document, field, words = WRONG[case]
    read = parse_yaml(write_yaml(document).encode())
    assert read == document
    problems = manifest_problems(read)
    assert problems[0].field == field
    assert words in problems[0].message
    # One mistake is one problem, but where it takes its name, a split or an epsilon from others.
    assert len(problems) == 1, problems
    given = sent(form_of(document))
    assert manifest_of(given, before=document) == document
    assert manifest_of(given)["attributes"] == document["attributes"]


@pytest.mark.parametrize(
    "typed",
    [
        {"q0-at_least": "none", "q0-at_most": "two"},
        {"q0-low": "0,5", "q0-high": "1e3", "q0-amount": "mean"},
        {"q0-low": "1 000", "q0-amount": "quantiles", "q0-unit": "euros"},
        {"q0-low": "-inf", "q0-high": "NaN"},
        {"q0-shuffle": "shuffled", "q0-last": "two"},
        {"s-together": ": a, b"},
        {"s-draws": ": a, b | two"},
    ],
    ids=str,
)
def test_what_was_typed_into_a_field_stays_there(typed: dict[str, str]) -> None:
    given = {**sent(form_of(draft())), **typed}
    if "q0-low" in typed:
        given["q0-categories"] = ""
    again = sent(form_of(manifest_of(given)))
    assert {name: again[name] for name in typed} == typed


def test_all_questions_of_a_long_draft_stay() -> None:
    long = draft(*(question(f"q{place}") for place in range(300)))
    assert len(manifest_of(sent(form_of(long)))["attributes"]) == 300


def test_the_api_tells_the_same(site) -> None:
    for case, (document, field, words) in WRONG.items():
        refused = site.post(SURVEYS, json=document)
        assert refused.status_code == 422, case
        assert refused.json["field"] == field, case
        assert words in refused.json["detail"], (case, refused.json["detail"])


@pytest.mark.parametrize("limit", ["NaN", "Infinity", "1e999"])
def test_a_limit_that_is_no_number_of_json_is_refused(site, limit: str) -> None:
    text = json.dumps(draft(amount(high="here"))).replace('"here"', limit)
    refused = site.post(SURVEYS, data=text, content_type="application/json")
    assert refused.status_code in (400, 422)
    assert "field" in refused.json or "JSON" in refused.json["detail"], refused.json
    spelt = {"NaN": ".nan", "Infinity": ".inf", "1e999": "1e999"}[limit]
    yaml = write_yaml(draft(amount(high=987))).replace("987", spelt).encode()
    (problem,) = manifest_problems(parse_yaml(yaml))
    assert problem.field == "attributes[n].number.high"
    assert "digits alone" in problem.message or "whole units" in problem.message
