from __future__ import annotations

from decimal import Decimal

import pytest

from hushpoll_client.device.preview import build_preview
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.drafts.manifest import Manifest


def test_clear_answers_come_first_then_the_randomised_ones(published, answers):
    text = str(build_preview(published, answers))
    order = [
        "Work and health (work-and-health, version 1)",
        "Sent in clear",
        "education: college",
        "income: >26000",
        "hint at the randomised ones",
        "Randomised on this device",
        "All of them together",
        "at most epsilon 4",
        "gender (Your gender?)\n    SS with epsilon 2. ",
        "age\n    SS with epsilon 1. ",
        "country\n    OLH with epsilon 1. ",
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


def test_preview_says_what_each_answer_reveals_rounded_up():
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
    assert abs(line.best_guess - Decimal("0.731058578630")) <= Decimal("1e-12")
    assert "What is sent is your true answer with a chance of 73.2 %." in str(line)
    assert "9 in 10  ###########################++.  afterwards 76.8 % to 96.1 %" in str(line)
    assert "would be right with a chance of 73.2 %; without it, 50.0 %." in str(line)
    assert preview.notices == ()
    assert "Nothing is sent in clear." in str(preview)
    assert "The record has 1 byte whatever" in str(preview)


def test_notices_say_first_that_protection_is_weak(draft):
    words = "Protection is weak: what is sent can say a lot about you."
    weak = build_preview(Manifest.from_dict(draft | {"epsilon": "6"}).resolve(), None)
    assert weak.notices == (words,)
    assert str(weak).split("\n")[1] == words
    better = build_preview(Manifest.from_dict(draft | {"epsilon": "5.9"}).resolve(), None)
    assert better.notices == ()


def test_notices_say_that_reports_are_released_at_once(draft):
    (words,) = build_preview(
        Manifest.from_dict(draft | {"release": "immediate"}).resolve(), None
    ).notices
    assert "soon after they arrive" in words
    for release in ("daily", "weekly", "end"):
        published = Manifest.from_dict(draft | {"release": release}).resolve()
        assert build_preview(published, None).notices == ()


def test_notices_say_what_an_invitation_does_not_hide(draft):
    published = Manifest.from_dict(draft | {"submission": "invited"}).resolve()
    (words,) = build_preview(published, None).notices
    assert "not linkable from what is stored" in words
    assert "both come from one address" in words
    assert "unlinkable" not in words


def test_notices_say_that_batches_are_small(draft):
    small = Manifest.from_dict(draft | {"minimum_batch": 19}).resolve()
    (words,) = build_preview(small, None).notices
    assert "as few as 19 new reports" in words
    enough = Manifest.from_dict(draft | {"minimum_batch": 20}).resolve()
    assert build_preview(enough, None).notices == ()


def test_wrong_answers_raise(published, answers):
    with pytest.raises(InvalidParameter, match="age"):
        build_preview(published, answers | {"age": "16"})
