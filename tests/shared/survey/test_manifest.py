from __future__ import annotations

import json
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from hushpoll_protocols import InvalidParameter, MissingExtra
from hushpoll_shared import Manifest, load_manifest
from hushpoll_shared.spelling.canonical import InvalidJson
from hushpoll_shared.survey.questions.protected import Protected

Document = dict[str, Any]


def refused(document: Any, field: str) -> str:
    with pytest.raises(InvalidParameter) as caught:
        Manifest.from_dict(document).resolve()
    assert caught.value.field == field
    return str(caught.value)


def test_a_draft_is_read_whole(manifest: Manifest) -> None:
    assert manifest.epsilon == Decimal(4)
    assert [attribute.name for attribute in manifest.attributes] == [
        "gender",
        "age",
        "country",
        "education",
        "postcode",
        "income",
    ]
    assert manifest.protected == Protected("gender", ("Male",), ("Female",))
    assert manifest.opens_at is not None
    assert manifest.closes_at is not None
    assert (manifest.closes_at - manifest.opens_at).days == 28


def test_the_json_form_reads_back(manifest: Manifest) -> None:
    assert Manifest.from_dict(json.loads(json.dumps(manifest.to_dict()))) == manifest


def test_absent_field_has_its_default() -> None:
    attributes = [{"name": "a", "role": "sensitive", "protocol": "OUE", "categories": ["x", "y"]}]
    manifest = Manifest.from_dict(
        {"name": "s", "version": 1, "title": "S", "epsilon": 1, "attributes": attributes}
    )
    assert manifest.split.kind == "uniform"
    assert manifest.submission == "open"
    assert manifest.minimum_batch == 100
    assert manifest.release == "daily"
    assert manifest.opens_at is manifest.closes_at is manifest.protected is None
    assert manifest.population is manifest.protocol is manifest.description is None


def test_resolving_gives_each_attribute_its_own_or_the_survey_protocol(manifest: Manifest) -> None:
    published = manifest.resolve()
    assert {attribute.name: attribute.protocol for attribute in published.attributes} == {
        "gender": "SS",
        "age": "SS",
        "country": "OLH",
        "education": None,
        "postcode": None,
        "income": "GRR",
    }
    # 4 * weight / 4.5, cut at 12 places.
    assert (
        published.budget
        == manifest.budget()
        == {
            "gender": Decimal("1.777777777777"),
            "age": Decimal("0.888888888888"),
            "country": Decimal("0.888888888888"),
            "income": Decimal("0.444444444444"),
        }
    )


def test_a_target_takes_no_protocol_from_the_survey(document: Document) -> None:
    del document["attributes"][-1]["protocol"]
    document["split"] = "uniform"
    published = Manifest.from_dict(document).resolve()
    target = published.target
    assert target is not None
    assert target.protocol is None
    assert not target.perturbed


def change(**changes: Any) -> Callable[[Document], None]:
    def apply(document: Document) -> None:
        for key, value in changes.items():
            if value is ...:
                del document[key]
            else:
                document[key] = value

    return apply


def attribute(position: int, **changes: Any) -> Callable[[Document], None]:
    return lambda document: change(**changes)(document["attributes"][position])


def protected(**changes: Any) -> Callable[[Document], None]:
    return lambda document: change(**changes)(document["protected"])


REFUSALS: dict[str, tuple[Callable[[Document], None], str, str]] = {
    "epsilon zero": (change(epsilon=0), "epsilon", "[1e-6, 64]"),
    "epsilon negative": (change(epsilon="-1"), "epsilon", "[1e-6, 64]"),
    "epsilon nan": (change(epsilon=float("nan")), "epsilon", "[1e-6, 64]"),
    "epsilon nan as text": (change(epsilon="nan"), "epsilon", "[1e-6, 64]"),
    "epsilon infinite": (change(epsilon=float("inf")), "epsilon", "[1e-6, 64]"),
    "epsilon 65": (change(epsilon=65), "epsilon", "65"),
    "epsilon of 13 places": (change(epsilon="1.0000000000001"), "epsilon", "12"),
    "epsilon missing": (change(epsilon=...), "epsilon", "no epsilon"),
    "epsilon a list": (change(epsilon=[1]), "epsilon", "not a number"),
    "a part under 1e-6": (
        change(epsilon="0.000004"),
        "attributes[age].epsilon",
        "leaves age with 0.000000888888",
    ),
    "k = 1": (attribute(3, categories=["only"]), "attributes[education].categories", "size 1"),
    "a category twice": (
        attribute(3, categories=["x", "y", "x"]),
        "attributes[education].categories",
        "'x' twice",
    ),
    "two of one name": (attribute(1, name="gender"), "attributes[gender].name", "two entries"),
    "two targets": (
        attribute(3, role="target"),
        "attributes[income].role",
        "education, income",
    ),
    "no protocol": (change(protocol=...), "attributes[gender].protocol", "names no protocol"),
    "unknown protocol": (change(protocol="RR"), "protocol", "GRR, BLH"),
    "unknown key": (change(epsilom=1), "epsilom", "unknown key 'epsilom'"),
    "no attributes": (change(attributes=[]), "attributes", "1 to 256"),
    "too many attributes, none of them read": (
        change(attributes=["a"] * 257),
        "attributes",
        "257 entries; a survey has 1 to 256",
    ),
    "attributes no list": (change(attributes={"a": 1}), "attributes", "list"),
    "an attribute no mapping": (change(attributes=["a"]), "attributes[0]", "mapping"),
    "nothing perturbed": (
        lambda document: document.update(attributes=document["attributes"][3:5], split="uniform"),
        "attributes",
        "protect nothing",
    ),
    "name": (change(name="My survey"), "name", "a-z"),
    "version zero": (change(version=0), "version", "[1, 2147483647]"),
    "version text": (change(version="1"), "version", "[1, 2147483647]"),
    "version true": (change(version=True), "version", "[1, 2147483647]"),
    "title": (change(title=""), "title", "1 to 200"),
    "description": (change(description="\x07"), "description", "control"),
    "opens": (change(opens="tomorrow"), "opens", "YYYY-MM-DD"),
    "closes before opens": (change(closes="2026-01-31T09:00:00Z"), "closes", "not after"),
    "split": (change(split="fair"), "split", "uniform, k-based"),
    "weight of a clear attribute": (
        change(split={"weights": {"gender": 1, "education": 1}}),
        "split.weights[education]",
        "not a perturbed",
    ),
    "weight missing": (
        change(split={"weights": {"gender": 1}}),
        "split.weights[age]",
        "no weight",
    ),
    "submission": (change(submission="post"), "submission", "open, token"),
    "minimum_batch": (change(minimum_batch=0), "minimum_batch", "[1, 1000000000]"),
    "release": (change(release="hourly"), "release", "daily, weekly, end, immediate"),
    "population": (change(population=[1]), "population", "mapping"),
    "population with nan": (change(population={"p": float("nan")}), "population", "finite"),
    "protected undeclared": (protected(attribute="sex"), "protected.attribute", "not declared"),
    "protected target": (
        change(protected={"attribute": "income", "privileged": "a", "unprivileged": "b"}),
        "protected.attribute",
        "the target",
    ),
    "protected category": (protected(privileged="M"), "protected.privileged", "no category"),
    "protected empty": (protected(privileged=[]), "protected.privileged", "one or more"),
    "protected twice": (
        protected(unprivileged=["Female", "Female"]),
        "protected.unprivileged",
        "one or more",
    ),
    "protected overlap": (
        protected(privileged=["Male", "Female"]),
        "protected.unprivileged",
        "both groups",
    ),
    "protected key": (protected(group="x"), "protected.group", "exactly the keys"),
    "protected missing key": (protected(privileged=...), "protected", "exactly the keys"),
    "protected no mapping": (change(protected="gender"), "protected", "exactly the keys"),
    "protected number": (protected(privileged=[1]), "protected.privileged", "exactly the keys"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_a_bad_draft_is_refused_by_field(document: Document, case: str) -> None:
    spoil, field, says = REFUSALS[case]
    Manifest.from_dict(document).resolve()
    spoil(document)
    assert says in refused(document, field)


@pytest.mark.parametrize("value", [None, [], "x", 3])
def test_a_draft_is_a_mapping(value: object) -> None:
    assert "must be a mapping" in refused(value, "manifest")


def test_an_explicit_null_is_like_nothing(document: Document) -> None:
    without = dict(document)
    for key in ("description", "opens", "closes", "population", "protected"):
        document[key] = None
        del without[key]
    assert Manifest.from_dict(document) == Manifest.from_dict(without)


def test_text_is_brought_into_normal_form(document: Document) -> None:
    composed = Manifest.from_dict(document).resolve().digest
    document["attributes"][2]["categories"][0] = "Que\u0301bec"
    assert Manifest.from_dict(document).resolve().digest == composed


def test_protected_group_in_another_normal_form_is_normalized(document: Document) -> None:
    document["protected"] = {
        "attribute": "country",
        "privileged": ["Que\u0301bec"],
        "unprivileged": "日本",
    }
    assert Manifest.from_dict(document).protected == Protected(
        "country", ("Qu\u00e9bec",), ("日本",)
    )


def test_a_protocol_refusal_names_the_attribute(
    document: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise InvalidParameter("cannot tell the truth from the rest", field="epsilon")

    monkeypatch.setattr("hushpoll_shared.drafts.manifest.create", refuse)
    assert "gender: cannot tell" in refused(document, "attributes[gender].epsilon")


def test_json_files_load(tmp_path: Path, document: Document, manifest: Manifest) -> None:
    path = tmp_path / "survey.json"
    path.write_text(json.dumps(document))
    assert load_manifest(path) == load_manifest(str(path)) == manifest


def test_a_broken_json_file_says_where(tmp_path: Path) -> None:
    path = tmp_path / "survey.json"
    path.write_text('{"name": }')
    with pytest.raises(InvalidJson, match="line 1, column 10"):
        load_manifest(path)


def test_files_of_another_ending_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match=r"\.json, \.yaml or \.yml") as caught:
        load_manifest(tmp_path / "survey.toml")
    assert caught.value.field == "path"


def test_missing_file_is_the_systems_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load_manifest(tmp_path / "none.json")


def test_yaml_without_its_extra_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "survey.yaml"
    path.write_text("name: x")
    monkeypatch.setitem(sys.modules, "yaml", None)
    monkeypatch.delitem(sys.modules, "hushpoll_shared.reading.yaml_reader", raising=False)
    with pytest.raises(MissingExtra, match=r"'\.\[cli\]'") as caught:
        load_manifest(path)
    assert caught.value.extra == "cli"
