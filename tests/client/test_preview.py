from __future__ import annotations

from decimal import Decimal

import pytest

from hushpoll_client.preview import build_preview
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.manifest import Manifest


def test_clear_answers_come_first_then_the_randomised_ones(published, answers):
    text = str(build_preview(published, answers))
    order = [
        "Work and health (work-and-health, version 1)",
        "Sent in clear",
        "education: college",
        "income: >26000",
        "hint at the randomised ones",
        "Randomised on this device",
        "gender (Your gender?): randomised by SS with epsilon 2",
        "age: randomised by SS with epsilon 1",
        "country: randomised by OLH with epsilon 1",
        "at most epsilon 4",
        published.digest,
    ]
    places = [text.index(part) for part in order]
    assert places == sorted(places)


def test_randomised_answers_are_never_shown(published, answers):
    text = str(build_preview(published, answers))
    for secret in ("Female", "44", "Norway"):
        assert secret not in text


def test_without_answers_the_clear_lines_say_so(published):
    assert "education: your answer as it is" in str(build_preview(published, None))


def test_disclosure_is_said_in_words_and_rounded_up():
    # GRR at k = 2: the best guess is right with p, which is just under e/(e+1) = 0.73105...
    survey = Manifest.from_dict(
        {
            "name": "one",
            "version": 1,
            "title": "One",
            "epsilon": 1,
            "protocol": "GRR",
            "attributes": [{"name": "smokes", "role": "sensitive", "categories": ["no", "yes"]}],
        }
    ).resolve()
    preview = build_preview(survey, {"smokes": "yes"})
    (line,) = preview.perturbed
    assert line.best_guess == line.largest_posterior
    assert abs(line.best_guess - Decimal("0.731058578630")) <= Decimal("1e-12")
    assert "is right 73.2 % of the time, a blind guess among 2 answers 50.0 %" in str(line)
    assert "no answer becomes more likely than 73.2 %" in str(line)
    assert "Nothing is sent in clear." in str(preview)
    assert f"{survey.layout.record_size} bytes" in str(preview)


def test_wrong_answers_raise(published, answers):
    with pytest.raises(InvalidParameter, match="age"):
        build_preview(published, answers | {"age": "16"})
