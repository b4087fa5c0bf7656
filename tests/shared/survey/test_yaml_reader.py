from __future__ import annotations

from pathlib import Path

import pytest

from hushpoll_protocols import InvalidParameter
from hushpoll_shared import Manifest, load_manifest
from hushpoll_shared.reading.yaml_reader import parse_yaml

SURVEY = """\
# A comment
name: work-and-health
version: 1
title: Work and health
opens: 2026-01-31T09:00:00Z
epsilon: "4.0"
split: {weights: {gender: 2, age: 1, country: 1}}   # or uniform, or k-based
protocol: SS
attributes:
  - {name: gender, role: sensitive, categories: [Female, Male], missing: Prefer not to say}
  - {name: age, role: sensitive, range: [17, 90]}
  - {name: country, role: sensitive, protocol: OLH, categories: [NO, SE, Yes, on, "12", 12:30]}
  - {name: income, role: target, categories: ["<=26000", ">26000"], positive: ">26000"}
protected: {attribute: gender, unprivileged: Female, privileged: Male}
submission: open
minimum_batch: 100
"""


@pytest.mark.parametrize("ending", ["yaml", "yml", "YAML"])
def test_a_yaml_manifest_loads(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"survey.{ending}"
    path.write_text(SURVEY)
    manifest = load_manifest(path)
    assert manifest.opens == "2026-01-31T09:00:00Z"
    assert manifest.attributes[2].categories == ("NO", "SE", "Yes", "on", "12", "12:30")
    assert manifest == Manifest.from_dict(manifest.to_dict())


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[no, NO, yes, on, off, y]", ["no", "NO", "yes", "on", "off", "y"]),
        ("[true, false, null, ~]", [True, False, None, None]),
        ("[0, 12, -3]", [0, 12, -3]),
        ("[007, 1_000, 0x10, 0o7, 12:30, +1]", ["007", "1_000", "0x10", "0o7", "12:30", "+1"]),
        ("[0.5, 1e3, -2.5e-1]", [0.5, 1000.0, -0.25]),
        ("[.inf, .nan, .5, '1']", [".inf", ".nan", ".5", "1"]),
        ("{question: Do you smoke?, b: 1}", {"question": "Do you smoke?", "b": 1}),
        ("[Never, Who knows?]", ["Never", "Who knows?"]),
        ("[?a, a?b, ??, x ? y]", ["?a", "a?b", "??", "x ? y"]),
        ("[:-), :-(, a:b]", [":-)", ":-(", "a:b"]),
        ("{a?: b?, c: [d?\n  e]}", {"a?": "b?", "c": ["d? e"]}),
        ("{? a : b, ? c}", {"a": "b", "c": None}),
        ("{\"a\":b, 'c' :d, e: f}", {"a": "b", "c": "d", "e": "f"}),
        ("{a: http://x.y/z?q=1}", {"a": "http://x.y/z?q=1"}),
        ("\ufeff[a?]", ["a?"]),
        ("2026-01-31", "2026-01-31"),
        ("<<: 1", {"<<": 1}),
        ("{a: , b: }", {"a": None, "b": None}),
        ("", None),
    ],
)
def test_plain_words_are_text_unless_json_would_say_otherwise(text: str, value: object) -> None:
    read = parse_yaml(text.encode())
    assert read == value
    assert repr(read) == repr(value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"a: 1\na: 2", "the key 'a' appears twice at line 2, column 1"),
        (b"a: [1", "not YAML"),
        (b"a: \xff", "the YAML is no UTF-8 text (byte 3 is 0xff); save it as UTF-8"),
        ("a: 1".encode("utf-16"), "but text in UTF-16"),
        (b"a: [b?", "not YAML"),
        (b"? [a]\n: 1", "keys are text"),
        (b"a: !!python/object/apply:os.system [x]", "could not determine a constructor"),
        (b"a: 1\n---\nb: 2", "not YAML"),
        (b"[" * 20_000, "nested too deeply"),
    ],
)
def test_broken_yaml_is_refused(text: bytes, says: str) -> None:
    with pytest.raises(InvalidParameter) as caught:
        parse_yaml(text)
    assert says in str(caught.value)
    assert caught.value.field == "manifest"


def test_an_unquoted_number_as_a_category_says_to_quote_it(tmp_path: Path) -> None:
    path = tmp_path / "survey.yaml"
    path.write_text(SURVEY.replace("[NO, SE,", "[NO, 12,"))
    with pytest.raises(InvalidParameter, match="put it in quotes") as caught:
        load_manifest(path)
    assert caught.value.field == "attributes[country].categories[1]"


def test_a_list_that_holds_itself_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "survey.yaml"
    path.write_text(SURVEY + "population: &p {again: *p}\n")
    with pytest.raises(InvalidParameter, match="nested deeper") as caught:
        load_manifest(path)
    assert caught.value.field == "population"
