"""A refused form comes back as it was filled in, with what is wrong beside its field."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from flask import g, render_template_string
from werkzeug.datastructures import MultiDict

from hushpoll_server.dashboard.forms import FAULT_ID, Fault, Refusal

pytestmark = pytest.mark.sqlite
WORK = "/surveys/work/versions/1"
PASSWORD = "correct horse battery"


class Page(HTMLParser):
    """The field at fault, what is said of it, and the values of text fields, boxes and lists."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.at_fault: list[dict[str, str | None]] = []
        self.fault = ""
        self.values: list[tuple[str, str | None]] = []
        self._inside = 0
        self._select = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if given.get("aria-invalid") == "true":
            self.at_fault.append(given)
        if given.get("id") == FAULT_ID:
            self._inside = 1
        elif self._inside:
            self._inside += 1
        if tag == "select":
            self._select = given.get("name", "")
        if (tag == "input" and given.get("type") in (None, "text", "password")) or (
            tag == "input" and "checked" in given
        ):
            self.values.append((given.get("name", ""), given.get("value")))
        if tag == "option" and "selected" in given:
            self.values.append((self._select, given.get("value")))

    def handle_endtag(self, tag):
        if self._inside:
            self._inside -= 1

    def handle_data(self, data):
        if self._inside:
            self.fault += data


@pytest.mark.parametrize(
    ("role", "page", "path", "sent", "field", "words"),
    [
        ("analyst", f"{WORK}/models", None, {"learner": "lightgbm", "seed": "7", "folds": "1"},
         "folds", "folds is 1; give at least 2"),
        ("analyst", f"{WORK}/models", None,
         {"learner": "lightgbm", "seed": "7", "what": "train", "parameter-n_estimators": "0"},
         "parameter-n_estimators", "n_estimators is 0; it must be a whole number in"),
        ("analyst", f"{WORK}/models", None,
         {"learner": "lightgbm", "seed": "7", "what": "tune", "trials": "many"},
         "trials", "trials is 'many'; give a whole number"),
        ("analyst", f"{WORK}/fairness", None, {"seed": "7", "folds": "x"},
         "folds", "folds is 'x'; give a whole number"),
        ("analyst", f"{WORK}/jobs", None, {"format": "docx", "content": "debiased"},
         "format", "format is 'docx'; "),
        ("editor", WORK, f"{WORK}/origins", {"origins": "https://a.example/path"},
         "origins", "https://a.example/path"),
        ("editor", WORK, f"{WORK}/close", {"confirm": "wrok"},
         "confirm", "type work to close"),
        ("admin", "/people", "/people", {"name": "bob", "password": PASSWORD, "survey": "nowhere",
         "role": "editor"}, "survey", "its surveys are: "),
        ("admin", "/people", "/people", {"name": "b", "password": "short", "survey": "*",
         "role": "editor"}, "password", "12"),
        ("admin", "/people", "/tokens", {"label": "script", "surveys": "work"},
         "scope", "scope"),
        ("admin", "/curve", None, {}, "results", "No file is chosen"),
    ],
)  # fmt: skip
def test_refused_form_comes_back_with_its_values(site, visit, role, page, path, sent, field, words):
    site.publish()
    visitor = visit("ada", **{"every" if role == "admin" else "work": role})
    sent = {"what": "train", **sent} if page.endswith("/models") else sent
    answer = visitor.send(path or page, page, **sent)
    assert answer.status_code == 422
    seen = Page(answer.text)
    assert [one["name"] for one in seen.at_fault] == [field], answer.text
    assert FAULT_ID in seen.at_fault[0]["aria-describedby"].split()
    assert words in seen.fault
    # Once, and inside no part that is folded up.
    assert answer.text.count(f'id="{FAULT_ID}"') == 1
    before = answer.text[: answer.text.index(f'id="{FAULT_ID}"')]
    assert before.rfind("<details>") <= before.rfind("</details>")
    for name, value in sent.items():
        if name in ("password", "learner", "what", "format", "origins", "role", "content"):
            continue
        if (name, value) == ("survey", "nowhere"):  # which the list to choose from does not have
            continue
        assert (name, value) in seen.values, (name, seen.values)
    assert PASSWORD not in answer.text
    if "role" in sent:
        assert f"<option selected>{sent['role']}</option>" in answer.text
    if "origins" in sent:
        assert f">\n{sent['origins']}</textarea>" in answer.text


def test_publishing_comes_back_with_its_choices(site, visit):
    published = site.publish()
    site.fill(published, 9)
    site.close()
    site.clock.advance(1)
    site.services.sealing.sweep(site.services.surveys.now())
    editor = visit("ada", work="editor")
    pairs = {"rows": ["age", "income"], "columns": ["income", "age"]}
    sent = {"attribute": ["age"], **pairs, "estimator": "projected"}
    answer = editor.send(f"{WORK}/public-results", f"{WORK}/report", **sent)
    assert answer.status_code == 422
    _, _, form = answer.text.partition('/public-results"')
    seen = Page(form)
    assert [one["name"] for one in seen.at_fault] == ["confirm"]
    assert "tick it to publish" in seen.fault
    hidden = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', form)
    for chosen in (("attribute", "age"), ("estimator", "projected")):
        assert chosen in hidden
    # Two fields have one name, and each keeps its own choice.
    for name, chosen in pairs.items():
        assert [value for field, value in hidden if field == name] == chosen
    assert ("attribute", "income") not in hidden
    assert ("fairness", "yes") not in hidden


FORM = """{% import "dashboard/fields.html" as inputs %}
{% call(f) inputs.form("/a", fixed={"what": "x"}, files=true) %}<details{{ f.open }}>
{{ inputs.text(f, "n", "N", "1", inputmode="decimal", required=true) }}
{{ inputs.text(f, "password", "P", "2", type="password") }}
{{ inputs.text(f, "file", "F", type="file") }}
{{ inputs.area(f, "t", "T", "old") }}{{ inputs.list(f, "s", ["a<b", "c"], "c") }}
{{ inputs.list(f, "m", [("1", "one"), ("2", "two"), ("3", "three")], "3", multiple=true) }}
{% call inputs.box(f, "b", ticked=true) %}B{% endcall %}
{% for one in "xy" %}
{% call inputs.box(f, "r", one, one, loop.first, "radio") %}R{% endcall %}{% endfor %}
</details>{% endcall %}"""


@pytest.fixture
def written(site):
    """Return what writes the form above, refused with what was sent, or as it is at first."""

    def write(sent=None, path="/a", fields=("t",), words="Wrong.", form=FORM):
        with site.app.test_request_context("/dashboard/"):
            if sent is not None:
                g.refusal = Refusal(path, MultiDict(sent), Fault(fields, words))
            return render_template_string(form)

    return write


def test_every_kind_of_field_keeps_what_was_sent(written):
    long = "Ünïcödé 漢字 🙂 &amp; " * 2_000 + "\r\n\r\nend"
    sent = [("what", "x"), ("n", "  9 "), ("password", "secret"), ("t", long), ("s", "a<b")]
    html = written([*sent, ("m", "1"), ("m", "2"), ("r", "y")])
    seen = Page(html)
    assert ("n", "  9 ") in seen.values
    assert [one for name, one in seen.values if name == "m"] == ["1", "2"]
    assert [one for name, one in seen.values if name in ("b", "r")] == ["y"]
    assert "<option selected>a&lt;b</option>" in html
    assert html.count(" selected") == 3
    assert "secret" not in html
    assert long.replace("&", "&amp;") in html
    assert "<details open>" in html
    assert [one["name"] for one in seen.at_fault] == ["t"]
    # No option, and no box, was chosen: the defaults are not put in their place.
    none = Page(written(sent))
    assert [one for name, one in none.values if name in ("m", "b", "r")] == []
    # At first the form has its defaults.
    first = Page(written())
    assert [one for one in first.values if one[0] in "nmbr"] == [
        ("n", "1"), ("m", "3"), ("b", "yes"), ("r", "x"),
    ]  # fmt: skip
    assert first.at_fault == []


def test_controls_of_a_row_have_no_id_where_several_rows_have_them(written):
    rows = """{% import "dashboard/fields.html" as inputs %}
{% call(f) inputs.form("/a") %}{{ inputs.input(f, "survey", id=false) }}
{{ inputs.list(f, "role", ["a"], id=false) }}{{ inputs.input(f, "own") }}{% endcall %}"""
    html = written(form=rows)
    assert re.findall(r' id="([^"]*)"', html) == ["own"]


def test_form_of_another_page_and_hostile_values_are_no_markup(written):
    hostile = '"><script>alert(1)</script>'
    values = {"n": hostile, "s": hostile, "t": f"</textarea>{hostile}", "form_token": "z"}
    sent = {"what": "x", **values}
    html = written(sent, words=hostile)
    assert "<script>" not in html
    assert 'value="z"' not in html
    assert html.count("</textarea>") == 1
    for untouched in (written(sent, path="/b"), written(sent | {"what": "y"})):
        assert ">\nold</textarea>" in untouched
        assert FAULT_ID not in untouched
    # Of no field: at the beginning of the form.
    without = written(sent, fields=("other",))
    assert without.index(FAULT_ID) < without.index("<details")
    assert without.count(FAULT_ID) == 1
