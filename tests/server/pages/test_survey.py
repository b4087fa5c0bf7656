import gzip
import re

import pytest

from hushpoll_analysis.html import style_sheet
from hushpoll_server.pages.assets import WORKER, assets
from hushpoll_server.pages.questions import MOST_RADIO_BUTTONS, questions
from hushpoll_shared.spelling.clock import FixedClock
from hushpoll_shared.survey.manifest import Manifest


def asked(make_draft, **attribute):
    one = {"name": "age", "role": "sensitive", **attribute}
    return questions(Manifest.from_dict(make_draft(attributes=[one], protected=None)).resolve())[0]


def test_few_choices_are_radio_buttons_and_more_are_a_list(make_draft):
    few = [f"c{i}" for i in range(MOST_RADIO_BUTTONS)]
    assert asked(make_draft, categories=few).kind == "radio"
    question = asked(make_draft, categories=[*few, "one more"])
    assert question.kind == "select"
    assert question.choices == tuple(enumerate([*few, "one more"]))


def test_a_run_of_numbers_is_typed(make_draft):
    question = asked(make_draft, range=[18, 90], missing="not told")
    assert (question.kind, question.least, question.most) == ("number", "18", "90")
    assert question.choices == ((73, "not told"),)


@pytest.mark.parametrize(
    "categories",
    [
        [str(i) for i in range(0, 40, 2)],  # steps of two
        [f"{i:02}" for i in range(20)],  # 00 is not what a number field gives back
        [str(i) for i in range(20, 0, -1)],
    ],
)
def test_other_numbers_are_chosen(make_draft, categories):
    assert asked(make_draft, categories=categories).kind == "select"


def test_a_question_without_text_has_its_name(make_draft):
    assert asked(make_draft, categories=["a", "b"]).text == "age"
    assert asked(make_draft, categories=["a", "b"], question="How old?").text == "How old?"


def test_the_page_asks_every_question_under_a_policy_of_its_own(site):
    published = site.publish()
    answer = site.get("/s/work", headers={})
    assert answer.status_code == 200
    assert answer.mimetype == "text/html"
    text = answer.text
    assert re.findall(r'data-attribute="(\w+)"', text) == [one.name for one in published.attributes]
    assert published.digest in text
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'self';")
    assert "unsafe" not in policy
    assert not re.search(r"<script>|\son\w+=|style=", text)


def test_the_newest_open_version_is_asked_and_any_by_its_number(site):
    first = site.publish()
    second = site.publish(version=2, title="Once more")
    assert second.digest in site.get("/s/work", headers={}).text
    assert first.digest in site.get("/s/work/versions/1", headers={}).text


@pytest.mark.parametrize(
    ("path", "status"),
    [("/s/none", 404), ("/s/work/versions/9", 404), ("/s/..%2f..", 404), ("/s/WORK", 404)],
)
def test_what_is_not_there_is_said_in_words(site, path, status):
    site.publish()
    answer = site.get(path, headers={})
    assert answer.status_code == status


@pytest.mark.parametrize(
    ("changes", "status", "heading"),
    [
        ({"opens": "2026-03-01T12:00:01Z"}, 403, "This survey has not begun"),
        ({"closes": "2026-03-01T12:00:00Z"}, 410, "This survey is closed"),
    ],
)
def test_a_survey_that_takes_no_answers_says_so(make_site, changes, status, heading):
    clock = FixedClock("2026-02-28T12:00:00Z")
    site = make_site(clock=clock)
    site.publish(**changes)
    clock.advance(86_400)
    answer = site.get("/s/work", headers={})
    assert answer.status_code == status
    assert heading in answer.text
    assert "data-attribute" not in answer.text


def test_files_are_kept_for_ever_under_their_build_alone(site):
    build = assets().build
    for path, asset in assets().files.items():
        answer = site.get(f"/page/{build}/{path}", headers={"Accept-Encoding": "gzip"})
        assert answer.status_code == 200
        assert answer.mimetype == asset.media_type
        assert answer.headers["Content-Encoding"] == "gzip"
        assert gzip.decompress(answer.data) == asset.body
        assert "immutable" in answer.headers["Cache-Control"]
        assert ("Service-Worker-Allowed" in answer.headers) == (path == WORKER)
    plain = site.get(f"/page/{build}/style.css", headers={"Accept-Encoding": "identity"})
    assert plain.data == assets().files["style.css"].body == style_sheet().encode()
    assert site.problem(site.get("/page/0000000000000000/style.css"))[0] == 404
    assert site.problem(site.get(f"/page/{build}/../survey.html"))[0] == 404


def test_every_module_that_a_module_imports_is_there():
    files = assets().files
    for path in assets().modules:
        folder = path.rpartition("/")[0]
        for found in re.findall(r'from "(\.[^"]+)"', files[path].body.decode()):
            parts = (f"{folder}/{found}" if folder else found).split("/")
            resolved: list[str] = []
            for part in parts:
                if part == "..":
                    resolved.pop()
                elif part != ".":
                    resolved.append(part)
            assert "/".join(resolved) in files, (path, found)
