"""The pages of a survey with select-alls: a question with a row for each option."""

import re

import numpy as np
import pytest

from hushpoll_server.dashboard import estimates
from hushpoll_shared.wire import reports as wire
from hushpoll_shared.wire.batch import encode_many

pytestmark = pytest.mark.sqlite
START = "/surveys/work/versions/1"
SURVEY = {
    "epsilon": "8",
    "protocol": "SS",
    "attributes": [
        {"name": "gender", "role": "sensitive", "categories": ["Female", "Male"]},
        {
            "name": "drugs",
            "role": "sensitive",
            "categories": ["Cannabis", "Cocaine", "Heroin"],
            "select": {"at_least": 1, "at_most": 2},
            "question": "Which have you taken?",
        },
        {
            "name": "news",
            "role": "sensitive",
            "categories": ["Radio", "Papers", "Web", "Talk", "Books", "Walls", "Birds"],
            "select": {},
            "question": "Where do you read news?",
        },
    ],
}


@pytest.fixture
def released(site):
    published = site.publish(**SURVEY)
    n, rng = 3000, np.random.default_rng(1)
    codes = {"gender": rng.integers(0, 2, n)}
    codes["drugs_1"] = np.ones(n, np.int64)
    codes["drugs_2"] = (rng.random(n) < 0.25).astype(np.int64)
    codes["drugs_3"] = np.zeros(n, np.int64)
    for place in range(1, 8):
        codes[f"news_{place}"] = (rng.random(n) < 0.5).astype(np.int64)
    rows = encode_many(published, codes, rng)
    site.send_batch(published, [wire.Report(rng.bytes(16), row.tobytes()) for row in rows])
    site.seal()
    return site


def test_the_page_of_estimates_has_a_row_for_each_option(released, visit):
    analyst = visit("ada", every="admin")
    page = analyst.get(f"{START}/estimates").text
    assert page.count('<section class="result"') == 3
    assert re.search(r'<p class="asked" id="asked-\d"><bdi>Which have you taken\?</bdi></p>', page)
    assert "Randomised by SS" in page
    text = re.sub(r"<[^>]+>", " ", page[page.index('id="t-1"') :])
    shares = dict(re.findall(r"(Cannabis|Cocaine|Heroin) +(\u2212?[0-9.]+)&nbsp;%", text))
    assert abs(float(shares["Cannabis"]) - 100) < 8
    assert abs(float(shares["Cocaine"]) - 25) < 8
    assert "drugs_1" not in re.sub(r'value="[^"]*"', "", page)
    file = analyst.get(f"{START}/estimates/drugs.csv").text
    assert re.findall("Cannabis|Cocaine|Heroin", file) == ["Cannabis", "Cocaine", "Heroin"]


def test_options_are_groups_and_sides_by_their_texts(released, visit):
    analyst = visit("ada", every="admin")
    page = analyst.get(f"{START}/cross-tables?a=gender&b=drugs_2").text
    assert '<option value="drugs_2" selected>Which have you taken? Cocaine</option>' in page
    assert "by <bdi>Which have you taken? Cocaine</bdi></p>" in page
    among = analyst.get(f"{START}/estimates?attribute=drugs&among=gender&group=Male")
    assert among.status_code == 200
    assert "Cannabis" in among.text
    assert analyst.get(f"{START}/estimates?among=drugs_2&group=selected").status_code == 200


def test_only_the_options_that_cannot_be_told_are_left_out(released, visit, monkeypatch):
    """Guards: one option that was too noisy folded all of them."""
    monkeypatch.setattr(estimates, "part_is_noisy", lambda _verdict, part: part == "drugs_2")
    page = visit("ada", every="admin").get(f"{START}/estimates?attribute=drugs").text
    text = re.sub(r"<[^>]+>", " ", page[page.index('id="t-0"') :])
    assert re.search(r"Cocaine +too noisy to tell", text)
    assert re.search(r"Cannabis +\d+\.\d&nbsp;%", text)
    chart = page[page.index('class="bands"') : page.index('id="t-0"')]
    assert "Cannabis" in chart
    assert "Cocaine" not in chart.partition("<figcaption")[0]
    file = visit("bob", every="admin").get(f"{START}/estimates/drugs.csv").text
    assert re.search(r'"Cocaine",0?\.\d+', file)
