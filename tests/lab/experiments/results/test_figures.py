"""Figures and report, drawn from results."""

import math
import re
from html.parser import HTMLParser
from io import BytesIO
from xml.etree import ElementTree

import matplotlib.image
import pytest

from hushpoll_lab.experiments.results.figures import PANELS, draw
from hushpoll_lab.experiments.results.html_report import html_report
from hushpoll_lab.experiments.results.summaries import Curves, Place, Summary
from hushpoll_training.evaluation.metrics import METRICS

PROTOCOLS = ("GRR", "OUE", "THE")
SPLITS = ("uniform", "k-based")
EPSILONS = (0.25, 1.0, 50.0)
SD = 0.01 * math.sqrt(5) / 2.7764451051977987
"""Deviation of five values whose mean has an interval of ± 0.01, by Student's t."""


@pytest.fixture(scope="module")
def curves():
    cells = {
        Place(protocol, split, epsilon): dict.fromkeys(METRICS, Summary(0.5 + at / 10, SD, 5, 5))
        for at, protocol in enumerate(PROTOCOLS)
        for split in SPLITS
        for epsilon in EPSILONS
    }
    cells[Place("NonDP", "none", math.inf)] = dict.fromkeys(METRICS, Summary(0.4, 2 * SD, 5, 5))
    cells[Place("THE", "k-based", 1.0)]["DI"] = Summary(math.nan, math.nan, 0, 5)
    cells[Place("THE", "k-based", 50.0)]["DI"] = Summary(0.75, math.nan, 1, 5)
    return Curves(cells)


@pytest.fixture(scope="module")
def drawings(curves):
    return {family: draw(curves, family) for family in PANELS}


def points_of(svg):
    """Return the number of points of each named line."""
    found = {}
    for group in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}g"):
        if group.get("id", "").startswith("line:"):
            path = group.find("{http://www.w3.org/2000/svg}path").get("d")
            found[group.get("id")] = len(re.findall("[ML]", path))
    return found


@pytest.mark.parametrize("family", PANELS)
def test_a_line_for_each_protocol_and_a_baseline_in_each_panel(drawings, family):
    found = points_of(drawings[family].svg)
    assert set(found) == {
        f"line:{metric}:{split}:{name}"
        for metric in PANELS[family]
        for split in SPLITS
        for name in (*PROTOCOLS, "NonDP")
    }
    undefined = found.pop("line:DI:k-based:THE", None)
    assert undefined == (2 if family == "fairness" else None)
    for name, points in found.items():
        assert points == (2 if name.endswith("NonDP") else 3)


def test_the_baseline_is_dashed_and_the_others_are_not(drawings):
    text = drawings["fairness"].svg.decode()
    styles = re.findall(r'<g id="line:[^"]*:([^":]*)">\s*<path [^>]*style="([^"]*)"', text)
    assert len(styles) == 4 * 2 * 4
    for name, style in styles:
        assert ("stroke-dasharray" in style) == (name == "NonDP")


def test_the_axis_is_logarithmic(drawings):
    text = drawings["utility"].svg.decode()
    found = re.search(r'<g id="line:recall:uniform:GRR">\s*<path d="([^"]*)"', text)[1]
    at = [float(one) for one in re.findall(r"[ML] ([0-9.]+)", found)]
    assert (at[1] - at[0]) / (at[2] - at[0]) == pytest.approx(math.log(4) / math.log(200), abs=1e-4)


@pytest.mark.parametrize("family", PANELS)
def test_the_png_is_a_picture(drawings, family):
    pixels = matplotlib.image.imread(BytesIO(drawings[family].png), format="png")
    assert pixels.shape[0] > 900
    assert pixels.shape[1] > 900
    assert pixels.min() < pixels.max()


def test_the_same_curves_give_the_same_bytes(curves, drawings):
    assert draw(curves, "fairness") == drawings["fairness"]


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.links, self.tags = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href", "srcset", "data")]


def test_the_report_loads_nothing(curves, drawings):
    description = {"configuration": {"name": "<script>alert(1)</script>"}}
    text = html_report(curves, drawings, description)
    page = Page()
    page.feed(text)
    assert page.tags.count("img") == 2
    assert page.links
    assert all(link.startswith("data:image/svg+xml;base64,") for link in page.links)
    assert not {"script", "link", "iframe", "object"} & set(page.tags)
    assert "http://" not in text
    assert "https://" not in text
    assert "url(" not in text
    assert "&lt;script&gt;" in text


def test_the_report_has_every_mean_and_says_what_is_undefined(curves, drawings):
    text = re.sub(' data-column="[^"]*"', "", html_report(curves, drawings, None))
    first = '<th scope="row">([^<]+)</th><td class="text">([^<]+)</td><td>([^<]+)</td>'
    rows = re.findall(f"<tr>{first}(.*?)</tr>", text)
    assert len(rows) == 2 * (1 + 3 * 2 * 3)
    means = {row[:3]: row[3] for row in rows}
    assert "<td>0.6000 ± 0.0100</td>" in means["OUE", "uniform", "1"]
    fairness = {row[:3]: row[3] for row in rows[: len(rows) // 2]}
    assert fairness["THE", "k-based", "1"].startswith("<td>undefined</td>")
    assert fairness["THE", "k-based", "50"].startswith(
        "<td>0.7500 (of 1 seeds; undefined in 4)</td>"
    )
    assert fairness["NonDP", "none", "inf"].startswith("<td>0.4000 ± 0.0200</td>")


def test_another_run_is_dotted_beside_and_has_tables_of_its_own(curves):
    summary = Summary(0.123456, SD, 5, 5)
    cells = (Place("OUE", "uniform", epsilon) for epsilon in (1.0, 50.0))
    other = Curves({cell: dict.fromkeys(METRICS, summary) for cell in cells})
    drawing = draw(curves, "fairness", beside=other, name="the paper's way")
    ids = set(re.findall('id="(beside:[^"]*)"', drawing.svg.decode()))
    # the panel of a split that the other run lacks holds nothing of it
    assert ids == {
        f"beside:{metric}:{split}:OUE" for metric in PANELS["fairness"] for split in SPLITS
    }
    assert b"the paper's way" in drawing.svg or b"the paper&#x27;s way" in drawing.svg
    assert set(points_of(drawing.svg)) == set(points_of(draw(curves, "fairness").svg))
    drawings = {family: draw(curves, family, beside=other) for family in PANELS}
    report = html_report(curves, drawings, None, beside=other, beside_name="<other>")
    assert report.count("0.1235 ± 0.0100") == 2 * len(PANELS["fairness"] + PANELS["utility"])
    assert "Fairness, &lt;other&gt;: mean over seeds" in report
    assert "<other>" not in report
