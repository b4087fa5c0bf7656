"""A report in words, from the JSON of whoever made it, even of a server that means harm."""

import pytest

from hushpoll_shared.fairness_text import fairness_text

FOUND = {"value": 0.25, "standard_error": 0.1, "lower": 0.05, "upper": 0.45}
WITHHELD = {"withheld": "not-enough-data", "reason": "the share is too uncertain"}
PARTS = {
    "shares": {"privileged": FOUND, "unprivileged": FOUND},
    "metrics": {"DI": WITHHELD, "SPD": FOUND},
    "rates": {"P1": FOUND, "P0": WITHHELD},
}
REPORT = {
    "survey": {"name": "work", "version": 2, "digest": "ab" * 32},
    "n": 500,
    "confidence": 0.9,
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
    assert "work version 2, 500 records; digest abababababababab\n" in text
    assert "gender (GRR, epsilon 2): 1, privileged, is Male; 0 is Female or Other." in text
    assert "Fairness as deployed on LDP records; nobody's gender was seen." in text
    assert "90 % interval" in text
    assert "0.0500 to 0.4500" in text
    assert text.count("not enough data") == 2
    assert text.count("(1) the share is too uncertain") == 1


def test_a_report_of_several_groups_has_a_table_each():
    about = {"attribute": "race", "protocol": None, "epsilon": None, "reference": ["A"]}
    groups = [{"group": name, **PARTS} for name in "BC"]
    heading = {name: REPORT[name] for name in ("survey", "n", "confidence", "setting", "origin")}
    text = fairness_text({**heading, "protected": about, "groups": groups})
    for name in "BC":
        assert f"race (in clear): 1, privileged, is A; 0 is {name}." in text
    assert "was seen" not in text


def test_what_a_server_says_moves_no_cursor_and_is_no_markup():
    about = {**REPORT["protected"], "privileged": ["\x1b[2JMale"]}
    metrics = {"[red]SPD[/red]": FOUND, "DI\n\x07": WITHHELD}
    text = fairness_text({**REPORT, "protected": about, "metrics": metrics})
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "[red]SPD[/red]" in text


@pytest.mark.parametrize("found", [{}, {**REPORT, "metrics": {"SPD": {}}}, {**REPORT, "n": "many"}])
def test_what_is_no_report_is_no_report(found):
    with pytest.raises((KeyError, TypeError, ValueError)):
        fairness_text(found)
