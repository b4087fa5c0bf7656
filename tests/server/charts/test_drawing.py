"""Charts are drawn by a real process: what is in them, what is not, and what its death does."""

from __future__ import annotations

import json
import os
import signal
from xml.etree import ElementTree

import pytest

from hushpoll_server.charts.days import releases_chart
from hushpoll_server.charts.differences import differences_chart
from hushpoll_server.charts.drawing import Drawing, NotDrawn
from hushpoll_server.charts.fairness import fairness_chart
from hushpoll_server.charts.labels import short_labels, with_full_names
from hushpoll_server.charts.specifications import (
    MOST_CELLS_A_SIDE,
    MOST_PANELS,
    MOST_ROWS,
    alone,
    as_too_noisy,
    cross_table_chart,
    estimates_chart,
    facts_of,
    refusals_chart,
    told,
    with_light_colours,
)
from waiting import wait_until

HOSTILE = [
    "<script>alert(1)</script>",
    "=1+1",
    "\u202eright to left",
    "شاهد",
    'a"b&c',
    "var(--ink)",
]
TEXT = "{http://www.w3.org/2000/svg}text"
TITLE = "{http://www.w3.org/2000/svg}title"


@pytest.fixture(scope="module")
def drawing():
    running = Drawing()
    yield running
    running.stop()


def rows(categories):
    return [
        {"category": name, "frequency": 0.5 - 0.01 * turn, "lower": 0.4, "upper": 0.6}
        for turn, name in enumerate(categories)
    ]


def texts(svg):
    return [element.text for element in ElementTree.fromstring(svg).iter(TEXT)]


def test_svg_has_the_categories_as_text_and_nothing_that_a_strict_policy_refuses(drawing):
    chart = estimates_chart("x", rows(HOSTILE), confidence=0.95, total=len(HOSTILE))
    svg = drawing.draw(chart.specification, "svg").decode()
    assert set(HOSTILE) <= set(texts(svg))
    for refused in ("<script", "<style", "style=", "onload", "href=", "url("):
        assert refused not in svg.lower()
    assert 'fill="var(--accent)"' in svg


def test_chart_that_stands_alone_has_colours_and_unchanged_data(drawing):
    chart = estimates_chart("x", rows(HOSTILE), confidence=0.95, total=len(HOSTILE))
    alone = with_light_colours(chart.specification)
    assert alone["data"] == chart.specification["data"]
    svg = drawing.draw(alone, "svg").decode()
    assert "var(--" not in svg.replace(">var(--ink)<", "")
    assert drawing.draw(alone, "png").startswith(b"\x89PNG\r\n")


def test_picture_has_at_most_fifty_rows_and_says_so():
    chart = estimates_chart("x", rows(map(str, range(500))), confidence=0.95, total=500)
    assert len(chart.specification["data"]["values"]) == MOST_ROWS
    assert (chart.shown, chart.total, chart.cut) == (50, 500, True)


def test_heat_map_has_at_most_thirty_by_thirty_cells():
    cells = [
        {"a": str(i), "b": str(j), "frequency": 0.1, "lower": -0.1, "upper": 0.2}
        for i in range(40)
        for j in range(3)
    ]
    chart = cross_table_chart("one", "two", cells, confidence=0.9)
    assert len(chart.specification["data"]["values"]) == 3 * MOST_CELLS_A_SIDE
    assert (chart.shown, chart.total) == (30, 40)
    assert "0 of 120 intervals lie above zero; " in chart.sentence
    assert "of those of shares that are zero, about 1 in 20 does." in chart.sentence


def test_category_of_which_nothing_is_known_keeps_its_place(drawing):
    known = {"frequency": 0.2, "lower": 0.1, "upper": 0.3}
    unknown = dict.fromkeys(known)
    cells = [
        {"a": a, "b": b, **(unknown if a == "empty" else known)}
        for a in ("first", "empty")
        for b in ("one", "two")
    ]
    chart = cross_table_chart("row", "column", cells, confidence=0.9, within="row")
    assert {"first", "empty"} <= set(texts(drawing.draw(chart.specification, "svg").decode()))
    assert chart.sentence.endswith(
        "are zero, about 1 in 20 does. Of 2 the reports cannot tell the share."
    )


def share(category, frequency, half=0.1):
    limits = {"lower": frequency - half, "upper": frequency + half}
    return {"category": category, "frequency": frequency, **limits}


def test_sentences_give_the_figures():
    shares = [share("yes", 0.7, 0.05), share("no", 0.3, 0.0501)]
    chart = estimates_chart("smoker", shares, confidence=0.95, total=2)
    assert chart.sentence == (
        "The largest estimate of smoker is that of yes: 70.0\u00a0%, with a 95\u00a0% interval "
        "from 65.0\u00a0% to 75.0\u00a0%. No other interval reaches so high. "
        "No interval is wider than "
        "±5.1 points."
    )
    days = [{"day": "2026-03-01", "reports": 2}, {"day": "2026-03-02", "reports": 1500}]
    assert refusals_chart(days).sentence == (
        "1,502 reports on 2 days; the most came on 2026-03-02: 1,500."
    )


@pytest.mark.parametrize(
    ("shares", "words"),
    [
        (
            [share("a", 0.3), share("b", 0.25), share("c", 0.05)],
            "The interval of 1 of the 2 others",
        ),
        ([share(str(n), 0.05 - n / 1000) for n in range(9)], "The intervals of 8 of the 8 others"),
        ([share("a", 0.5), share("b", 0.45)], "do not tell which share is the larger."),
        ([share("a", 0.4), share("b", 0.4), share("c", 0.2)], "are equal, those of a and b: 40.0"),
        ([share(letter, 0.25) for letter in "abcd"], "4 categories of x have the same largest"),
        ([share("only", 1.0, 0.0)], "to 100.0\u00a0%. No interval is wider"),
    ],
)
def test_sentence_does_not_call_a_share_the_largest_that_may_not_be(shares, words):
    sentence = estimates_chart("x", shares, confidence=0.9, total=len(shares)).sentence
    assert words in sentence
    assert "largest share" not in sentence


def test_names_written_from_right_to_left_move_no_words_of_a_sentence():
    arabic, hebrew = "\u2068شاهد\u2069", "\u2068שלום\u2069"
    shares = [share("شاهد", 0.7), share("שלום", 0.3)]
    assert (
        f"that of {arabic}: 70.0" in estimates_chart("x", shares, confidence=0.9, total=2).sentence
    )
    tied = [share("شاهد", 0.4), share("שלום", 0.4)]
    sentence = estimates_chart("x", tied, confidence=0.9, total=2).sentence
    assert f"those of {arabic} and {hebrew}: 40.0" in sentence
    cells = [{"a": "شاهد", "b": "שלום", "frequency": 0.5, "lower": 0.4, "upper": 0.6}]
    sentence = cross_table_chart("x", "y", cells, confidence=0.9).sentence
    assert f"of x {arabic} and y {hebrew}: 50.0" in sentence
    line = {"label": "שלום", "value": -0.1, "lower": -0.2, "upper": 0.0}
    chart = differences_chart([line], minuend="x شاهد", subtrahend="x כן", confidence=0.9)
    assert "\u2068x شاهد\u2069 minus \u2068x כן\u2069: the interval does not show" in chart.sentence
    assert f"is that of {hebrew}: \u221210.0" in chart.sentence


def test_sentence_of_differences_counts_equal_ones():
    ends = [("yes", 0.084, 0.036, 0.127), ("no", -0.084, -0.127, -0.036)]
    names = ("label", "value", "lower", "upper")
    differences = [dict(zip(names, row, strict=True)) for row in ends]
    both = differences_chart(differences, minuend="old", subtrahend="new", confidence=0.99).sentence
    assert "the intervals show 2 of 2 differences to be above or below zero. 2 estimated" in both
    assert "differences are equally large" in both
    differences[1] |= {"value": -0.01, "upper": 0.1}
    single = differences_chart(differences, minuend="old", subtrahend="new", confidence=0.99)
    assert "show 1 of 2 differences to be above or below zero. The largest" in single.sentence


def test_sentence_says_that_its_cell_is_outside_the_picture():
    limits = {"lower": 0.01, "upper": 0.5}
    cells = [{"a": "a", "b": str(n), "frequency": n / 1000, **limits} for n in range(40)]
    sentence = cross_table_chart("one", "two", cells, confidence=0.9).sentence
    assert "The largest estimate is that of one a and two 39: 3.9" in sentence
    assert "It is not drawn." in sentence
    assert "not drawn" not in cross_table_chart("one", "two", cells[:30], confidence=0.9).sentence


def test_numbers_of_reports_are_written_out_at_the_axis(drawing):
    chart = releases_chart([{"day": "2026-03-01", "added": 1500, "reports": 1500}])
    numbers = texts(drawing.draw(chart.specification, "svg").decode())
    assert "1,500" in numbers or "1,000" in numbers
    assert not [number for number in numbers if "e+" in number]


def test_numbers_at_the_ends_of_an_axis_stand_under_their_ticks(drawing):
    ends = [{"label": "a", "value": 0.05, "lower": -0.15, "upper": 0.2}]
    shares = differences_chart(ends, minuend="old", subtrahend="new", confidence=0.9)
    metric = {"label": "SPD", "value": 0.1, "lower": -0.1, "upper": 0.6, "conclusion": ""}
    fairness = fairness_chart([(0.0, [metric])], "")
    svg = ElementTree.fromstring(drawing.draw(fairness.specification, "svg"))
    numbers = [text for text in svg.iter(TEXT) if any(map(str.isdigit, text.text))]
    assert len(numbers) > 4
    assert {number.get("text-anchor") for number in numbers} == {"middle"}
    svg = ElementTree.fromstring(drawing.draw(shares.specification, "svg"))
    anchors = {text.text: text.get("text-anchor") or "start" for text in svg.iter(TEXT)}
    assert (anchors["\u221220"], anchors["0"], anchors["+20"]) == ("start", "middle", "end")


def test_picture_that_stands_alone_has_the_finding_the_question_n_and_how_it_is_read(drawing):
    chart = estimates_chart("x", rows(["yes", "no"]), confidence=0.95, total=2)
    cells = [
        {"a": f"row {a}", "b": f"column {b}", "frequency": 0.1, "lower": 0.0, "upper": 0.2}
        for a in range(20)
        for b in range(9)
    ]
    groups = cross_table_chart("one", "two", cells[:18], confidence=0.95)
    heat_map = cross_table_chart("one", "two", cells, confidence=0.95)
    words = ("yes: 50\u00a0% (40 to 60\u00a0%)", "Do you?", "Band: how it is read.", "n = 5,003")
    for one in (chart, groups, heat_map):
        specification = alone(told(one, *words))
        svg = drawing.draw(specification, "svg").decode()
        assert set(words) <= set(texts(svg))
        assert "rotate(" not in svg.replace("rotate(0", "")
        assert "var(--" not in svg
    noisy = told(as_too_noisy(chart), *words)
    assert "Too noisy to tell" in texts(drawing.draw(alone(noisy), "svg"))
    assert words[0] not in texts(drawing.draw(alone(noisy), "svg"))


def test_bands_fill_their_axis_and_say_about_nothing_where_an_estimate_is_negative():
    shares = [share("a", 0.4, 0.1), share("b", -0.03, 0.1), share("c", 0.1, 0.02)]
    (bands,) = estimates_chart("x", shares, confidence=0.95, total=3).panels
    assert bands.ticks == ((0.0, "0\u00a0%"), (50.0, "25\u00a0%"), (100.0, "50\u00a0%"))
    first, negative, small = bands.rows
    assert (first.start, first.width, first.dot, first.main) == (60.0, 40.0, 80.0, True)
    assert (negative.figure, negative.limits) == ("about 0\u00a0%", "0 to 7\u00a0%")
    assert (negative.dot, negative.start, negative.main) == (0.0, 0.0, False)
    assert (small.figure, small.limits) == ("10\u00a0%", "8 to 12\u00a0%")


def test_small_table_has_a_panel_for_each_row_on_one_axis_and_a_large_one_is_a_map():
    cells = [
        {"a": str(a), "b": str(b), "frequency": b / 20, "lower": 0.0, "upper": b / 10}
        for a in range(MOST_PANELS)
        for b in range(5)
    ]
    chart = cross_table_chart("one", "two", cells, confidence=0.9)
    assert [panel.title for panel in chart.panels] == [str(a) for a in range(MOST_PANELS)]
    assert len({panel.ticks for panel in chart.panels}) == 1
    more = [{**cell, "a": "more"} for cell in cells[:5]]
    assert cross_table_chart("one", "two", [*cells, *more], confidence=0.9).panels == ()


def test_picture_is_drawn_once_for_the_same_data(drawing):
    chart = estimates_chart("x", rows(["a", "b"]), confidence=0.95, total=2)
    first = drawing.draw(chart.specification, "svg")
    assert drawing.draw(json.loads(json.dumps(chart.specification)), "svg") is first
    other = estimates_chart("x", rows(["a", "c"]), confidence=0.95, total=2)
    assert drawing.draw(other.specification, "svg") != first


def test_killed_process_is_started_again_with_the_next_chart():
    drawing = Drawing()
    try:
        chart = refusals_chart([{"day": "2026-03-01", "reports": 2}])
        drawing.draw(chart.specification, "svg")
        process = drawing._process
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        other = refusals_chart([{"day": "2026-03-01", "reports": 3}])
        assert b"<svg" in drawing.draw(other.specification, "svg")
        assert drawing._process.pid != process.pid
    finally:
        drawing.stop()


def test_interrupt_of_the_terminal_is_its_server_s_to_handle(drawing):
    drawing.draw(refusals_chart([{"day": "2026-03-01", "reports": 6}]).specification, "svg")
    process = drawing._process
    process.send_signal(signal.SIGINT)
    drawing.draw(refusals_chart([{"day": "2026-03-01", "reports": 7}]).specification, "svg")
    assert drawing._process is process


def test_chart_that_cannot_be_drawn_is_refused_and_the_next_one_is_drawn(drawing):
    with pytest.raises(NotDrawn):
        drawing.draw({"mark": "nonsense"}, "svg")
    chart = refusals_chart([{"day": "2026-03-01", "reports": 4}])
    assert b"<svg" in drawing.draw(chart.specification, "svg")


def test_chart_that_takes_too_long_is_given_up():
    drawing = Drawing(draw_seconds=0.0)
    chart = refusals_chart([{"day": "2026-03-01", "reports": 5}])
    try:
        with pytest.raises(NotDrawn):
            drawing.draw(chart.specification, "svg")
        assert drawing._process is None
    finally:
        drawing.stop()


def test_pictures_are_kept_in_bounded_memory(drawing):
    small = Drawing(kept_bytes=1)
    small._ask = drawing._ask
    chart = refusals_chart([{"day": "2026-03-01", "reports": 6}])
    small.draw(chart.specification, "svg")
    assert small._pictures == {}
    small.stop()


def test_process_that_is_expected_starts_before_the_first_chart():
    drawing = Drawing()
    assert not drawing.running
    drawing.expect()
    wait_until(lambda: drawing.running)
    drawing.stop()
    assert not drawing.running


def test_stopping_does_not_wait_for_a_picture():
    drawing = Drawing()
    drawing.expect()
    wait_until(lambda: drawing.running)
    drawing.stop()
    with pytest.raises(NotDrawn):
        drawing.draw(estimates_chart("x", rows("ab"), confidence=0.9, total=2).specification, "svg")


ALIKE = [
    "I agree strongly that the manager listens to nobody",
    "I agree strongly that the manager listens to everybody",
    "I agree strongly that the manager says so, and then listens to nobody",
    "short",
    "The only one that begins so, though it is long as well",
]


def test_names_that_begin_and_end_alike_have_different_labels():
    labels = short_labels(ALIKE, 29)
    assert list(labels) == ALIKE
    assert len(set(labels.values())) == len(ALIKE)
    assert all(len(label) <= 29 for label in labels.values())
    assert labels["short"] == "short"
    assert labels[ALIKE[4]] == ALIKE[4][:28] + "…"
    assert labels[ALIKE[1]].endswith("s to everybody")
    same = [f"{'a' * 40}{n}{'b' * 40}" for n in range(30)]
    labels = short_labels([*same, "aaaaaaaaaaaaaaaa… 2"], 17)
    assert len(set(labels.values())) == 31


def test_cut_label_has_its_whole_name_in_the_page_s_picture(drawing):
    names = [f"<b>&{name}" for name in ALIKE]
    chart = estimates_chart("x", rows(names), confidence=0.9, total=5)
    svg = with_full_names(drawing.draw(chart.specification, "svg").decode(), chart.full_names)
    titles = [node.text for node in ElementTree.fromstring(svg).iter(TITLE)]
    assert titles == [name for name in names if len(name) > 29]
    assert len(titles) == 4


def test_facts_of_a_table_say_the_same_as_its_cells():
    cells = [
        {"a": a, "b": b, "frequency": share, "lower": share - 0.1, "upper": share + 0.1}
        for a, b, share in zip("1122", "xyxy", (0.05, 0.4, 0.2, 0.35), strict=True)
    ]
    whole = cross_table_chart("one", "two", cells, confidence=0.9)
    part = cross_table_chart("one", "two", cells[:1], confidence=0.9, facts=facts_of(cells))
    assert part.sentence.replace(" It is not drawn.", "") == whole.sentence
    assert "3 of 4 intervals lie above zero" in part.sentence
