"""A report in words, from JSON that may come from a hostile server."""

import pytest

from hushpoll_shared.cli.statistic_texts import fairness_text

FOUND = {"value": 0.25, "standard_error": 0.1, "lower": 0.05, "upper": 0.45, "bound": "bounded"}
OPEN = {"value": None, "standard_error": None, "lower": None, "upper": None, "bound": "no bound"}
METRIC = {
    **FOUND,
    "conclusion": "disparity",
    "smallest_detectable": 0.125,
    "chance_to_conclude": 0.97,
    "seldom_concludes": False,
    "poisoning": {"fake_share": 0.01, "lowest": -0.0625, "highest": 0.5},
}
UNKNOWN = {
    **OPEN,
    "conclusion": "cannot conclude",
    "smallest_detectable": None,
    "chance_to_conclude": 0.08,
    "seldom_concludes": True,
    "poisoning": None,
}
WITHHELD = {"withheld": "no-labels", "reason": "there is no label"}
PARTS = {
    "expected": {
        "basis": "declared",
        "unprivileged": 0.02,
        "positive": 0.1,
        "base": 0.3,
        "power": 0.8,
    },
    "shares": {"privileged": FOUND, "unprivileged": FOUND},
    "metrics": {"DI": UNKNOWN, "SPD": METRIC, "EOD": WITHHELD},
    "rates": {"P1": FOUND, "P0": WITHHELD},
}
REPORT = {
    "survey": {"name": "work", "version": 2, "digest": "ab" * 32},
    "n": 500,
    "confidence": 0.9,
    "intervals": "Of these 4 at 90 %, 0.4 are expected to miss.",
    "setting": "as deployed on LDP records",
    "origin": "cross-fitted",
    "protected": {
        "attribute": "gender",
        "protocol": "GRR",
        "epsilon": "2",
        "privileged": ["Male"],
        "unprivileged": ["Female", "Other"],
    },
    **PARTS,
}


def test_a_report_of_two_groups():
    text = fairness_text(REPORT)
    assert "work version 2, 500 records\n" in text
    text = " ".join(text.split())
    assert "gender (GRR, epsilon 2): 1, privileged, is Male; 0 is Female or Other." in text
    assert "Fairness as deployed on LDP records; gender was never seen in clear." in text
    assert "90 % interval" in text
    assert max(map(len, fairness_text(REPORT).splitlines())) <= 80
    assert "0.050 to 0.450" in text
    assert text.count("no labels") == 2
    assert text.count("(1) there is no label") == 1
    for words in (
        "disparity",
        "cannot conclude",
        "no bound",
        "find with power 0.8 (2 % in group 0, 10 % predicted positive, 30 % with a positive label; "
        "declared): DI none, however large, SPD 0.125.",
        "seldom conclude, if there is no disparity: DI 8 % of them.",
        "If 1 % of the reports were fake, the genuine ones alone could give: SPD -0.062 to 0.500.",
        "Of these 4 at 90 %, 0.4 are expected to miss. The same is true of the conclusions.",
    ):
        assert words in text, words


def test_a_report_of_several_groups_has_a_table_each():
    about = {"attribute": "race", "protocol": None, "epsilon": None, "reference": ["A"]}
    groups = [{"group": name, **PARTS} for name in "BC"]
    names = ("survey", "n", "confidence", "intervals", "setting", "origin")
    heading = {name: REPORT[name] for name in names}
    text = fairness_text({**heading, "protected": about, "groups": groups})
    for name in "BC":
        assert f"race (in clear): 1, privileged, is A; 0 is {name}." in text
    assert "was seen" not in text
    assert text.count("are expected to miss") == 1


def test_groups_taken_together_have_their_line():
    about = {"attribute": "race", "protocol": None, "epsilon": None, "reference": ["A"]}
    names = ("survey", "n", "confidence", "intervals", "setting", "origin")
    report = {name: REPORT[name] for name in names}
    report |= {"protected": about, "groups": [{"group": "B", **PARTS}]}
    text = fairness_text({**report, "largest": {"SPD": FOUND, "DI": OPEN}})
    words = "Largest disparity of any group: SPD 0.250 (0.050 to 0.450), DI unknown"
    assert words in " ".join(text.split())
    found = {"group": "B", "metric": "SPD", "adjusted_p_value": 0.00213}
    text = fairness_text({**report, "rate": 0.05, "discoveries": [found]})
    assert "Discoveries at the rate 0.05: B SPD (adjusted p 0.0021)." in text
    assert "0.05: none." in fairness_text({**report, "rate": 0.05, "discoveries": []})


def test_servers_texts_move_no_cursor_and_are_no_markup():
    about = {**REPORT["protected"], "privileged": ["\x1b[2JMale"]}
    metrics = {"[red]SPD[/red]": FOUND, "DI\n\x07": WITHHELD}
    text = fairness_text({**REPORT, "protected": about, "metrics": metrics})
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "[red]SPD[/red]" in text


@pytest.mark.parametrize("found", [{}, {**REPORT, "metrics": {"SPD": {}}}, {**REPORT, "n": "many"}])
def test_json_that_is_no_report_is_refused(found):
    with pytest.raises((KeyError, TypeError, ValueError)):
        fairness_text(found)
