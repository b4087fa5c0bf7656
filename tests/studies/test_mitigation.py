"""The study of mitigation at a small size: methods beside each other, on the same records."""

from click.testing import CliRunner

from hushpoll_lab.experiments.engine import run_experiment
from hushpoll_lab.experiments.methods.configuration import MethodsExperiment
from hushpoll_lab.experiments.methods.method import Trial
from hushpoll_lab.experiments.results.results import read_results
from studies.mitigation import BEFORE, main, rows

QUICK = {"n_estimators": 10, "num_leaves": 7}
RECORDS = {"protocol": "GRR", "epsilon": 2}
METHODS = [
    {"name": BEFORE, "learner": "lightgbm", "params": QUICK, **RECORDS},
    {"name": "reweighing", "learner": "lightgbm-reweighed", "params": QUICK, **RECORDS},
    {"name": "thresholds", "learner": "lightgbm-thresholds", "params": QUICK, **RECORDS},
    {"name": "thresholds", "learner": "lightgbm-thresholds", "params": QUICK},
    {"name": BEFORE, "learner": "lightgbm", "params": QUICK},
]


def test_changes_are_paired_by_seed_with_the_same_records(tmp_path):
    settings = {"dataset": "synthetic", "options": {"rows": 1500}, "seeds": "0-2"}
    experiment = MethodsExperiment.from_dict({**settings, "name": "small", "methods": METHODS})
    assert run_experiment(experiment, tmp_path / "run", jobs=1).failed == {}
    results = read_results(tmp_path / "run", Trial)
    found = {(row.records, row.method): row for row in rows(results)}
    assert [records for records, _ in found] == ["in clear"] * 2 + ["GRR, ε = 2"] * 3
    assert {name: row.change is None for name, row in found.items()} == {
        name: name[1] == BEFORE for name in found
    }
    own = results[results["local_epsilon"] == 2].pivot(
        index="seed", columns="method", values="accuracy"
    )
    paired = (own["thresholds"] - own[BEFORE]).mean()
    gaps = results[(results["local_epsilon"] == 2) & (results["method"] == "thresholds")]["SPD"]
    left = found["GRR, ε = 2", "thresholds"]
    assert abs(left.sizes["SPD"] - (gaps**2).mean() ** 0.5) < 1e-12
    assert left.sizes["SPD"] >= abs(left.means["SPD"].mean)
    change = left.change
    assert abs(change.mean - paired) < 1e-12
    assert change.half > 0
    done = CliRunner().invoke(main, [str(tmp_path / "run"), "--out", str(tmp_path / "page.md")])
    assert done.exit_code == 0, done.output
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert page.startswith("## small\n\n1,500 rows, 3 seeds, 20% of the rows to test on.")
    assert len([line for line in page.splitlines() if line.startswith("| ")]) == 4
    assert f"| {BEFORE} | " in page
