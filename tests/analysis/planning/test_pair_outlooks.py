"""Verdicts on the pairs that a draft marks: those with which their results begin."""

import pytest
import yaml
from click.testing import CliRunner

from hushpoll_analysis.cli.plan import plan_command
from hushpoll_analysis.planning.pair_outlooks import pair_outlooks
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.drafts.manifest import Manifest

DRAFT = {
    "name": "pairs",
    "version": 1,
    "title": "Pairs",
    "epsilon": "4",
    "protocol": "SS",
    "attributes": [
        {"name": "smokes", "role": "sensitive", "categories": ["yes", "no"]},
        {"name": "gender", "role": "sensitive", "categories": ["f", "m"]},
        {"name": "age", "role": "sensitive", "range": [18, 80]},
    ],
    "pairs": [["smokes", "gender"], ["smokes", "age"]],
}


def outlooks(n, **changes):
    manifest = Manifest.from_dict(DRAFT | changes)
    return pair_outlooks(manifest.resolve(), manifest.pairs, n)


def test_pair_is_told_or_too_noisy_with_what_it_takes():
    told, noisy = outlooks(1000)
    assert (told.statistic, told.verdict.says) == ("independence", "informative")
    assert noisy.verdict.says == "too noisy to tell"
    more = outlooks(noisy.verdict.respondents)[1]
    assert more.verdict.says == "informative"


def test_pair_of_a_block_has_the_verdict_of_its_cross_table():
    block = {"name": "habits", "attributes": ["smokes", "gender"]}
    (found,) = outlooks(4000, together=[block], pairs=[["gender", "smokes"]])
    assert (found.statistic, found.verdict.says) == ("cross-tables", "informative")
    assert "a share of both gender and smokes" in found.verdict.sentence
    assert outlooks(5, together=[block], pairs=[["gender", "smokes"]])[0].verdict.noisy


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        ("smokes", "must be a list of pairs"),
        ([["smokes"]], r"pairs\[0\] is .* must have the names of two attributes"),
        ([["smokes", "wealth"]], "no attribute has this name"),
        ([["smokes", "smokes"]], "name two different attributes"),
        ([["smokes", "age"], ["age", "smokes"]], r"pairs\[1\] is pairs\[0\] again"),
        ([["smokes", "age"]] * 21, "marks at most 20"),
    ],
)
def test_pairs_that_cannot_be_are_refused_by_their_field(pairs, words):
    with pytest.raises(InvalidParameter, match=words) as refused:
        Manifest.from_dict(DRAFT | {"pairs": pairs})
    assert refused.value.field == "pairs"


def test_pairs_are_kept_with_the_draft_and_not_published():
    manifest = Manifest.from_dict(DRAFT)
    assert Manifest.from_dict(manifest.to_dict()) == manifest
    without = Manifest.from_dict({key: one for key, one in DRAFT.items() if key != "pairs"})
    assert manifest.resolve().to_dict() == without.resolve().to_dict()


def test_plan_on_the_command_line_tells_each_marked_pair(tmp_path):
    file = tmp_path / "pairs.yaml"
    in_draw = {"answer": 1, "attributes": DRAFT["attributes"][:2], "pairs": [["smokes", "gender"]]}
    for changes, words in (
        ({}, "smokes and age: too noisy to tell. 1,000 reports"),
        (in_draw, "smokes and gender: smokes and gender are in the draw draw"),
    ):
        file.write_text(yaml.safe_dump(DRAFT | changes), encoding="utf-8")
        shown = CliRunner().invoke(plan_command, [str(file), "--n", "1000"], catch_exceptions=False)
        assert shown.exit_code == 0, shown.output
        assert words in " ".join(shown.output.split())
