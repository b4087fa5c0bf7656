"""No page shows a name where a text belongs: of a survey whose names nobody would write."""

from __future__ import annotations

import re
from html import unescape

import numpy as np
import pytest

from hushpoll_shared.wire import reports as wire
from hushpoll_shared.wire.batch import encode_many

pytestmark = pytest.mark.sqlite

YES = {"role": "sensitive", "protocol": "GRR", "categories": ["No", "Yes"]}
SURVEY = {
    "title": "Work and health",
    "epsilon": "24",
    "protocol": "GRR",
    "attributes": [
        {
            "name": "zzqgender",
            "role": "sensitive",
            "categories": ["Woman", "Man"],
            "question": "Your gender?",
        },
        {"name": "zzqsmoke", **YES, "question": "Do you smoke?"},
        {"name": "zzqoften", **YES, "question": "Every day?", "ask_if": {"zzqsmoke": ["Yes"]}},
        {"name": "zzqscale", "role": "sensitive", "range": [0, 4], "question": "How satisfied?"},
        {
            "name": "zzqpay",
            "role": "sensitive",
            "protocol": "GRR",
            "question": "What do you earn?",
            "number": {"low": 0, "high": 5000, "unit": "euros"},
        },
        {
            "name": "zzqnews",
            "role": "sensitive",
            "categories": ["Radio", "Papers"],
            "protocol": "GRR",
            "select": {},
            "question": "Where do you read news?",
        },
        {
            "name": "zzqmatrix",
            **YES,
            "question": "How often?",
            "items": [
                {"name": "zzqitemone", "question": "Wine"},
                {"name": "zzqitemtwo", "question": "Beer"},
            ],
        },
        {"name": "zzqone", **YES, "question": "Do you drink?"},
        {"name": "zzqtwo", **YES, "question": "Do you sing?"},
        {"name": "zzqthree", **YES, "question": "Do you swim?"},
        {
            "name": "zzqregion",
            "role": "plain",
            "categories": ["North", "South"],
            "question": "Where do you live?",
        },
        {
            "name": "zzqwork",
            "role": "target",
            "categories": ["no work", "some work"],
            "positive": "some work",
            "question": "Do you work?",
        },
    ],
    "draws": [{"name": "zzqdraw", "blocks": ["zzqtwo", "zzqthree"], "answer": 1}],
    "protected": {"attribute": "zzqgender", "unprivileged": "Woman", "privileged": "Man"},
}


def answers(published, n, rng):
    codes = {one.name: rng.integers(0, one.k, n) for one in published.attributes}
    codes["zzqoften"] = np.where(codes["zzqsmoke"] == 1, rng.integers(0, 2, n), 2)
    codes["zzqone"] = codes["zzqgender"]
    return codes


@pytest.fixture
def filled(site):
    for version in (1, 2):
        published = site.publish(allow_weak=True, version=version, **SURVEY)
        rng = np.random.default_rng(version)
        rows = encode_many(published, answers(published, 300, rng), rng)
        site.send_batch(published, [wire.Report(rng.bytes(16), row.tobytes()) for row in rows])
    site.services.sealing.sweep(site.services.surveys.now())
    return site


START = "/surveys/work/versions/2"
PAIR = "a=zzqgender&b=zzqwork"
RESULT = "ordered-answers%3Fattribute%3Dzzqscale%26given%3Dzzqgender"
PAGES = (
    "",
    "/estimates",
    "/estimates?attribute=zzqscale&among=zzqgender&group=Man",
    f"/cross-tables?{PAIR}",
    "/cross-tables?a=zzqtwo&b=zzqthree",
    "/comparison?of=zzqwork&beside=groups+of+zzqgender",
    "/comparison?of=zzqsmoke&beside=wave+work+1",
    "/weighted?of=zzqscale&by=zzqgender&a0=40&a1=60",
    "/results",
    "/results/answered-shares?attribute=zzqoften",
    "/results/changes?attribute=zzqsmoke&since_version=1",
    "/results/conditional-shares?of=zzqwork&given=zzqgender",
    "/results/cross-tables?a=zzqnews_1&b=zzqgender",
    "/results/estimates",
    f"/results/independence?{PAIR}",
    "/results/independence?a=zzqtwo&b=zzqthree",
    "/results/ordered-answers?attribute=zzqscale&given=zzqnews_1",
    "/results/simultaneous-means?attributes=zzqscale&given=zzqscale",
    "/regressions",
    "/models",
    "/fairness",
    "/quality",
    "/jobs",
    "/report",
    f"/report?result={RESULT}",
    f"/report-file?attribute=zzqnews_1&attribute=zzqoften&trend=yes&result={RESULT}",
    "/report-file?attribute=zzqpay&language=de",
    "/privacy-sheet.html",
    # refused
    "/results/conditional-shares?of=zzqgender&given=zzqgender",
    "/results/ordered-answers?attribute=zzqregion",
    "/report-file?rows=zzqgender&columns=zzqgender",
    "/report-file?rows=zzqtwo&columns=zzqthree",
)
UNSEEN = re.compile(r"<(style|script|head|code|pre)\b.*?</\1>", re.DOTALL)
FIELD = r'<input(?![^>]*type="(?:hidden|checkbox|radio|submit)")[^>]*value="([^"]*)"'
SAID = re.compile(rf'(?:placeholder|title|aria-label|alt|label)="([^"]*)"|{FIELD}')
DETAILS = re.compile(r'<p class="facts">zzq\w+ · |<dt>(?:Formula|Digest)</dt><dd>.*?</dd>')


def names_on(html):
    """The names that a page shows, each with the words around it."""
    html = DETAILS.sub(" ", UNSEEN.sub(" ", html))
    said = " | ".join("".join(found) for found in SAID.findall(html))
    words = re.sub(r"\s+", " ", unescape(f"{re.sub('<[^>]*>', '', html)} | {said}"))
    return [words[max(0, at.start() - 60) : at.end() + 30] for at in re.finditer("zzq", words)]


def test_names_are_seen_in_words_boxes_and_labels():
    assert names_on('<p>a <b>zzqone</b></p><option value="zzqtwo">x</option><code>zzq</code>')
    assert names_on('<input type="search" value="zzqone">')
    assert names_on('<div aria-label="Chart of zzqone">')
    assert not names_on('<option value="zzqtwo">x</option><code>zzq</code><a href="?a=zzqone">')


def test_no_page_shows_a_name_for_a_text(filled, visit):
    visitor = visit("ada", every="admin")
    jobs = {
        "table": filled.add_job("table", {"attributes": ["zzqgender", "zzqwork", "zzqone"]}),
        "regress": filled.add_job("regress", {"formula": "zzqwork ~ zzqgender + zzqoften"}),
    }
    filled.run_jobs()
    ends = {"table": "tables", "regress": "regressions"}
    places = [f"/surveys/work/versions/1/{ends[kind]}/{job}" for kind, job in jobs.items()]
    found = {}
    for path in (*(START + page for page in PAGES), *places, "/jobs"):
        page = visitor.get(path)
        assert page.status_code in (200, 422), path
        found[path] = names_on(page.text)
    found["/s/work"] = names_on(filled.client().get("/s/work").text)
    assert [(path, words[:3]) for path, words in found.items() if words] == []
