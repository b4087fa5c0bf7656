"""The golden vectors, run against the package and, where possible, formulas written anew."""

from __future__ import annotations

import copy
import json
import os
import struct
import subprocess
import sys
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from decoded import clear_answers, reports_of
from hushpoll_client.device.preview import build_preview
from hushpoll_protocols import (
    InvalidParameter,
    MalformedRecord,
    ManifestRefused,
    ReplayBits,
    create,
    format_epsilon,
)
from hushpoll_protocols.oracles.local_hashing import bucket, finalise
from hushpoll_shared import Manifest, Published
from hushpoll_shared.spelling.base64url import b64decode, b64encode
from hushpoll_shared.spelling.canonical import InvalidJson, canonical_json, parse_json
from hushpoll_shared.spelling.languages import closest, direction
from hushpoll_shared.survey.questions.number import draw_anchor
from hushpoll_shared.survey.randomization.budget import Split, split_budget
from hushpoll_shared.wire.answers import acknowledgement, offers_manifest, own_problem
from hushpoll_shared.wire.problems import PROBLEMS
from hushpoll_shared.wire.reports import Report, encode_report_json, pack_reports, parse_report_json

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests" / "vectors"
FILES = {path.stem: json.loads(path.read_text("ascii")) for path in sorted(FOLDER.glob("*.json"))}
Vector = dict[str, Any]


def vectors(file: str, group: str) -> list[Vector]:
    """Return a group's vectors; an empty group would test nothing."""
    group_vectors: list[Vector] = FILES[file][group]
    assert group_vectors
    return group_vectors


def oracle_of(vector: Vector) -> Any:
    return create(
        vector["protocol"], k=vector["k"], epsilon=vector["epsilon"], **vector["parameters"]
    )


def words_of(vector: Vector) -> list[int]:
    return [int(word, 16) for word in vector["words"]]


def test_making_them_again_gives_the_same_bytes(tmp_path: Path) -> None:
    # The packages under test come from where this process has them, installed or not.
    path = os.pathsep.join([str(ROOT / "tests"), *filter(None, sys.path)])
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "99"}
    subprocess.run(
        [sys.executable, "-m", "vector_builders", "--out", str(tmp_path)],
        check=True,
        env=environment,
    )
    written = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    kept = {path.name: path.read_bytes() for path in FOLDER.glob("*.json")}
    # by name: pytest takes minutes to show how two such files differ
    assert written.keys() == kept.keys()
    assert [name for name, content in kept.items() if content != written[name]] == []
    assert sum(len(content) for content in written.values()) < 1_400_000


def test_the_script_runs_the_same_module() -> None:
    script = ROOT / "scripts" / "make_vectors"
    assert os.access(script, os.X_OK)
    assert "python -m vector_builders" in script.read_text()


@pytest.mark.parametrize("file", FILES)
def test_every_field_is_described_and_no_integer_is_too_large_for_javascript(file: str) -> None:
    document = FILES[file]
    assert document["comment"]
    for group, fields in document["fields"].items():
        used: set[str] = set().union(*(vector.keys() for vector in document[group]))
        assert used == fields.keys() - {""}
        assert all(fields.values())

    def check(value: object) -> None:
        if isinstance(value, dict):
            for inner in value.values():
                check(inner)
        elif isinstance(value, list):
            for inner in value:
                check(inner)
        elif isinstance(value, int):
            assert abs(value) <= 2**53

    check(document)


# Thresholds, against the table of the design written out anew in 200-digit decimals.

Q = 2**64
WIDE = Context(prec=200)


def exp(value: Decimal) -> Decimal:
    return WIDE.exp(value)


def floor(value: Decimal) -> int:
    return int(value.to_integral_value(ROUND_FLOOR))


def ceil(value: Decimal) -> int:
    return int(value.to_integral_value(ROUND_CEILING))


def div(a: Decimal | int, b: Decimal | int) -> Decimal:
    return WIDE.divide(Decimal(a), Decimal(b))


def mul(a: Decimal | int, b: Decimal | int) -> Decimal:
    return WIDE.multiply(Decimal(a), Decimal(b))


def add(a: Decimal | int, b: Decimal | int) -> Decimal:
    return WIDE.add(Decimal(a), Decimal(b))


def expected_thresholds(vector: Vector) -> dict[str, int]:
    eps, k, name = Decimal(vector["epsilon"]), vector["k"], vector["protocol"]
    e = exp(eps)
    if name in {"GRR", "BLH", "OLH"}:
        size = {"GRR": k, "BLH": 2}.get(name) or vector["parameters"]["g"]
        return {"R": ceil(div(Q, add(e, size - 1)))}
    if name == "OUE":
        return {"P": Q // 2, "R": ceil(div(Q, add(e, 1)))}
    if name == "RAPPOR":
        r = ceil(div(Q, add(exp(div(eps, 2)), 1)))
        return {"P": Q - r, "R": r}
    if name == "SS":
        omega = vector["parameters"]["omega"]
        return {"P": floor(div(mul(Q * omega, e), add(mul(omega, e), k - omega)))}
    theta = Decimal(vector["parameters"]["theta"])
    half = div(eps, 2)
    return {
        "P": floor(mul(Q, add(1, -div(exp(mul(half, add(theta, -1))), 2)))),
        "R": ceil(mul(Q, div(exp(-mul(half, theta)), 2))),
    }


@pytest.mark.parametrize(
    "vector",
    vectors("thresholds", "thresholds"),
    ids=lambda v: f"{v['protocol']}-{v['k']}-{v['epsilon']}",
)
def test_thresholds(vector: Vector) -> None:
    oracle = create(
        vector["protocol"], k=vector["k"], epsilon=vector["epsilon"], **vector.get("given", {})
    )
    assert dict(oracle.parameters) == vector["parameters"]
    thresholds = {name: int(digits, 16) for name, digits in vector["thresholds"].items()}
    assert dict(oracle.thresholds) == thresholds == expected_thresholds(vector)
    assert oracle.record_size == vector["record_size"]
    assert oracle.realized_epsilon == Decimal(vector["realized_epsilon"])
    assert Decimal(vector["realized_epsilon"]) <= Decimal(vector["epsilon"])
    disclosure = oracle.disclosure()
    assert disclosure.best_guess == Decimal(vector["best_guess"])
    assert disclosure.largest_posterior == Decimal(vector["largest_posterior"])


# Hashes


def test_the_finaliser_is_that_of_murmurhash3() -> None:
    # Known answers of fmix32 in MurmurHash3.cpp.
    known = {0: 0, 1: 0x514E28B7, 2: 0x30F4C306, 0xFFFFFFFF: 0x81F16F39}
    outputs = {int(v["input"], 16): int(v["output"], 16) for v in vectors("hashes", "finaliser")}
    assert {value: outputs[value] for value in known} == known
    assert all(finalise(value) == output for value, output in outputs.items())


def test_buckets() -> None:
    for vector in vectors("hashes", "buckets"):
        a, b, code, g = int(vector["a"], 16), int(vector["b"], 16), vector["code"], vector["g"]
        assert bucket(a, b, code, g) == vector["bucket"]
        top = (a * finalise(code) + b) % 2**64 // 2**32
        assert vector["bucket"] == Fraction(top * g, 2**32).__floor__() < g


# Records


def test_records() -> None:
    for vector in vectors("records", "records"):
        oracle = oracle_of(vector)
        bits = ReplayBits(words_of(vector))
        record = oracle.randomize(vector["value"], bits)
        assert record.hex() == vector["record"]
        assert bits.consumed == vector["consumed"]
        oracle.check(record)
        if "support" in vector:
            assert list(oracle.support(record)) == vector["support"]


def test_bits_are_words_under_their_threshold_least_significant_first() -> None:
    seen = 0
    for vector in vectors("records", "records"):
        if vector["protocol"] not in {"RAPPOR", "OUE", "THE"}:
            continue
        thresholds = oracle_of(vector).thresholds
        packed = 0
        for position, word in enumerate(words_of(vector)):
            threshold = thresholds["P" if position == vector["value"] else "R"]
            packed |= (word < threshold) << position
        assert packed.to_bytes((vector["k"] + 7) // 8, "little").hex() == vector["record"]
        seen += 1
    assert seen > 100


def test_grr_takes_one_word() -> None:
    for vector in vectors("records", "records"):
        if vector["protocol"] != "GRR":
            continue
        (word,), k, value = words_of(vector), vector["k"], vector["value"]
        r = oracle_of(vector).thresholds["R"]
        others = [code for code in range(k) if code != value]
        code = others[word // r] if word < (k - 1) * r else value
        assert code.to_bytes(1 if k <= 256 else 2, "little").hex() == vector["record"]


def test_malformed_records() -> None:
    reasons = set()
    for vector in vectors("records", "malformed"):
        with pytest.raises(MalformedRecord) as caught:
            oracle_of(vector).check(bytes.fromhex(vector["record"]))
        assert caught.value.reason == vector["reason"]
        reasons.add(vector["reason"])
    assert reasons == {"length", "range", "padding", "popcount"}


# Budgets


def test_budgets() -> None:
    for vector in vectors("budgets", "budgets"):
        sizes = dict(vector["sizes"])
        split = Split.parse(vector["split"], canonical=True)
        if "field" in vector:
            with pytest.raises(InvalidParameter) as caught:
                split_budget(Decimal(vector["epsilon"]), sizes, split)
            assert caught.value.field == vector["field"]
            continue
        parts = split_budget(Decimal(vector["epsilon"]), sizes, split)
        assert [format_epsilon(part) for part in parts.values()] == vector["parts"]
        shares = {
            "uniform": dict.fromkeys(sizes, Fraction(1)),
            "k-based": {name: Fraction(k) for name, k in sizes.items()},
        }.get(str(vector["split"])) or {
            name: Fraction(weight) for name, weight in vector["split"]["weights"].items()
        }
        total = Fraction(vector["epsilon"])
        for name, part in zip(sizes, vector["parts"], strict=True):
            exact = total * shares[name] / sum(shares.values())
            assert Fraction(part) == Fraction(exact * 10**12 // 1, 10**12)


# Manifests


def test_canonical_numbers_and_texts() -> None:
    for vector in vectors("manifests", "numbers"):
        (number,) = struct.unpack(">d", bytes.fromhex(vector["bits"]))
        assert canonical_json(number).decode() == vector["json"]
        assert float(vector["json"]) == number
    for vector in vectors("manifests", "texts"):
        canonical = bytes.fromhex(vector["canonical"])
        assert canonical_json(parse_json(vector["text"])) == canonical
        assert canonical_json(parse_json(canonical)) == canonical
        assert json.loads(vector["text"]) == json.loads(canonical)
    for vector in vectors("manifests", "refused_texts"):
        with pytest.raises(InvalidJson):
            parse_json(bytes.fromhex(vector["bytes"]))


def test_manifests() -> None:
    for vector in vectors("manifests", "manifests"):
        for published in (
            Manifest.from_dict(vector["draft"]).resolve(),
            Published.from_json(vector["published"]),
        ):
            assert published.to_dict() == vector["published"]
            assert len(published.canonical) == vector["canonical_size"]
            assert published.digest == vector["digest"]
            layout = published.layout
            assert layout.record_size == vector["record_size"]
            assert [[f.name, f.offset, f.size] for f in layout.fields] == vector["fields"]


def test_draws() -> None:
    for vector in vectors("draws", "previews"):
        published = Published.from_json(vector["published"])
        assert str(build_preview(published, None)) == vector["preview"]
    for vector in vectors("draws", "refused"):
        with pytest.raises(ManifestRefused) as caught:
            Published.from_json(vector["published"])
        assert caught.value.field == vector["field"], vector["what"]


def test_surveys() -> None:
    surveys = [Published.from_json(v["published"]) for v in vectors("manifests", "manifests")]
    for vector in vectors("manifests", "surveys"):
        layout = surveys[vector["manifest"]].layout
        codes = layout.code_answers(vector["answers"])
        assert list(codes.values()) == vector["codes"]
        bits = ReplayBits(words_of(vector))
        record = layout.encode(codes, bits)
        assert record.hex() == vector["record"]
        assert bits.consumed == vector["consumed"]
        layout.check(record)
        assert clear_answers(layout, record) == vector["clear"]


def changed(document: Vector, changes: list[list[Any]]) -> Vector:
    document = copy.deepcopy(document)
    for path, *value in changes:
        inner: Any = document
        for step in path[:-1]:
            inner = inner[step]
        if value:
            inner[path[-1]] = value[0]
        else:
            del inner[path[-1]]
    return document


@pytest.mark.parametrize("vector", vectors("refusals", "published"), ids=lambda v: v["what"])
def test_published_manifests_that_are_refused(vector: Vector) -> None:
    sound = FILES["refusals"]["sound_published"]
    Published.from_json(sound)
    with pytest.raises(ManifestRefused) as caught:
        Published.from_json(canonical_json(changed(sound, vector["changes"])))
    assert caught.value.field == vector["field"]


@pytest.mark.parametrize(
    "vector", vectors("languages", "closest"), ids=lambda v: f"{v['wanted']} of {v['offered']}"
)
def test_languages_of_readers(vector: Vector) -> None:
    assert closest(vector["wanted"], vector["offered"]) == vector["closest"]


def test_directions_of_writing() -> None:
    for vector in vectors("languages", "directions"):
        assert direction(vector["tag"]) == vector["direction"], vector


def read_alike(text: bytes, field: str | None) -> None:
    if field is None:
        assert Published.from_json(text).canonical == text
        return
    with pytest.raises(ManifestRefused) as caught:
        Published.from_json(text)
    assert caught.value.field == field


def test_there_are_60_odd_manifests() -> None:
    assert len(vectors("refusals", "odd")) + len(vectors("refusals", "texts")) >= 60


@pytest.mark.parametrize("vector", vectors("refusals", "blocks"), ids=lambda v: v["what"])
def test_published_blocks_that_are_refused(vector: Vector) -> None:
    sound = FILES["refusals"]["sound_blocks"]
    assert Published.from_json(sound).to_dict() == sound
    with pytest.raises(ManifestRefused) as caught:
        Published.from_json(changed(sound, vector["changes"]))
    assert caught.value.field == vector["field"]


@pytest.mark.parametrize("vector", vectors("refusals", "numbers"), ids=lambda v: v["what"])
def test_published_numbers_that_are_refused(vector: Vector) -> None:
    sound = FILES["refusals"]["sound_numbers"]
    assert Published.from_json(sound).to_dict() == sound
    with pytest.raises(ManifestRefused) as caught:
        Published.from_json(changed(sound, vector["changes"]))
    assert caught.value.field == vector["field"]


def test_answers_that_are_no_number_are_refused() -> None:
    layout = Published.from_json(FILES["refusals"]["sound_numbers"]).layout
    for vector in vectors("refusals", "answers_numbers"):
        with pytest.raises(InvalidParameter) as caught:
            layout.code_answers(vector["answers"])
        assert caught.value.field == vector["field"], vector["what"]
        for answer in ("5001", "5.5", "5e2", "much", "99999"):
            assert answer not in str(caught.value)


def test_anchors_that_are_drawn() -> None:
    for vector in vectors("records", "anchors"):
        bits = ReplayBits([int(word, 16) for word in vector["words"]])
        assert draw_anchor(vector["anchors"], vector["value"], bits) == vector["place"], vector
        assert bits.consumed == vector["consumed"]


@pytest.mark.parametrize("vector", vectors("refusals", "selects"), ids=lambda v: v["what"])
def test_published_select_alls_that_are_refused(vector: Vector) -> None:
    sound = FILES["refusals"]["sound_selects"]
    assert Published.from_json(sound).to_dict() == sound
    with pytest.raises(ManifestRefused) as caught:
        Published.from_json(changed(sound, vector["changes"]))
    assert caught.value.field == vector["field"]


@pytest.mark.parametrize("vector", vectors("refusals", "matrices"), ids=lambda v: v["what"])
def test_published_matrices_that_are_refused(vector: Vector) -> None:
    sound = FILES["refusals"]["sound_matrices"]
    assert Published.from_json(sound).to_dict() == sound
    with pytest.raises(ManifestRefused) as caught:
        Published.from_json(changed(sound, vector["changes"]))
    assert caught.value.field == vector["field"]


def test_selections_that_are_refused() -> None:
    layout = Published.from_json(FILES["refusals"]["sound_selects"]).layout
    for vector in vectors("refusals", "selections"):
        with pytest.raises(InvalidParameter) as caught:
            layout.code_answers(vector["answers"])
        assert caught.value.field == vector["field"]
        assert "pink" not in str(caught.value)


@pytest.mark.parametrize("vector", vectors("refusals", "odd"), ids=lambda v: v["what"])
def test_odd_manifests_are_read_alike(vector: Vector) -> None:
    sound = FILES["refusals"]["sound_published"]
    read_alike(canonical_json(changed(sound, vector["changes"])), vector["field"])


@pytest.mark.parametrize("vector", vectors("refusals", "texts"), ids=lambda v: v["what"])
def test_odd_texts_of_a_manifest_are_read_alike(vector: Vector) -> None:
    part, instead = (each.encode() for each in vector["replaced"])
    sound = canonical_json(FILES["refusals"]["sound_published"])
    assert part == b"*" or part in sound
    read_alike(instead if part == b"*" else sound.replace(part, instead, 1), vector["field"])


@pytest.mark.parametrize("vector", vectors("refusals", "drafts"), ids=lambda v: v["what"])
def test_drafts_that_are_refused(vector: Vector) -> None:
    sound = FILES["refusals"]["sound_draft"]
    Manifest.from_dict(sound).resolve()
    with pytest.raises(InvalidParameter) as caught:
        Manifest.from_dict(changed(sound, vector["changes"])).resolve()
    assert caught.value.field == vector["field"]


def test_answers_that_are_refused() -> None:
    layout = Published.from_json(FILES["refusals"]["sound_published"]).layout
    for vector in vectors("refusals", "answers"):
        with pytest.raises(InvalidParameter) as caught:
            layout.code_answers(vector["answers"])
        assert caught.value.field == vector["field"]
        assert "pink" not in str(caught.value)
        assert "'oslo'" not in str(caught.value)


# Wire


def test_base64url() -> None:
    read = 0
    for vector in vectors("wire", "base64url"):
        if vector["bytes"] is None:
            with pytest.raises(InvalidParameter):
                b64decode(vector["text"], field="record")
            continue
        read += 1
        data = bytes.fromhex(vector["bytes"])
        assert b64decode(vector["text"], field="record") == data
        assert b64encode(data) == vector["text"]
    assert 20 < read < len(vectors("wire", "base64url"))


def test_reports() -> None:
    for vector in vectors("wire", "reports"):
        report = Report(bytes.fromhex(vector["id"]), bytes.fromhex(vector["record"]))
        assert encode_report_json(vector["digest"], report) == vector["json"]
        assert parse_report_json(vector["json"]) == (vector["digest"], report)
    for vector in vectors("wire", "refused_reports"):
        with pytest.raises(InvalidParameter) as caught:
            parse_report_json(vector["json"])
        assert caught.value.field == vector["field"]


def test_bulk() -> None:
    for vector in vectors("wire", "bulk"):
        reports = [Report(bytes.fromhex(i), bytes.fromhex(r)) for i, r in vector["reports"]]
        body = bytes.fromhex(vector["body"])
        assert pack_reports(vector["digest"], reports) == body
        assert reports_of(body, vector["record_size"]) == (vector["digest"], reports)
    for vector in vectors("wire", "refused_bulk"):
        with pytest.raises(InvalidParameter) as caught:
            reports_of(bytes.fromhex(vector["body"]), vector["record_size"])
        assert caught.value.field == "body"


def test_problems() -> None:
    table = {
        v["code"]: (v["type"], v["status"], v["retryable"]) for v in vectors("wire", "problems")
    }
    assert table == {code: (p.urn, p.status, p.retryable) for code, p in PROBLEMS.items()}


@pytest.mark.parametrize("vector", vectors("answers", "answers"))
def test_answers(vector: Vector) -> None:
    for status in FILES["answers"]["statuses"]:
        answer = (status, vector["media_type"], vector["body"].encode("latin-1"))
        problem = own_problem(*answer)
        ends = None
        if problem is not None and not PROBLEMS[problem["code"]].retryable:
            ends = problem["code"]
        assert (acknowledgement(*answer) or ends) == vector["report"].get(str(status)), status
        offered = "manifest" if offers_manifest(*answer) else ends
        assert offered == vector["survey"].get(str(status)), status
