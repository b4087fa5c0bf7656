"""What is planned of draws is what simulated records of them give, beside blocks and the split."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from hushpoll_analysis.auditing.power import AuditAssumptions, audit_powers
from hushpoll_analysis.cli.plan import plan_command
from hushpoll_analysis.estimates.frequencies import frequencies
from hushpoll_analysis.planning.goals import Goal
from hushpoll_analysis.planning.pair_outlooks import pair_outlooks
from hushpoll_analysis.planning.planner import outlook, question_precision, total_variance
from hushpoll_analysis.planning.verdicts import verdicts
from hushpoll_analysis.planning.ways import ways_of
from hushpoll_analysis.records.records import Records
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared import Manifest
from hushpoll_shared.spelling.canonical import canonical_json
from hushpoll_shared.wire.batch import encode_many

N = 2_000
YES_NO = ("gender", "smokes", "drinks", "debts")


def draft(epsilon: str = "2", **more: Any) -> dict[str, Any]:
    attributes: list[dict[str, Any]] = [
        {"name": name, "role": "sensitive", "categories": ["no", "yes"]} for name in YES_NO
    ]
    attributes.append(
        {"name": "amount", "role": "sensitive", "number": {"low": 0, "high": 1000, "unit": "euros"}}
    )
    form = {"name": "money", "version": 1, "title": "Money", "epsilon": epsilon, "protocol": "SS"}
    return form | {"attributes": attributes} | more


def manifest(epsilon: str = "2", **more: Any) -> Manifest:
    return Manifest.from_dict(draft(epsilon, **more))


LABEL = {
    "name": "income",
    "role": "target",
    "protocol": "GRR",
    "categories": ["low", "high"],
    "positive": "high",
}
GROUPS = {"attribute": "gender", "privileged": "yes", "unprivileged": "no"}


def labelled(**more: Any) -> Manifest:
    return manifest("4", attributes=[*draft()["attributes"], LABEL], protected=GROUPS, **more)


def test_a_number_in_a_draw_has_the_anchors_that_its_epsilon_there_gives():
    """It was looked for in the budget of the blocks outside draws, and none could be published."""
    published = manifest(answer=2).resolve()
    anchors = published.attribute("amount").categories
    alone = draft("1", attributes=[draft()["attributes"][-1]])
    assert anchors == Manifest.from_dict(alone).resolve().attribute("amount").categories


@pytest.mark.parametrize("answer", [1, 2])
def test_the_width_of_a_share_is_the_mean_width_of_drawn_surveys(answer):
    drawn = manifest(answer=answer)
    published = drawn.resolve()
    (told,) = verdicts(drawn, [Goal("width", "smokes")], n=N)["goals"]
    rng = np.random.default_rng(3)
    widths = []
    for _ in range(25):
        codes = {one.name: rng.integers(0, one.k, N) for one in published.attributes}
        records = Records(published, encode_many(published, codes, rng))
        estimate = next(one for one in frequencies(records) if one.name == "smokes")
        widths.append(np.mean(estimate.upper - estimate.lower))
    assert told["predicted"] == pytest.approx(np.mean(widths), rel=0.01)
    assert f"of whom {N * answer // 5:,} answer it," in told["sentence"]


def test_five_drawn_questions_take_the_respondents_of_one_five_times():
    one = draft(attributes=[draft()["attributes"][1]])
    alone = verdicts(Manifest.from_dict(one), [Goal("width", "smokes", 0.05)])
    drawn = verdicts(manifest(answer=1), [Goal("width", "smokes", 0.05)])
    needed = alone["goals"][0]["n_needed"]
    assert drawn["goals"][0]["n_needed"] == pytest.approx(5 * needed, rel=0.01)
    assert alone["together"] is None  # a single question has one way


def test_all_three_ways_stand_side_by_side_with_the_verdict_and_what_a_draw_costs(tmp_path):
    document = verdicts(manifest(), [Goal("gap", "smokes/gender", 0.2)])["together"]
    split, together, drawn = document["ways"]
    assert [way["name"] for way in document["ways"]] == ["split", "together", "drawn"]
    assert split["blocks"] == []
    assert together["blocks"] == drawn["blocks"] == [["gender", "smokes"]]
    assert drawn["draws"] == [
        {"name": "draw", "blocks": ["together-1", "drinks", "debts", "amount"], "answer": 1}
    ]
    people = [way["n_needed_for_all"] for way in document["ways"]]
    assert people == sorted(people, reverse=True)
    assert document["recommended"] == "drawn"
    assert document["verdict"] == (
        "Let each respondent answer 1 of 4 blocks, drawn at random (gender and smokes together, "
        f"drinks, debts, amount): all that is wanted takes {people[2]:,} respondents, and alone it "
        f"takes {people[0]:,}, and together it takes {people[1]:,}, because a device divides "
        "epsilon among fewer answers, which gains more than is lost where not everybody answers. "
        "But nobody answers two of these blocks, so nothing can be said together of questions in "
        "different ones."
    )
    path = tmp_path / "draft.json"
    path.write_bytes(canonical_json(draft()))
    said = CliRunner().invoke(plan_command, [str(path), "--want", "gap:smokes/gender=0.2"])
    assert document["verdict"] in " ".join(said.output.split())


def test_a_draw_is_proposed_beside_a_select_all_and_with_it_as_a_block():
    drugs = {"name": "drugs", "role": "sensitive", "categories": ["a", "b", "c"], "select": {}}
    both = manifest(attributes=[*draft()["attributes"][:4], {**drugs, "want": "pairs"}])
    goals = [Goal("width", "smokes", 0.1)]
    (drawn,) = [way.draft for way in ways_of(both, goals) if way.name == "drawn"]
    assert drawn.draws[0].blocks == (*YES_NO, "drugs")
    assert drawn.resolve().share_answering(["drugs_1", "drugs_2"]) > 0
    many = {**drugs, "categories": [f"drug {place}" for place in range(20)]}
    beside = manifest(attributes=[*draft()["attributes"][:4], many])
    (drawn,) = [way.draft for way in ways_of(beside, goals) if way.name == "drawn"]
    assert drawn.draws[0].blocks == YES_NO
    found = verdicts(both, [Goal("width", "drugs", 0.1)])["together"]
    assert {way["name"] for way in found["ways"]} >= {"split", "drawn"}


def test_a_draft_with_a_draw_is_compared_with_everybody_answering_all():
    few = verdicts(manifest("24", answer=1), [Goal("width", "smokes", 0.1)])["together"]
    assert few["recommended"] == "split"
    split, drawn = (way["n_needed_for_all"] for way in few["ways"])
    assert few["verdict"] == (
        f"Let everybody answer every question: all that is wanted takes {split:,} respondents, and "
        f"with 1 of 5 drawn it takes {drawn:,}, because fewer would answer what is wanted, and "
        "that loses more than epsilon gains."
    )


def proposed(of: Manifest, *goals: Goal) -> list[Manifest]:
    return [way.draft for way in ways_of(of, goals) if way.name == "drawn"]


def test_a_draw_that_is_proposed_leaves_answers_to_marked_pairs_and_to_the_audit():
    (pairs,) = proposed(manifest(pairs=[["drinks", "debts"]]), Goal("width", "smokes", 0.2))
    assert pairs.draws[0].answer == 2
    joined, alone = proposed(labelled(), Goal("audit", "EOD", 0.3))
    assert [block.attributes for block in joined.together] == [("gender", "income")]
    assert joined.draws[0].blocks == ("smokes", "drinks", "debts", "amount")
    assert alone.together == ()
    assert "income" not in alone.draws[0].blocks


def test_everybody_answers_a_question_of_several_pairs_with_the_epsilon_of_one_answer():
    goals = Goal("gap", "smokes/gender", 0.5), Goal("gap", "debts/gender", 0.5)
    _, hub = proposed(manifest(), *goals)
    assert hub.draws[0].blocks == ("smokes", "drinks", "debts", "amount")
    published = hub.resolve()
    parts = {block.name: block.oracle.epsilon for block in published.blocks}
    assert len(set(parts.values())) == 1


def test_pairs_and_audits_that_nobody_answers_are_refused_with_the_remedy():
    drawn = manifest(answer=1)
    with pytest.raises(InvalidParameter, match=r"^gap:smokes/gender: .*nobody answers both.*put"):
        verdicts(drawn, [Goal("gap", "smokes/gender", 0.2)])
    (pair,) = pair_outlooks(drawn.resolve(), [("smokes", "gender")], N)
    assert pair.verdict is None
    assert "nobody answers both" in str(pair.refusal)
    audited = labelled(answer=1)
    with pytest.raises(InvalidParameter, match=r"^audit:SPD: gender and income are in the draw"):
        verdicts(audited, [Goal("audit", "SPD", 0.2)])
    told = outlook(audited, N)
    assert told["own"]["audit_power"] is None
    assert any("no audit is planned" in text for text in told["own"]["warnings"])


def test_the_power_of_an_audit_is_that_of_those_who_answer_group_and_label():
    drawn = labelled(answer=1, always=["gender", "income"])
    published = drawn.resolve()
    given = AuditAssumptions()
    assert (
        audit_powers(published, N, given)["SPD"]
        > audit_powers(labelled().resolve(), N, given)["SPD"]
    )
    some = labelled(draws=[{"name": "rota", "blocks": ["gender", "smokes"], "answer": 1}])
    of_half = audit_powers(some.resolve(), 2 * N, given)
    as_one = audit_powers(some.resolve().answering(["gender"]), 4 * N, given)
    assert of_half["SPD"] < as_one["SPD"]


def test_precision_and_variances_are_of_those_who_answer():
    drawn, everybody = manifest(answer=1).resolve(), manifest("10").resolve()
    assert drawn.attribute("smokes").oracle == everybody.attribute("smokes").oracle
    for name in ("smokes", "amount"):
        part = question_precision(drawn, drawn.attribute(name), 5 * N)
        whole = question_precision(everybody, everybody.attribute(name), N)
        assert part == pytest.approx(whole)
    five = total_variance(everybody, ["smokes"]) * 5
    assert total_variance(drawn, ["smokes"]) == pytest.approx(five)


def test_a_number_is_planned_by_its_mean():
    published = manifest().resolve()
    told = question_precision(published, published.attribute("amount"), N)
    (mean,) = verdicts(manifest(), [Goal("mean", "amount")], n=N)["goals"]
    assert told["mean_width"] == mean["predicted"]
    assert told["width"] == pytest.approx(mean["predicted"] / 1000)
    assert question_precision(published, published.attribute("smokes"), N)["mean_width"] is None
