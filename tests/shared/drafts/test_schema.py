"""The manifest's table of fields: parser, dataclasses, JSON Schema and manifests agree with it."""

from __future__ import annotations

import copy
import json
import re
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from hushpoll_protocols import InvalidParameter
from hushpoll_shared import Manifest
from hushpoll_shared.cli.manifest_commands import check, schema
from hushpoll_shared.drafts import schema as schema_module
from hushpoll_shared.drafts.attribute_fields import (
    ATTRIBUTE,
    PROTECTED,
    TRANSLATED_ATTRIBUTE,
    TRANSLATION,
)
from hushpoll_shared.drafts.fields import ManifestField, required
from hushpoll_shared.drafts.schema import SCHEMA_FILE
from hushpoll_shared.drafts.survey_fields import BLOCK, DRAW, SURVEY
from hushpoll_shared.reading.yaml_reader import parse_yaml
from hushpoll_shared.samples import demo_manifest, sample_manifest
from hushpoll_shared.survey.questions.attributes import Attribute
from hushpoll_shared.survey.questions.protected import Protected
from hushpoll_shared.survey.randomization.blocks import Together
from hushpoll_shared.survey.randomization.budget import Split
from hushpoll_shared.survey.randomization.draws import Draw
from sample_survey import DRAFT

ROOT = Path(__file__).parents[3]
FILE = Path(schema_module.__file__).with_name(SCHEMA_FILE)
SCHEMA = json.loads(FILE.read_text(encoding="utf-8"))
VALIDATOR = jsonschema_rs.Draft7Validator(SCHEMA)
VECTORS = ROOT / "tests" / "vectors"
REFUSALS = json.loads((VECTORS / "refusals.json").read_text(encoding="utf-8"))
DRAFTS = json.loads((VECTORS / "manifests.json").read_text(encoding="utf-8"))["manifests"]
YAML_BLOCK = re.compile(r"^```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)

# Faults between fields, which no schema can name; `BEYOND_THE_SCHEMA` has them in words.
ONLY_THE_PARSER_REFUSES = {
    "epsilon of 13 places",
    "part under 1e-6",
    "range of one",
    "range too long",
    "twice after normalising",
    "twins by a no-break space",
    "twins by two blanks",
    "twins by a soft hyphen",
    "twins by a full-width letter",
    "twins by a Cyrillic letter",
    "twins by a variant",
}
BETWEEN_FIELDS: list[list[list[Any]]] = [
    [[["attributes", 0, "name"], "age"]],
    [[["attributes", 0, "missing"], "red"]],
    [[["attributes", 3, "positive"], "maybe"]],
    [[["split", "weights"], {"colour": 1}]],
    [[["opens"], "2026-02-01T00:00:00Z"], [["closes"], "2026-01-01T00:00:00Z"]],
    [[["opens"], "2026-02-30T00:00:00Z"]],
    [[["protected"], {"attribute": "colour", "privileged": "red", "unprivileged": "pink"}]],
    [[["protected"], {"attribute": "colour", "privileged": "red", "unprivileged": "red"}]],
    [[["attributes", 0, "section"], "A"], [["attributes", 2, "section"], "A"]],
    [[["attributes", 0, "scale"], "nps"]],
    [[["translations"], {"de": {"title": "Klein"}}]],
    [[["protected"], {"attribute": "happy", "privileged": "yes", "unprivileged": "no"}]],
]

TABLES = [*SURVEY, *ATTRIBUTE, *BLOCK, *DRAW, *PROTECTED, *TRANSLATION, *TRANSLATED_ATTRIBUTE]


def accepted(document: object) -> bool:
    try:
        Manifest.from_dict(document)
    except InvalidParameter:
        return False
    return True


def changed(document: dict[str, Any], changes: list[list[Any]]) -> dict[str, Any]:
    document = copy.deepcopy(document)
    for (*path, last), *value in changes:
        place: Any = document
        for key in path:
            place = place[key]
        if value:
            place[last] = value[0]
        else:
            del place[last]
    return document


def written_manifests() -> dict[str, Any]:
    """Every manifest that the repository shows to its readers, by file."""
    documents = {
        "the sample": parse_yaml(sample_manifest().encode()),
        "the demo's": parse_yaml(demo_manifest().encode()),
    }
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for block in YAML_BLOCK.findall(page.read_text(encoding="utf-8")):
            document = parse_yaml(block.encode())
            if isinstance(document, dict) and {"attributes", "epsilon"} <= document.keys():
                documents[f"{page.name}: {document.get('name')}"] = document
    return documents


def test_the_file_is_made_of_the_table() -> None:
    """``hushpoll manifest schema > shared/hushpoll_shared/drafts/manifest.schema.json``."""
    printed = CliRunner().invoke(schema)
    assert printed.exit_code == 0
    assert FILE.read_text(encoding="utf-8") == printed.output


def test_a_field_without_a_text_cannot_be_built() -> None:
    for key in ("allowed", "meaning", "reason"):
        texts = {"allowed": "a", "meaning": "m", "reason": "r", key: ""}
        with pytest.raises(InvalidParameter, match=f"has no {key}"):
            ManifestField(name="new", form={"type": "string"}, example="x", **texts)


@pytest.mark.parametrize(
    ("table", "kind", "shorthands", "resolved"),
    [
        # What select-alls and matrices become in a published survey is no field of a draft.
        (SURVEY, Manifest, {"answer", "always"}, {"selects", "matrices"}),
        (ATTRIBUTE, Attribute, {"range", "select", "want", "items", "together"}, set()),
        (BLOCK, Together, set(), {"select"}),
        (DRAW, Draw, set(), set()),
        (PROTECTED, Protected, set(), set()),
    ],
)
def test_the_table_has_the_fields_and_defaults_of_the_dataclass(
    table: tuple[ManifestField, ...], kind: type, shorthands: set[str], resolved: set[str]
) -> None:
    declared = {part.name: part.default for part in fields(kind)}
    assert {entry.name for entry in table} - shorthands == declared.keys() - resolved
    for entry in table:
        default = declared.get(entry.name)
        if default not in (None, (), MISSING):
            stated = Split.parse(entry.default) if entry.name == "split" else entry.default
            assert stated == default, entry.name


def test_every_sentence_is_one() -> None:
    for entry in TABLES:
        for sentence in (entry.meaning, entry.reason):
            assert sentence.endswith("."), entry.name
            assert sentence[0].isupper() or sentence[0] == "`", entry.name


@pytest.mark.parametrize("entry", TABLES, ids=lambda entry: entry.name)
def test_each_example_has_the_form_of_its_field(entry: ManifestField) -> None:
    form = {**entry.form, "definitions": SCHEMA["definitions"]}
    assert jsonschema_rs.Draft7Validator(form).is_valid(entry.example)
    if entry.default is not None:
        assert jsonschema_rs.Draft7Validator(form).is_valid(entry.default)


@pytest.mark.parametrize("key", [entry.name for entry in SURVEY])
def test_the_parser_reads_each_example_of_a_survey(key: str) -> None:
    (entry,) = (entry for entry in SURVEY if entry.name == key)
    document = DRAFT | {key: entry.example}
    if key == "split":
        weights = {"gender": 2, "age": 1, "country": 1}
        document["split"] = {"weights": entry.example["weights"] | weights}
    if key == "translations":
        document["language"] = "en"
        document = changed(document, [[["attributes", 1, "missing"]]])
    if key == "attributes":
        del document["protected"]
    if key == "together":
        document["split"] = "uniform"
        smoker = {"name": "smoker", "role": "sensitive", "categories": ["no", "yes"]}
        gender, *others = document["attributes"]
        gender = {name: value for name, value in gender.items() if name != "protocol"}
        document["attributes"] = [gender, *others, smoker]
    if key in ("draws", "answer", "always"):
        document["split"] = "uniform"
    if key == "always":
        document["answer"] = 1
    Manifest.from_dict(document)


@pytest.mark.parametrize("place", written_manifests())
def test_manifests_that_readers_see_are_valid(place: str) -> None:
    document = written_manifests()[place]
    VALIDATOR.validate(document)
    Manifest.from_dict(document)


@pytest.mark.parametrize("number", range(len(DRAFTS)))
def test_drafts_of_the_vectors_are_valid(number: int) -> None:
    VALIDATOR.validate(DRAFTS[number]["draft"])


@pytest.mark.parametrize("case", REFUSALS["drafts"], ids=lambda case: case["what"])
def test_schema_refuses_what_the_parser_refuses(case: dict[str, Any]) -> None:
    document = changed(REFUSALS["sound_draft"], case["changes"])
    assert VALIDATOR.is_valid(REFUSALS["sound_draft"])
    assert VALIDATOR.is_valid(document) == (case["what"] in ONLY_THE_PARSER_REFUSES)


@pytest.mark.parametrize("changes", BETWEEN_FIELDS, ids=str)
def test_a_fault_between_fields_is_the_parsers(changes: list[list[Any]]) -> None:
    document = changed(REFUSALS["sound_draft"], changes)
    assert VALIDATOR.is_valid(document)
    assert not accepted(document)


NULLS = [(table, entry.name) for table in (SURVEY, ATTRIBUTE) for entry in table]


@pytest.mark.parametrize(("table", "key"), NULLS, ids=lambda part: part if part is str else "")
def test_null_stands_for_absent_in_schema_and_parser(table: Any, key: str) -> None:
    document = copy.deepcopy(REFUSALS["sound_draft"])
    place = document if table is SURVEY else document["attributes"][0]
    place[key] = None
    assert VALIDATOR.is_valid(document) == accepted(document)
    if key in required(table):
        assert not accepted(document)


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 70),
    st.floats(0, 70, allow_nan=False),
    st.text(max_size=4),
    st.sampled_from(["SS", "target", "plain", "sensitive", "optimal", "red", "a\nb", " a", "1e-3"]),
    st.lists(st.one_of(st.integers(0, 9), st.text(max_size=2)), max_size=3),
    st.dictionaries(st.sampled_from(["weights", "age", "x"]), st.integers(0, 3), max_size=2),
)
PLACES = [
    *([entry.name] for entry in SURVEY),
    ["unknown"],
    *(["attributes", index, entry.name] for index in range(4) for entry in ATTRIBUTE),
    *(["protected", entry.name] for entry in PROTECTED),
    ["attributes", 0, "categories", 0],
    ["split", "weights", "age"],
]


@settings(max_examples=200, deadline=None)
@given(place=st.sampled_from(PLACES), value=VALUES)
def test_the_schema_takes_all_that_the_parser_takes(place: list[Any], value: Any) -> None:
    """An editor must never mark what a server would publish."""
    document = copy.deepcopy(REFUSALS["sound_draft"])
    document.setdefault("protected", {"attribute": "colour", "privileged": "red"})
    document["protected"].setdefault("unprivileged", "blue")
    document = changed(document, [[place, value]])
    if accepted(document):
        VALIDATOR.validate(document)


def test_the_command_checks_a_manifest(tmp_path: Path) -> None:
    path = tmp_path / "survey.yaml"
    path.write_text(sample_manifest(), encoding="utf-8")
    done = CliRunner().invoke(check, [str(path)])
    assert done.exit_code == 0
    assert done.output.startswith("life-and-health version 1 is a valid manifest of 15 attributes")
    digest = Manifest.from_dict(parse_yaml(path.read_bytes())).resolve().digest
    assert f"digest: {digest}\n" in done.output
    path.write_text(sample_manifest().replace("role: plain", "role: clear"), encoding="utf-8")
    done = CliRunner().invoke(check, [str(path)])
    assert done.exit_code == 1
    assert "attributes[education].role is 'clear'" in done.output
