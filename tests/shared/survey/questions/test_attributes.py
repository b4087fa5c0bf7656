from __future__ import annotations

from typing import Any

import pytest

from hushpoll_protocols import PROTOCOLS, InvalidParameter, create
from hushpoll_shared.drafts.attributes import read_attribute
from hushpoll_shared.survey.questions.attributes import (
    Attribute,
    PublishedAttribute,
    hex_thresholds,
)


def refused(document: Any, field: str) -> str:
    with pytest.raises(InvalidParameter) as caught:
        read_attribute(document, position=3)
    assert caught.value.field == field
    return str(caught.value)


def sensitive(**changes: Any) -> dict[str, Any]:
    document = {"name": "age", "role": "sensitive", "categories": ["a", "b"], **changes}
    return {key: value for key, value in document.items() if value is not ...}


def test_the_domain_is_the_categories_and_the_missing_one_last() -> None:
    attribute = Attribute("age", "sensitive", ("a", "b"), missing="none")
    assert attribute.domain == ("a", "b", "none")
    assert attribute.k == 3
    assert [attribute.code(answer) for answer in ("a", "b", "none", None)] == [0, 1, 2, 2]


def test_a_range_has_both_ends() -> None:
    attribute = read_attribute({"name": "age", "role": "plain", "range": [-2, 1]}, position=0)
    assert attribute.categories == ("-2", "-1", "0", "1")
    assert attribute.code(-2) == 0
    assert attribute.code("1") == 3


def test_an_answer_may_be_typed_in_another_normal_form() -> None:
    attribute = read_attribute(sensitive(categories=["Que\u0301bec", "x"]), position=0)
    assert attribute.categories[0] == "Qu\u00e9bec"
    assert attribute.code("Que\u0301bec") == attribute.code("Qu\u00e9bec") == 0


def test_only_sensitive_attributes_and_targets_with_a_protocol_are_perturbed() -> None:
    domain = ("a", "b")
    assert Attribute("x", "sensitive", domain).perturbed
    assert not Attribute("x", "plain", domain).perturbed
    assert not Attribute("x", "target", domain).perturbed
    assert Attribute("x", "target", domain, protocol="GRR").perturbed


@pytest.mark.parametrize(
    "answer", ["Purple", "", "A", 7, pytest.param(10**5000, id="huge"), True, 1.0, b"a", ["a"]]
)
def test_an_unknown_answer_is_refused_without_being_shown(answer: object) -> None:
    attribute = Attribute("colour", "sensitive", ("red", "blue"))
    with pytest.raises(InvalidParameter) as caught:
        attribute.code(answer)
    assert caught.value.field == "colour"
    message = str(caught.value)
    assert "'red', 'blue'" in message
    assert f"of type {type(answer).__name__}" in message
    assert "Purple" not in message
    assert caught.value.__context__ is None


def test_an_absent_answer_needs_a_missing_category() -> None:
    with pytest.raises(InvalidParameter, match="no category for a missing one") as caught:
        Attribute("age", "sensitive", ("a", "b")).code(None)
    assert caught.value.field == "age"


def test_a_long_domain_is_cut_in_messages() -> None:
    attribute = read_attribute({"name": "age", "role": "plain", "range": [0, 999]}, position=0)
    with pytest.raises(InvalidParameter, match=r"\(1000 categories\)"):
        attribute.code("x")


@pytest.mark.parametrize(
    ("changes", "field", "says"),
    [
        ({"name": "Age"}, "attributes[3].name", "a-z, 0-9"),
        ({"name": ...}, "attributes[3].name", "no name"),
        ({"role": ...}, "attributes[age].role", "no role"),
        ({"role": "secret"}, "attributes[age].role", "sensitive, plain, target"),
        ({"role": ["plain"]}, "attributes[age].role", "sensitive, plain, target"),
        ({"categories": ["a", "b", "a"]}, "attributes[age].categories", "'a' twice"),
        ({"categories": ["e\u0301", "\u00e9"]}, "attributes[age].categories", "twice"),
        ({"categories": ["a"]}, "attributes[age].categories", "size 1"),
        ({"categories": []}, "attributes[age].categories", "size 0"),
        ({"categories": "ab"}, "attributes[age].categories", "list of strings"),
        ({"categories": ["a", 1]}, "attributes[age].categories[1]", "must be text"),
        ({"categories": ["a", None]}, "attributes[age].categories[1]", "must be text"),
        ({"categories": ["a", ""]}, "attributes[age].categories[1]", "1 to 200"),
        ({"categories": ["a\t", "b"]}, "attributes[age].categories[0]", "control"),
        ({"categories": ...}, "attributes[age].categories", "neither"),
        ({"range": [0, 1]}, "attributes[age].categories", "both"),
        ({"categories": ..., "range": [1, 1]}, "attributes[age].range", "a < b"),
        ({"categories": ..., "range": [2, 1]}, "attributes[age].range", "a < b"),
        ({"categories": ..., "range": [0, 65536]}, "attributes[age].range", "65536 numbers"),
        ({"categories": ..., "range": [0, 1.5]}, "attributes[age].range", "two integers"),
        ({"categories": ..., "range": [False, True]}, "attributes[age].range", "two integers"),
        ({"categories": ..., "range": "0-9"}, "attributes[age].range", "two integers"),
        ({"categories": ..., "range": [0, 2**60]}, "attributes[age].range", "two integers"),
        ({"missing": "a"}, "attributes[age].missing", "also listed"),
        ({"missing": 0}, "attributes[age].missing", "must be text"),
        ({"question": "a\nb"}, "attributes[age].question", "control"),
        ({"protocol": "RR"}, "attributes[age].protocol", "GRR, BLH, OLH, RAPPOR, OUE, SS, THE"),
        ({"protocol": 3}, "attributes[age].protocol", "a protocol is one of"),
        ({"role": "plain", "protocol": "GRR"}, "attributes[age].protocol", "leave in clear"),
        ({"positive": "a"}, "attributes[age].positive", "only a target"),
        ({"role": "target", "positive": "c"}, "attributes[age].positive", "none of its"),
        ({"role": "target", "positive": "m", "missing": "m"}, "attributes[age].positive", "none"),
        ({"epsilon": "1"}, "attributes[age].epsilon", "unknown key 'epsilon'"),
        ({3: 4}, "attributes[age].3", "unknown key 3"),
    ],
)
def test_bad_attributes_are_refused_by_name(changes: dict[Any, Any], field: str, says: str) -> None:
    message = refused(
        sensitive(**{str(k): v for k, v in changes.items() if isinstance(k, str)})
        | {k: v for k, v in changes.items() if not isinstance(k, str)},
        field,
    )
    assert says in message


@pytest.mark.parametrize("value", [None, "age", ["age"], 3])
def test_attribute_that_is_no_mapping_is_refused_by_position(value: object) -> None:
    assert "mapping" in refused(value, "attributes[3]")


def test_a_domain_of_65536_is_the_largest() -> None:
    attribute = read_attribute({"name": "id", "role": "sensitive", "range": [1, 65536]}, position=0)
    assert attribute.k == 65536
    document = {"name": "id", "role": "sensitive", "range": [1, 65536], "missing": "none"}
    assert "size 65537" in refused(document, "attributes[id].categories")


def test_the_json_form_reads_back() -> None:
    attribute = Attribute("y", "target", ("a", "b"), "m", "Why?", "GRR", "b")
    assert read_attribute(attribute.to_dict(), position=0) == attribute
    assert Attribute("y", "plain", ("a", "b")).to_dict() == {
        "name": "y",
        "role": "plain",
        "categories": ["a", "b"],
    }


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_published_attribute_spells_its_oracle(protocol: str) -> None:
    oracle = create(protocol, k=2, epsilon="0.50")
    attribute = PublishedAttribute("x", "sensitive", ("a", "b"), protocol=protocol, oracle=oracle)
    document = attribute.to_dict()
    assert document["epsilon"] == "0.5"
    assert document["parameters"] == dict(oracle.parameters)
    assert document["thresholds"] == hex_thresholds(oracle)
    for name, digits in hex_thresholds(oracle).items():
        assert len(digits) == 16
        assert int(digits, 16) == oracle.thresholds[name]
    assert attribute.epsilon == oracle.epsilon
    assert PublishedAttribute("x", "plain", ("a", "b")).epsilon is None
