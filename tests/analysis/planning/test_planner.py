"""What is planned is what simulated surveys then give."""

import csv
import json
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from click.testing import CliRunner

from hushpoll_analysis.auditing.power import AuditAssumptions
from hushpoll_analysis.cli.plan import plan_command
from hushpoll_analysis.metrics import difference_limits
from hushpoll_analysis.planning.planner import (
    category_width,
    detectable_difference,
    outlook,
    plan,
)
from hushpoll_protocols import PROTOCOLS, create
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.estimation.frequencies import estimate
from hushpoll_protocols.kernels import indicators, perturb
from hushpoll_shared import Manifest
from hushpoll_shared.qualifying.verdict import share_tells

DRAFT = {
    "name": "adult",
    "version": 1,
    "title": "Adult",
    "epsilon": "4",
    "split": "k-based",
    "protocol": "GRR",
    "attributes": [
        {"name": "gender", "role": "sensitive", "categories": ["Female", "Male"]},
        {"name": "age", "role": "sensitive", "range": [17, 90]},
    ],
    "protected": {"attribute": "gender", "privileged": "Male", "unprivileged": "Female"},
}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_width_is_the_mean_width_of_simulated_intervals(protocol):
    k, n = 10, 2000
    oracle = create(protocol, k=k, epsilon="1")
    rng = np.random.default_rng(2)
    widths = []
    for _ in range(20):
        records = perturb(oracle, rng.integers(0, k, n), rng)
        found = estimate(oracle, indicators(oracle, records).sum(axis=0, dtype=np.int64), n)
        widths.append((found.upper - found.lower).mean())
    assert category_width(oracle, k, n) == pytest.approx(np.mean(widths), rel=0.02)


def test_twice_the_precision_takes_four_times_the_people():
    oracle = create("OUE", k=8, epsilon="1")
    one, four = (detectable_difference(oracle, 8, n) for n in (1000, 4000))
    assert one == pytest.approx(2 * four, rel=0.05)


@pytest.mark.parametrize(
    ("protocol", "k", "epsilon", "n"),
    [
        ("GRR", 2, "1", 2000),
        ("OUE", 2, "1", 2000),
        ("SS", 10, "1", 4000),
        ("OLH", 10, "2", 1000),
        ("GRR", 74, "4", 1000),
        ("RAPPOR", 5, "4", 200),
    ],
)
def test_the_detectable_difference_is_found_with_that_power_in_simulated_halves(
    protocol, k, epsilon, n
):
    oracle = create(protocol, k=k, epsilon=epsilon)
    difference, rng, halves = detectable_difference(oracle, k, n), np.random.default_rng(3), n // 2
    found, surveys = 0, 250
    for _ in range(surveys):
        parts = []
        for share in (1 / k, 1 / k + difference):
            population = [share, *[(1 - share) / (k - 1)] * (k - 1)]
            records = perturb(oracle, rng.choice(k, halves, p=population), rng)
            counts = indicators(oracle, records).sum(axis=0, dtype=np.int64)
            part = estimate(oracle, counts, halves)
            parts.append(
                (part.frequency[:1], (part.lower[:1], part.upper[:1])),
            )
        lower, upper = difference_limits(*parts[1], *parts[0])
        found += bool(lower[0] > 0 or upper[0] < 0)
    # four standard deviations of a binomial at 0.8
    assert found / surveys == pytest.approx(0.8, abs=4 * (0.8 * 0.2 / surveys) ** 0.5 + 0.01)


def test_a_difference_that_nobody_could_find_is_none():
    assert detectable_difference(create("GRR", k=2, epsilon="0.01"), 2, 100) is None
    own = outlook(Manifest.from_dict(DRAFT | {"epsilon": "0.1"}), 50)["own"]
    assert own["attributes"][0]["detectable"] is None


def test_without_enough_power_the_option_with_the_most_is_recommended():
    """Adult's attributes, epsilon 4 and 3,000 people: least variance had a power of 0.41."""
    attributes = [
        {"name": "gender", "role": "sensitive", "categories": ["Female", "Male"]},
        *({"name": f"a{k}", "role": "sensitive", "range": [1, k]} for k in (5, 41, 74)),
    ]
    draft = Manifest.from_dict(DRAFT | {"attributes": attributes, "split": "uniform"})
    given = AuditAssumptions(gap=0.1, unprivileged=0.32, positive=0.3)
    found = plan(draft, 3000, given)
    options = {(one["protocol"], one["split"]): one for one in found["options"]}
    powers = {key: one["audit_power"]["SPD"] for key, one in options.items()}
    chosen = found["recommended"]["protocol"], found["recommended"]["split"]
    assert max(powers.values()) < 0.8
    assert powers[chosen] == max(powers.values())
    assert "this one has the most" in found["reason"]
    least = min(options, key=lambda key: options[key]["total_variance"])
    assert powers[least] < powers[chosen] - 0.1
    assert_told(outlook(draft, 3000, given), found)


@pytest.fixture(scope="module")
def comparison():
    """Of 20,000 respondents, with which several options find the gap often enough."""
    return plan(Manifest.from_dict(DRAFT), 20_000, crowd=500)


def assert_told(told, whole):
    """Of what the whole comparison says, an outlook tells the same."""
    for member in ("recommended", "reason", "optimal_gain", "metric", "n", "survey"):
        assert told[member] == whole[member], member
    assert told["own"] == whole["options"][0]


def test_a_plan_has_every_option_and_recommends_the_best(comparison):
    found = comparison
    assert len(found["options"]) == (len(PROTOCOLS) + 1) * 4
    options = {(one["protocol"], one["split"]): one for one in found["options"]}
    own = dict(options["own", "own"], protocol="GRR", split="k-based")
    assert own == options["GRR", "k-based"]
    for protocol in PROTOCOLS:
        best = options[protocol, "optimal"]["total_variance"]
        assert best <= options[protocol, "uniform"]["total_variance"]
        assert best <= options[protocol, "k-based"]["total_variance"]
    own, best = (options["own", split]["total_variance"] for split in ("uniform", "optimal"))
    assert found["optimal_gain"]["uniform"] == pytest.approx(1 - best / own)
    assert found["optimal_gain"]["k-based"] > found["optimal_gain"]["uniform"] > 0
    chosen = options[found["recommended"]["protocol"], found["recommended"]["split"]]
    assert chosen["audit_power"]["SPD"] >= 0.8
    # no target, no labels
    assert chosen["audit_power"]["EOD"] is chosen["audit_power"]["OAD"] is None
    enough = [one["total_variance"] for one in options.values() if one["audit_power"]["SPD"] >= 0.8]
    assert chosen["total_variance"] == min(enough)
    assert any("THE spends" in text for text in options["THE", "uniform"]["warnings"])


def test_outlook_recommends_what_the_whole_comparison_does(comparison):
    assert_told(outlook(Manifest.from_dict(DRAFT), 20_000), comparison)


def test_outlook_speaks_of_a_shuffler_where_a_crowd_is_named_and_always_checks_delta(comparison):
    """Guards: a plan waited for what it did not show."""
    draft = Manifest.from_dict(DRAFT)
    assert outlook(draft, 5000)["shuffled"] is None
    assert outlook(draft, 20_000, crowd=500)["shuffled"] == comparison["shuffled"]
    with pytest.raises(InvalidParameter, match="delta is 2"):
        outlook(draft, 5000, delta=2.0)


def test_the_command_leads_with_what_the_draft_can_tell(tmp_path):
    path = tmp_path / "draft.json"
    path.write_text(json.dumps(DRAFT))
    text = called(path, "--n", "2000").output
    own = outlook(Manifest.from_dict(DRAFT), 2000)["own"]
    noisy = [row["name"] for row in own["attributes"] if row["width"] / 2 > share_tells(row["k"])]
    first = " ".join(text.split("\n\n")[0].split())
    if noisy:
        assert first.endswith(f"too noisy to tell: {', '.join(noisy)}.")
    for row in own["attributes"]:
        (line,) = [line for line in text.splitlines() if line.startswith(f"{row['name']} ")]
        assert f"{50 * row['width']:.1f} points" in line
        assert (": too noisy" in line) == (row["name"] in noisy)
    assert max(map(len, text.splitlines())) <= 80
    assert "--all shows every protocol" in " ".join(text.split())


def test_the_command_prints_a_table_or_json(tmp_path):
    path = tmp_path / "draft.json"
    gender, age = DRAFT["attributes"]
    draft = DRAFT | {"attributes": [gender, age | {"range": [17, 32]}]}
    path.write_text(json.dumps(draft))
    program = [sys.executable, "-W", "error", "-m", "hushpoll_client", "plan", str(path)]
    options = ("--n", "5000", "--all")
    run = [*program, *options]
    text = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    assert "Recommended: protocol" in text
    assert "less than k-based" in text
    assert "the mean width of a category's 95 % interval / the smallest" in " ".join(text.split())
    path.write_text(json.dumps(draft | {"attributes": [gender]}))
    assert json.loads(called(path, *options, "--json").stdout)["n"] == 5000


def called(path, *options):
    return CliRunner().invoke(plan_command, [str(path), *options])


def test_the_command_says_the_verdict_first_within_80_columns(tmp_path):
    path = tmp_path / "draft.json"
    path.write_text(json.dumps(DRAFT))
    goals = ("--want", "width:age=0.02", "--want", "width:gender=0.1", "--n", "5000")
    text = called(path, *goals).output
    document = json.loads(called(path, *goals, "--json").output)
    words = " ".join(text.split())
    assert words.startswith(document["verdict"])
    # A shuffler is spoken of only where it is asked for.
    assert document["shuffled"]["sentence"] not in words
    with_shuffler = " ".join(called(path, *goals, "--crowd", "500").output.split())
    assert "500 shuffled reports" in with_shuffler.removeprefix(words)
    assert all(one["sentence"] in words for one in document["goals"])
    assert max(map(len, text.splitlines())) <= 80


def test_the_comparison_says_its_recommendation_first_within_80_columns(tmp_path):
    """Eight attributes, which no table of 80 columns holds side by side."""
    path = tmp_path / "draft.json"
    many = [
        {"name": f"attribute-{number}", "role": "sensitive", "range": [1, 4]} for number in range(7)
    ]
    path.write_text(json.dumps(DRAFT | {"protected": None, "attributes": many}))
    text = called(path, "--n", "2000", "--all").output
    assert text.startswith("Recommended: protocol ")
    assert max(map(len, text.splitlines())) <= 80
    assert all(f"attribute-{number}" in text for number in range(7))
    assert "The local epsilon stays 4" in " ".join(text.split())


def test_the_command_says_on_a_terminal_alone_that_it_works(tmp_path):
    path = tmp_path / "draft.json"
    path.write_text(json.dumps(DRAFT))
    arguments = [str(path), "--want", "width:gender=0.1"]
    for terminal in ("0", "1"):
        answer = CliRunner().invoke(plan_command, arguments, env={"TTY_COMPATIBLE": terminal})
        assert ("plan of adult" in answer.stderr) == (terminal == "1")
        assert "plan of adult" not in answer.stdout


def test_the_command_writes_what_it_shows_as_a_table(tmp_path):
    path = tmp_path / "draft.json"
    # a text that a spreadsheet would take for a formula
    labels = [{"name": "-1-1", "role": "sensitive", "categories": ["a", "b"]}]
    path.write_text(json.dumps(DRAFT | {"protected": None, "attributes": labels}))
    goals = ("--want", "width:-1-1=0.05", "--want", "lead:-1-1=0.2", "--n", "500")
    for options, name, rows in ((goals, "subject", 2), (("--n", "500"), "attribute", 32)):
        document = json.loads(called(path, *options, "--json").output)
        for ending in ("csv", "xlsx", "json"):
            out = tmp_path / f"table.{ending}"
            answer = called(path, *options, "--out", str(out))
            assert answer.exit_code == 0, answer.output
            assert answer.output.endswith(f"The table is in {out}.\n")
        assert json.loads((tmp_path / "table.json").read_text()) == document
        with (tmp_path / "table.csv").open(newline="") as stream:
            table = list(csv.DictReader(stream))
        assert len(table) == rows
        assert {row[name] for row in table} <= {"'-1-1", ""}
        with zipfile.ZipFile(tmp_path / "table.xlsx") as book:
            sheets = [book.read(part) for part in book.namelist() if "/sheet" in part]
        assert len(sheets) == 2
        assert not any(b"<f>" in sheet for sheet in sheets)
    answer = called(path, *goals, "--out", str(tmp_path / "table.txt"))
    assert isinstance(answer.exception, InvalidParameter)
    assert "whose ending names no table" in str(answer.exception)


@pytest.mark.parametrize(
    ("options", "field"),
    [((), "neither --n nor --want"), (("--n", "9", "--epsilon", "1"), "--epsilon needs --want")],
)
def test_the_command_says_which_option_is_missing(tmp_path, options, field):
    path = tmp_path / "draft.json"
    path.write_text(json.dumps(DRAFT))
    answer = called(path, *options)
    assert answer.exit_code == 1
    assert field in answer.output


def test_a_perturbed_target_keeps_its_protocol():
    label = {"name": "income", "role": "target", "categories": ["no", "yes"], "positive": "yes"}
    gender, age = DRAFT["attributes"]
    asked = [gender, age | {"range": [17, 24]}, label | {"protocol": "GRR"}]
    draft = DRAFT | {"attributes": asked}
    for option in plan(Manifest.from_dict(draft), 6000)["options"]:
        protocols = {row["name"]: row["protocol"] for row in option["attributes"]}
        assert protocols["income"] == "GRR"
        if option["protocol"] != "own":
            assert protocols["age"] == option["protocol"]


def test_the_recommendation_is_for_the_metric_that_is_asked_for():
    label = {"name": "income", "role": "target", "categories": ["no", "yes"], "positive": "yes"}
    draft = Manifest.from_dict(DRAFT | {"attributes": [*DRAFT["attributes"], label]})
    found = {metric: outlook(draft, 3000, metric=metric) for metric in ("SPD", "EOD")}
    for metric, one in found.items():
        assert f"a gap of 0.1 in {metric}" in one["reason"]
    # positive labels are fewer than people: what finds SPD is too little for EOD
    assert "none finds" in found["EOD"]["reason"]
    assert "none finds" not in found["SPD"]["reason"]


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: plan(Manifest.from_dict(DRAFT), 0), "n"),
        (lambda: plan(Manifest.from_dict(DRAFT), 9, metric="AUC"), "metric"),
    ],
)
def test_each_mistake_names_its_field(call, field):
    with pytest.raises(InvalidParameter) as caught:
        call()
    assert caught.value.field == field
