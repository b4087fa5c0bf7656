from __future__ import annotations

import copy
import hashlib
import json
import pickle
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from hushpoll_protocols import PROTOCOLS, InvalidParameter, ManifestRefused, create
from hushpoll_shared import Manifest, Published
from hushpoll_shared.spelling.canonical import canonical_json
from hushpoll_shared.survey.questions.attributes import hex_thresholds

Document = dict[str, Any]


def refused(document: Any) -> ManifestRefused:
    with pytest.raises(ManifestRefused) as caught:
        Published.from_json(document)
    assert str(caught.value).startswith("the published manifest is refused: ")
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return caught.value


def test_the_canonical_form_reads_back(published: Published) -> None:
    assert Published.from_json(published.canonical) == published
    assert Published.from_json(published.canonical.decode()) == published
    assert Published.from_json(published.to_dict()) == published


def test_the_digest_is_sha_256_of_the_canonical_form(published: Published) -> None:
    assert published.digest == hashlib.sha256(published.canonical).hexdigest()
    assert Published.from_json(published.canonical).digest == published.digest


def test_it_shows_as_its_name_version_and_digest(published: Published) -> None:
    assert repr(published) == f"<survey work-and-health version 1, digest {published.digest}>"


def test_it_is_a_value(published: Published) -> None:
    again = pickle.loads(pickle.dumps(published))
    assert again == published
    assert hash(again) == hash(published)
    assert again.digest == published.digest


def test_a_value_is_read_in_any_order_of_its_keys_and_a_text_in_its_one_spelling(
    published: Published,
) -> None:
    """Guards: Python took texts with blanks and other numbers, which JavaScript refuses."""
    turned = dict(reversed(published.to_dict().items()))
    assert Published.from_json(turned).digest == published.digest
    for text in (json.dumps(turned), b" " + published.canonical, json.dumps(turned, indent=3)):
        error = refused(text)
        assert error.field == "json"
        assert "canonical JSON" in str(error)


def test_the_published_form_has_neither_population_nor_default_protocol(
    published: Published,
) -> None:
    assert set(published.to_dict()) == {
        "format",
        "name",
        "version",
        "title",
        "description",
        "opens",
        "closes",
        "epsilon",
        "split",
        "submission",
        "minimum_batch",
        "attributes",
        "protected",
    }
    assert published.to_dict()["format"] == 1
    assert published.to_dict()["epsilon"] == "4"


@pytest.mark.parametrize("g", [2, 3, 7])
def test_a_published_number_of_buckets_stays_although_another_one_is_better(
    published: Published, g: int
) -> None:
    document = published.to_dict()
    country = document["attributes"][2]
    oracle = create("OLH", k=4, epsilon=country["epsilon"], g=g)
    country["parameters"] = {"g": g}
    country["thresholds"] = hex_thresholds(oracle)
    read = Published.from_json(document)
    assert read.attributes[2].oracle == oracle
    assert json.loads(read.canonical)["attributes"][2] == country


def test_daily_release_is_not_named_and_changes_no_digest(
    document: Document, published: Published
) -> None:
    document["release"] = "daily"
    again = Manifest.from_dict(document).resolve()
    assert again.digest == published.digest
    assert "release" not in again.to_dict()
    assert Published.from_json(published.canonical).release == "daily"


@pytest.mark.parametrize("release", ["weekly", "end", "immediate"])
def test_other_releases_are_named_and_read_back(document: Document, release: str) -> None:
    document["release"] = release
    published = Manifest.from_dict(document).resolve()
    assert published.to_dict()["release"] == release
    assert Published.from_json(published.canonical) == published
    assert Published.from_json(published.canonical).release == release


def test_population_does_not_change_the_digest(document: Document, published: Published) -> None:
    del document["population"]
    assert Manifest.from_dict(document).resolve().digest == published.digest


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("title", "Other"),
        ("version", 2),
        ("minimum_batch", 101),
        ("release", "immediate"),
        ("closes", "2026-02-28T09:00:01Z"),
        ("epsilon", "4.000000000001"),
        ("protected", None),
    ],
)
def test_every_term_changes_the_digest(
    document: Document, published: Published, key: str, value: object
) -> None:
    document[key] = value
    assert Manifest.from_dict(document).resolve().digest != published.digest


def test_the_order_of_attributes_changes_the_digest(
    document: Document, published: Published
) -> None:
    document["attributes"].reverse()
    assert Manifest.from_dict(document).resolve().digest != published.digest


def test_perturbed_and_clear_attributes_are_told_apart(published: Published) -> None:
    assert [attribute.name for attribute in published.perturbed] == [
        "gender",
        "age",
        "country",
        "income",
    ]
    assert [attribute.name for attribute in published.clear] == ["education", "postcode"]
    target = published.target
    assert target is not None
    assert target.name == "income"
    assert published.attribute("age").k == 74
    with pytest.raises(InvalidParameter, match="no attribute of work-and-health"):
        published.attribute("sex")


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("epsilon", ["0.000002", "0.1", "1", "4", "20", "64"])
@pytest.mark.parametrize("split", ["uniform", "k-based"])
def test_every_protocol_resolves_and_checks(protocol: str, epsilon: str, split: str) -> None:
    attributes = [
        {"name": "a", "role": "sensitive", "range": [1, 5]},
        {"name": "b", "role": "sensitive", "range": [1, 5]},
    ]
    manifest = Manifest.from_dict(
        {
            "name": "s",
            "version": 1,
            "title": "S",
            "epsilon": epsilon,
            "split": split,
            "protocol": protocol,
            "attributes": attributes,
        }
    )
    published = Published.from_json(manifest.resolve().canonical)
    for attribute in published.attributes:
        assert attribute.oracle == create(protocol, k=5, epsilon=Decimal(epsilon) / 2)


Spoil = Callable[[Document], None]


def at(*path: str | int, value: Any = ...) -> Spoil:
    """Set what is at the path, or delete it."""

    def apply(document: Document) -> None:
        inner: Any = document
        for step in path[:-1]:
            inner = inner[step]
        if value is ...:
            del inner[path[-1]]
        else:
            inner[path[-1]] = value

    return apply


def overspend(document: Document) -> None:
    """Give age ten times its part, with the thresholds that really belong to it."""
    age = document["attributes"][1]
    oracle = create("SS", k=74, epsilon="8.88888888888")
    age["epsilon"] = "8.88888888888"
    age["parameters"] = dict(oracle.parameters)
    age["thresholds"] = hex_thresholds(oracle)


def underspend(document: Document) -> None:
    income = document["attributes"][5]
    oracle = create("GRR", k=2, epsilon="0.4")
    income["epsilon"] = "0.4"
    income["thresholds"] = hex_thresholds(oracle)


def other_omega(document: Document) -> None:
    """Omega is not optimal, but the thresholds are those it gives: no lie."""
    oracle = create("SS", k=3, epsilon="1.777777777777", omega=2)
    document["attributes"][0]["parameters"] = {"omega": 2}
    document["attributes"][0]["thresholds"] = hex_thresholds(oracle)


LIES: dict[str, tuple[Spoil, str]] = {
    "threshold off by one": (
        lambda d: at(
            "attributes",
            5,
            "thresholds",
            "R",
            value=f"{int(d['attributes'][5]['thresholds']['R'], 16) - 1:016x}",
        )(d),
        "attributes[income].thresholds",
    ),
    "threshold in upper case": (
        lambda d: at(
            "attributes", 0, "thresholds", "P", value=d["attributes"][0]["thresholds"]["P"].upper()
        )(d),
        "attributes[gender].thresholds",
    ),
    "threshold a number": (
        at("attributes", 0, "thresholds", "P", value=1),
        "attributes[gender].thresholds",
    ),
    "threshold too many": (
        at("attributes", 0, "thresholds", "R", value="0" * 16),
        "attributes[gender].thresholds",
    ),
    "thresholds missing": (at("attributes", 0, "thresholds"), "attributes[gender].thresholds"),
    "thresholds null": (
        at("attributes", 0, "thresholds", value=None),
        "attributes[gender].thresholds",
    ),
    "thresholds a list": (
        at("attributes", 0, "thresholds", value=["x"]),
        "attributes[gender].thresholds",
    ),
    "k mismatch": (
        at("attributes", 1, "categories", 73),
        "attributes[age].thresholds",
    ),
    "k mismatch by a missing category": (
        at("attributes", 5, "missing", value="no answer"),
        "attributes[income].thresholds",
    ),
    "another protocol": (
        at("attributes", 5, "protocol", value="OUE"),
        "attributes[income].thresholds",
    ),
    "unknown protocol": (
        at("attributes", 5, "protocol", value="RR"),
        "attributes[income].protocol",
    ),
    "protocol missing": (at("attributes", 0, "protocol"), "attributes[gender].protocol"),
    "protocol null": (
        at("attributes", 5, "protocol", value=None),
        "attributes[income].protocol",
    ),
    "omega out of range": (
        at("attributes", 0, "parameters", "omega", value=3),
        "attributes[gender].parameters.omega",
    ),
    "omega changed": (
        at("attributes", 0, "parameters", "omega", value=2),
        "attributes[gender].thresholds",
    ),
    "omega left out": (at("attributes", 0, "parameters", "omega"), "attributes[gender].parameters"),
    "g changed": (
        at("attributes", 2, "parameters", "g", value=4),
        "attributes[country].thresholds",
    ),
    "g too large": (
        at("attributes", 2, "parameters", "g", value=65537),
        "attributes[country].parameters.g",
    ),
    "a parameter of another protocol": (
        at("attributes", 5, "parameters", value={"omega": 1}),
        "attributes[income].parameters",
    ),
    "parameters that are arguments": (
        at("attributes", 5, "parameters", value={"k": 3}),
        "attributes[income].parameters",
    ),
    "parameters a list": (
        at("attributes", 5, "parameters", value=[]),
        "attributes[income].parameters",
    ),
    "parts over the total": (overspend, "epsilon"),
    "total under the parts": (at("epsilon", value="3.999999999"), "epsilon"),
    "a part under its split": (underspend, "attributes[income].epsilon"),
    "another split": (at("split", value="uniform"), "attributes[gender].epsilon"),
    "total over the split": (at("epsilon", value="5"), "attributes[gender].epsilon"),
    "epsilon not canonical": (at("epsilon", value="4.0"), "epsilon"),
    "epsilon a number": (at("epsilon", value=4), "epsilon"),
    "part not canonical": (
        at("attributes", 0, "epsilon", value="1.7777777777770"),
        "attributes[gender].epsilon",
    ),
    "part out of range": (
        at("attributes", 0, "epsilon", value="65"),
        "attributes[gender].epsilon",
    ),
    "weight not canonical": (
        at("split", "weights", "gender", value="2.0"),
        "split.weights[gender]",
    ),
    "weight a number": (at("split", "weights", "gender", value=2), "split.weights[gender]"),
    "weight of nothing": (at("split", "weights", "sex", value="1"), "split.weights[sex]"),
    "unknown key": (at("population", value={}), "population"),
    "unknown key of an attribute": (
        at("attributes", 0, "range", value=[1, 2]),
        "attributes[gender].range",
    ),
    "epsilon of a clear attribute": (
        at("attributes", 3, "epsilon", value="1"),
        "attributes[education].epsilon",
    ),
    "protocol of a plain attribute": (
        at("attributes", 3, "protocol", value="GRR"),
        "attributes[education].epsilon",
    ),
    "a sensitive attribute declared plain": (
        at("attributes", 0, "role", value="plain"),
        "attributes[gender].protocol",
    ),
    "key missing": (at("minimum_batch"), "minimum_batch"),
    "null for nothing": (at("description", value=None), "description"),
    "null missing category": (
        at("attributes", 1, "missing", value=None),
        "attributes[age].missing",
    ),
    "format 3": (at("format", value=3), "format"),
    "format 2 without together": (at("format", value=2), "together"),
    "format true": (at("format", value=True), "format"),
    "version a decimal": (at("version", value=1.5), "version"),
    "not in normal form": (
        at("attributes", 2, "categories", 0, value="Que\u0301bec"),
        "attributes[country].categories[0]",
    ),
    "a control character": (at("title", value="a\u202eb"), "title"),
    "protected not a list": (at("protected", "privileged", value="Male"), "protected"),
    "protected undeclared": (at("protected", "attribute", value="sex"), "protected.attribute"),
    "attributes no list": (at("attributes", value={}), "attributes"),
    "an attribute no object": (at("attributes", 0, value="gender"), "attributes[0]"),
    "an attribute without a name": (at("attributes", 0, "name"), "attributes[0].name"),
    "categories no list": (
        at("attributes", 3, "categories", value="abc"),
        "attributes[education].categories",
    ),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_manifest_that_lies_is_refused_by_field(published: Published, lie: str) -> None:
    document = copy.deepcopy(published.to_dict())
    spoil, field = LIES[lie]
    spoil(document)
    assert json.dumps(document) != json.dumps(published.to_dict())
    as_value = refused(document)
    assert as_value.field == field
    as_text = refused(canonical_json(document))
    assert (as_text.field, str(as_text)) == (field, str(as_value))


def test_parts_over_the_total_say_how_much(published: Published) -> None:
    document = copy.deepcopy(published.to_dict())
    overspend(document)
    message = str(refused(document))
    assert "sum to 11.999999999989, more than the total 4" in message
    assert "do not answer this survey" in message


def test_a_parameter_that_is_not_optimal_is_no_lie(published: Published) -> None:
    document = copy.deepcopy(published.to_dict())
    other_omega(document)
    read = Published.from_json(document)
    assert read.attribute("gender").to_dict()["parameters"] == {"omega": 2}
    assert read.digest != published.digest


@pytest.mark.parametrize("value", [b"", b"[]", "null", "{}", '{"a":1,"a":2}', b"\xff", [], None])
def test_value_that_is_no_manifest_is_refused(value: Any) -> None:
    assert refused(value).field in {"manifest", "json", "format"}


def test_a_value_that_json_cannot_hold_is_refused(published: Published) -> None:
    document = copy.deepcopy(published.to_dict())
    document["attributes"][3]["categories"] = ("none", "school", "university")
    assert Published.from_json(document) == published
    document["version"] = Decimal(1)
    assert refused(document).field == "json"


def test_a_threshold_for_any_bit_flipped_is_refused(published: Published) -> None:
    for bit in range(64):
        document = copy.deepcopy(published.to_dict())
        thresholds = document["attributes"][5]["thresholds"]
        thresholds["R"] = f"{int(thresholds['R'], 16) ^ 1 << bit:016x}"
        assert refused(document).field == "attributes[income].thresholds"
