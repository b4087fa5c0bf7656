"""Select-alls: what a draft becomes, its law, and what answers and manifests are refused."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import product
from math import exp
from pathlib import Path
from typing import Any

import pytest

from hushpoll_protocols import InvalidParameter, MalformedRecord, ManifestRefused, create
from hushpoll_protocols.estimation.marginals import UnevenSets
from hushpoll_shared import Manifest, Published
from hushpoll_shared.survey.randomization.budget import part_of
from hushpoll_shared.survey.randomization.select_choice import set_variance

APART = {"weights": {"sex": 4, "drugs": 60}}
"""With epsilon 64 a split for which 20 options are best apart, each with epsilon 3."""

LABELS = ["Cannabis", "Cocaine", "Heroin", "Other"]


def draft(m: int = 3, epsilon: str = "3", **changes: Any) -> dict[str, Any]:
    drugs = {
        "name": "drugs",
        "role": "sensitive",
        "categories": LABELS[:m] if m <= 4 else [f"drug {place}" for place in range(m)],
        "select": {},
        "question": "Which of these have you taken?",
        **changes,
    }
    return {
        "name": "drugs",
        "version": 1,
        "title": "Drugs",
        "epsilon": epsilon,
        "protocol": "GRR",
        "attributes": [
            {"name": "sex", "role": "sensitive", "categories": ["f", "m"]},
            {key: value for key, value in drugs.items() if value is not None},
        ],
    }


def published(document: dict[str, Any]) -> Published:
    survey = Manifest.from_dict(document).resolve()
    assert Published.from_json(survey.canonical).digest == survey.digest
    return survey


def test_few_options_are_one_block_of_the_selections_within_the_limits() -> None:
    survey = published(draft(4, "2", select={"at_least": 1, "at_most": 2}, want="pairs"))
    block = survey.blocks[1]
    selections = [codes for codes in product((0, 1), repeat=4) if 1 <= sum(codes) <= 2]
    assert block.name == "drugs"
    assert [block.part(value) for value in range(block.k)] == selections
    assert [block.join(codes) for codes in selections] == list(range(10))
    assert survey.to_dict()["format"] == 2
    assert survey.to_dict()["selects"] == [
        {
            "name": "drugs",
            "attributes": ["drugs_1", "drugs_2", "drugs_3", "drugs_4"],
            "at_least": 1,
            "at_most": 2,
            "question": "Which of these have you taken?",
        }
    ]
    assert [one.question for one in survey.attributes[1:]] == LABELS


def test_many_options_are_questions_apart_that_share_one_part_of_epsilon() -> None:
    survey = published({**draft(20, "64"), "split": APART})
    assert survey.together == survey.draws == ()
    assert {name: str(part) for name, part in survey.budget.items()} == {
        "sex": "4",
        **{f"drugs_{place}": "3" for place in range(1, 21)},
    }


def test_options_are_a_draw_of_the_question_s_name_where_that_is_best() -> None:
    manifest = Manifest.from_dict(draft(8, "4"))
    survey = published(draft(8, "4"))
    (draw,) = survey.draws
    assert (draw.name, draw.answer, len(draw.blocks)) == ("drugs", 1, 8)
    assert {name: str(part) for name, part in survey.budget.items()} == {"sex": "2", "drugs": "2"}
    assert "Nobody answers two options, so pairs" in manifest.choices[0].reason
    options = list(draw.blocks)
    for key, value in (("name", "other"), ("blocks", options[::-1]), ("blocks", options[:7])):
        document = survey.to_dict()
        document["draws"][0][key] = value
        with pytest.raises(ManifestRefused, match="all of them in order"):
            Published.from_json(document)


def test_a_question_in_a_draw_is_one_block_there() -> None:
    smokes = {"name": "smokes", "role": "sensitive", "categories": ["no", "yes"]}
    drawn = draft(4, "3") | {"answer": 1, "always": ["sex"]}
    drawn["attributes"].append(smokes)
    survey = published(drawn)
    assert [draw.blocks for draw in survey.draws] == [("drugs", "smokes")]
    assert [block.attributes for block in survey.together] == [
        ("drugs_1", "drugs_2", "drugs_3", "drugs_4")
    ]
    assert "in the draw draw, of which a block" in Manifest.from_dict(drawn).choices[0].reason
    beside = draft(4, "3") | {"draws": [{"name": "rota", "blocks": ["sex", "smokes"], "answer": 1}]}
    beside["attributes"].append(smokes)
    assert [draw.name for draw in published(beside).draws] == ["rota", "drugs"]
    large = draft(20, "3") | {"answer": 1, "always": ["sex"]}
    large["attributes"].append(smokes)
    with pytest.raises(
        InvalidParameter, match=r"drugs is in the draw draw.*take it out of the draw"
    ):
        Manifest.from_dict(large).resolve()


@pytest.mark.parametrize(("want", "answer"), [("shares", 1), ("pairs", 2)])
def test_the_draw_of_options_has_the_variances_of_its_law(want: str, answer: int) -> None:
    found = Manifest.from_dict({**draft(8, "8", want=want), "protocol": "SS"}).choices[0]
    drawn = next(one for one in (found.best, *found.others) if one.kind == "drawn")
    assert drawn.answer >= answer
    oracle = create("SS", k=2, epsilon=part_of(Decimal(4), Fraction(1, drawn.answer)))
    noise = oracle.estimate_variance(Fraction(1, 2)) - Fraction(1, 4)
    assert drawn.share == (noise + Fraction(1, 4)) * Fraction(8, drawn.answer)
    if want == "pairs":
        one = Fraction(3, 16) + noise + noise**2  # of those who answer both
        both = Fraction(drawn.answer * (drawn.answer - 1), 56)
        assert drawn.pair == one / both


def test_pairs_take_the_block_where_shares_would_not() -> None:
    choices = [
        Manifest.from_dict({**draft(8, "4", want=want), "protocol": "SS"}).choices[0]
        for want in ("shares", "pairs")
    ]
    assert [choice.best.kind for choice in choices] == ["drawn", "together"]
    # The whole of epsilon 2 for one option in eight; an eighth of it each; a block of 256.
    assert float(choices[0].best.share) == pytest.approx(3.4, abs=0.1)
    assert [one.kind for one in choices[0].others] == ["apart", "together"]
    assert float(choices[0].others[0].share) == pytest.approx(16.1, abs=0.1)
    assert float(choices[0].others[1].share) == pytest.approx(46.2, abs=0.1)
    assert "13.39 times as large for one block" in choices[0].reason


@pytest.mark.parametrize(
    ("m", "select", "words"), [(4, {}, "none"), (8, {}, "none"), (8, {"at_most": 2}, "at most 2")]
)
def test_the_variances_of_the_page_are_those_of_the_law(
    m: int, select: dict[str, int], words: str
) -> None:
    document = {**draft(m, "2", select=select), "protocol": "SS"}
    del document["attributes"][0]
    choice = Manifest.from_dict(document).choices[0]
    found = {one.kind: one for one in (choice.best, *choice.others)}
    block, apart, drawn = found["together"], found["apart"], found["drawn"]
    figures = (block.share, apart.share, drawn.share, block.pair or 0, apart.pair or 0)
    row = " | ".join([str(m), words, *(f"{float(figure):.1f}" for figure in figures)])
    page = Path(__file__).parents[4] / "docs" / "explanation" / "select-all.md"
    assert f"| {row} |" in page.read_text("utf-8")


@pytest.mark.parametrize("protocol", ["GRR", "SS", "OUE"])
def test_the_variance_of_a_share_is_that_of_the_estimator(protocol: str) -> None:
    oracle = create(protocol, k=11, epsilon="1.5")
    law = UnevenSets(oracle, (7, 4)).of_size(4)
    assert set_variance(oracle, 4) == law.estimate_variance(Fraction(4, 11))


@pytest.mark.parametrize("select", [{}, {"at_least": 1, "at_most": 2}])
@pytest.mark.parametrize("want", ["shares", "pairs"])
def test_the_record_of_all_options_spends_at_most_epsilon(
    select: dict[str, int], want: str
) -> None:
    document = draft(3, "2.1", select=select, want=want)
    del document["attributes"][0]
    survey = published(document)
    laws = []
    for codes in product((0, 1), repeat=3):
        if not select.get("at_least", 0) <= sum(codes) <= select.get("at_most", 3):
            continue
        named = {f"drugs_{place + 1}": code for place, code in enumerate(codes)}
        per_field = [
            [
                field.oracle.probability(bytes([value]), field.code(named))
                for value in range(field.k)
            ]
            for field in survey.layout.fields
            if field.oracle is not None
        ]
        law: list[Fraction] = [Fraction(1)]
        for field_law in per_field:
            law = [before * chance for before in law for chance in field_law]
        assert sum(law) == 1
        laws.append(law)
    ratio = max(
        one / other
        for first in laws
        for second in laws
        for one, other in zip(first, second, strict=True)
    )
    assert float(ratio) <= exp(2.1)


def test_optimal_and_weights_take_a_select_all_as_one() -> None:
    weighted = published({**draft(8, "4"), "split": {"weights": {"sex": 1, "drugs": 3}}})
    assert (str(weighted.budget["sex"]), str(weighted.budget["drugs"])) == ("1", "3")
    apart = published({**draft(20, "64"), "split": APART})
    assert (str(apart.budget["sex"]), str(apart.budget["drugs_8"])) == ("4", "3")
    optimal = published({**draft(8, "4"), "split": "optimal"})
    assert float(optimal.budget["drugs"]) > 2


def test_an_answer_is_a_list_of_options() -> None:
    layout = published(draft(3)).layout
    codes = layout.code_answers({"sex": "f", "drugs": ["Heroin", "Cannabis"]})
    assert codes == {"sex": 0, "drugs_1": 1, "drugs_2": 0, "drugs_3": 1}
    assert layout.code_answers({"sex": "f", "drugs": []})["drugs_1"] == 0
    by_option = {"drugs_1": "selected", "drugs_2": "not selected", "drugs_3": "selected"}
    assert layout.code_answers({"sex": "f", **by_option}) == codes


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("Cannabis", "of type str\\) is no list"),
        (None, "is no list"),
        (["Cannabis", "Cannabis"], "is there twice"),
        (["Crack"], "none of its options; .* Cannabis"),
        ([], "name 1 to 2"),
        (["Cannabis", "Cocaine", "Heroin"], "name 1 to 2"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused_without_showing_it(
    answer: object, words: str
) -> None:
    layout = published(draft(3, select={"at_least": 1, "at_most": 2})).layout
    with pytest.raises(InvalidParameter, match=words.replace("Cannabis", "'?Cannabis")) as refused:
        layout.code_answers({"sex": "f", "drugs": answer})  # type: ignore[dict-item]
    assert refused.value.field == "drugs"
    assert "Crack" not in str(refused.value)


def test_no_answer_is_refused_with_the_remedy() -> None:
    layout = published(draft(3)).layout
    with pytest.raises(InvalidParameter, match="which is empty where none applies"):
        layout.code_answers({"sex": "f"})
    with pytest.raises(InvalidParameter, match="give the list of options for drugs alone"):
        layout.code_answers({"sex": "f", "drugs": [], "drugs_1": "selected"})


def test_codes_outside_the_limits_are_not_encoded() -> None:
    from hushpoll_protocols import SecureBits

    for m, epsilon in ((3, "3"), (8, "4")):
        layout = published(draft(m, epsilon, select={"at_least": 1})).layout
        codes = {"sex": 0, **{f"drugs_{place}": 0 for place in range(1, m + 1)}}
        with pytest.raises(InvalidParameter, match="name at least 1"):
            layout.encode(codes, SecureBits())


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"select": {"at_least": 3, "at_most": 2}}, "select.at_least", "is 3, more than at_most, 2"),
    ({"select": {"at_most": 4}}, "select.at_most", "is 4; it is an integer from 1 to 3"),
    ({"select": {"at_least": 3}}, "select.at_least", "everybody would name all"),
    ({"select": {"at_least": True}}, "select.at_least", "is True"),
    ({"select": {"most": 3}}, "select.most", "unknown key"),
    ({"select": 3}, "select", "is 3; it is a mapping"),
    ({"want": "all"}, "want", "is 'all'; it is one of shares, pairs"),
    ({"want": "pairs", "select": {"at_most": 1}}, "want", "raise at_most"),
    ({"select": None, "want": "pairs"}, "want", "add select"),
    ({"missing": "No answer"}, "missing", "leave it out"),
    ({"scale": "ordinal"}, "scale", "leave it out"),
    ({"ask_if": {"sex": ["f"]}}, "ask_if", "asked of everybody"),
    ({"role": "target"}, "role", "give it another role"),
    ({"role": "target", "positive": "Cannabis"}, "positive", "leave it out"),
    ({"categories": ["Cannabis"]}, "categories", "two options or more"),
    ({"categories": ["Cannabis", "Cannabis"]}, "categories", "twice"),
    ({"categories": ["selected", "Cannabis"]}, "categories", "call the option something else"),
    ({"categories": None, "range": [1, 3]}, "range", "give categories"),
    ({"name": "d" * 63}, "name", "shorten the name"),
]


@pytest.mark.parametrize(("changes", "field", "words"), REFUSED)
def test_a_select_all_that_cannot_be_is_refused(
    changes: dict[str, Any], field: str, words: str
) -> None:
    with pytest.raises(InvalidParameter, match=words) as refused:
        Manifest.from_dict(draft(**changes))
    assert refused.value.field is not None
    assert refused.value.field.endswith(f"].{field}")


def test_a_select_all_where_one_answer_is_needed_is_refused() -> None:
    whole = draft()
    follow_up = {"name": "age", "role": "sensitive", "range": [1, 3]}
    for changes, field in (
        ({"together": [{"name": "b", "attributes": ["sex", "drugs"]}]}, "together[b].attributes"),
        (
            {
                "protected": {
                    "attribute": "drugs",
                    "privileged": "Cannabis",
                    "unprivileged": "Heroin",
                }
            },
            "protected.attribute",
        ),
        ({"split": "k-based"}, "split"),
        (
            {"attributes": [*whole["attributes"], {**follow_up, "ask_if": {"drugs": ["Heroin"]}}]},
            "attributes[age].ask_if",
        ),
        (
            {"attributes": [*whole["attributes"], {**follow_up, "name": "drugs_2"}]},
            "attributes[drugs].name",
        ),
        ({"split": {"weights": {"sex": 1, "drugs_1": 1}}}, "split.weights[drugs_1]"),
    ):
        with pytest.raises(InvalidParameter) as refused:
            Manifest.from_dict({**whole, **changes}).resolve()
        assert refused.value.field == field


def test_a_draft_is_written_as_it_was_read() -> None:
    document = draft(select={"at_least": 1}, want="pairs")
    manifest = Manifest.from_dict(document)
    assert manifest.to_dict()["attributes"][1] == document["attributes"][1]
    assert Manifest.from_dict(manifest.to_dict()) == manifest


def test_options_and_the_question_are_translated() -> None:
    words = {"question": "Welche?", "categories": ["Hanf", "Koks", "Heroin"]}
    document = {
        **draft(),
        "language": "en",
        "translations": {"de": {"title": "Drogen", "attributes": {"drugs": words}}},
    }
    wording = published(document).wording("de")
    assert wording.questions == ("sex", "Hanf", "Koks", "Heroin")
    assert wording.selects == ("Welche?",)
    assert published(document).wording().selects == ("Which of these have you taken?",)


LIES: list[tuple[str, Any, str]] = [
    ("at_most", 4, "selects[drugs].at_most"),
    ("at_most", 2, "together[drugs].thresholds"),
    ("at_least", 3, "selects[drugs].at_least"),
    ("attributes", ["drugs_1", "drugs_3", "drugs_2"], "selects[drugs].attributes"),
    ("attributes", ["drugs_1", "drugs_2"], "selects[drugs].at_most"),
    ("name", "sex", "selects[sex].name"),
    ("want", "pairs", "selects[drugs].want"),
]


@pytest.mark.parametrize(("key", "value", "field"), LIES)
def test_a_published_select_all_that_lies_is_refused(key: str, value: object, field: str) -> None:
    document = published(draft(want="pairs")).to_dict()
    document["selects"][0][key] = value
    with pytest.raises(ManifestRefused) as refused:
        Published.from_json(document)
    assert refused.value.field == field


def test_an_option_with_other_answers_is_refused() -> None:
    document = published(draft()).to_dict()
    document["attributes"][2]["categories"] = ["no", "yes"]
    with pytest.raises(ManifestRefused, match=r"drugs_2.* is an option of a select-all"):
        Published.from_json(document)


def test_options_that_do_not_share_one_part_of_epsilon_are_refused() -> None:
    document = published(draft(8, "4")).to_dict()
    del document["selects"]
    with pytest.raises(ManifestRefused):
        Published.from_json({**document, "format": 1})


def test_a_selection_outside_the_domain_is_no_record() -> None:
    layout = published(draft(3, select={"at_most": 1})).layout
    with pytest.raises(MalformedRecord):
        layout.check(bytes([0, 4]))


def test_a_plain_select_all_leaves_in_clear() -> None:
    survey = published(draft(role="plain"))
    assert [one.name for one in survey.clear] == ["drugs_1", "drugs_2", "drugs_3"]
    assert list(survey.budget) == ["sex"]
