"""Drafts on the dashboard, without scripts: begun, written, published, by those who may."""

from __future__ import annotations

import io
import re
from html import unescape

import pytest

from hushpoll_server.dashboard.drafts import outlook, views
from hushpoll_server.dashboard.drafts.controls import FormTable
from hushpoll_server.dashboard.drafts.form import SURVEY_FORM
from hushpoll_server.dashboard.drafts.outlook import outlook_of
from hushpoll_server.dashboard.drafts.question_fields import QUESTION
from hushpoll_server.services.surveys import turns
from hushpoll_shared.drafts.attribute_fields import ATTRIBUTE
from hushpoll_shared.drafts.fields import ManifestField, text
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.drafts.survey_fields import SURVEY
from hushpoll_shared.drafts.yaml_writer import write_yaml
from hushpoll_shared.reading.yaml_reader import parse_yaml
from hushpoll_shared.samples import sample_manifest
from sample_survey import SURVEYS, make_draft
from workbooks import xlsform

pytestmark = pytest.mark.sqlite
FIELD = re.compile(r'<(?:input|textarea|select)[^>]* name="([^"]*)"')
TAG = re.compile(r"""<(?:"[^"]*"|'[^']*'|[^"'>])*>""")
FIRST = {"name": "first", "title": "First"}


DRAFT = re.compile(r"/drafts/[0-9a-f]{8,}(\?|$)")


def at_once(path):
    """The address of a draft with all that stands beside it, as without scripts."""
    if DRAFT.match(path) is None or "beside=" in path:
        return path
    return f"{path}{'&' if '?' in path else '?'}beside=now"


@pytest.fixture
def visit(visit):
    def visit_without_scripts(*named, **roles):
        visitor = visit(*named, **roles)
        get = visitor.get
        visitor.get = lambda path, **options: get(at_once(path), **options)
        return visitor

    return visit_without_scripts


def begun(visitor, **fields):
    """Begin a draft, and return the path of its page."""
    answer = visitor.send("/drafts/new", on="/drafts/new", **(fields or FIRST))
    assert answer.status_code == 303, answer.text
    return answer.headers["Location"].removeprefix("/dashboard")


def of_yaml(visitor, **changes):
    return begun(visitor, **{"from": "yaml", "yaml": str(make_draft(**changes))})


def filled(visitor, path, **changes):
    """The fields of a form as the page gives them, but for changed ones."""
    text = visitor.get(path).text
    form = text[text.index('id="draft-form"') : text.index("</aside>")]
    given = {}
    for match in FIELD.finditer(form):
        tag = TAG.match(form, match.start())[0]
        if tag.startswith("<input"):
            value = re.search(r""" value=(?:"([^"]*)"|'([^']*)')""", tag)
            given[match[1]] = (value[1] or value[2] or "") if value else ""
        elif tag.startswith("<textarea"):
            given[match[1]] = form[form.index(">\n", match.start()) + 2 :].split("</textarea>")[0]
        else:
            options = form[match.start() :].split("</select>")[0]
            chosen = re.search(r'<option(?: value="([^"]*)")? selected>([^<]*)', options)
            given[match[1]] = "" if chosen is None else chosen[2 if chosen[1] is None else 1]
    given = {name: unescaped(text) for name, text in given.items()}
    return {**given, **changes}


def unescaped(text):
    for entity, character in (("&#34;", '"'), ("&#39;", "'"), ("&lt;", "<"), ("&gt;", ">")):
        text = text.replace(entity, character)
    return text.replace("&amp;", "&")


def change(visitor, path, **changes):
    fields = filled(visitor, path, **changes)
    fields.pop("form_token")
    return visitor.send(path.partition("?")[0], on=path, **fields)


def manifest(site, path):
    return site.services.drafts.find(path.rpartition("/")[2]).manifest


def test_an_editor_writes_a_survey_question_by_question_and_publishes_it(site, visit):
    ada = visit("ada", first="editor")
    assert "Write the first survey" in ada.get("/").text
    path = begun(ada)
    page = ada.get(path)
    assert page.status_code == 200
    assert "It can be published" in page.text
    assert "respondents and epsilon 2" in page.text
    answer = change(ada, path, do="add", n="5000", **{"q0-question": "Do you smoke?"})
    assert answer.status_code == 303
    assert answer.headers["Location"] == f"/dashboard{path}?n=5000&width=0.1&at=q1#q1"
    changes = {"q1-name": "age", "q1-categories": "", "q1-low": "18", "q1-high": "90"}
    change(ada, path, do="up-1", **changes)
    assert [one["name"] for one in manifest(site, path)["attributes"]] == ["age", "question-1"]
    change(ada, path, do="remove-1")
    assert manifest(site, path)["attributes"] == [
        {"name": "age", "role": "sensitive", "range": [18, 90]}
    ]
    page = ada.get(path)
    assert "sandbox" in page.text
    assert page.headers["Content-Security-Policy"].endswith("script-src 'self'; connect-src 'self'")
    assert "unsafe" not in page.headers["Content-Security-Policy"]
    published = ada.send(f"{path}/publish", on=f"{path}/publish", revision="4")
    assert published.status_code == 303, published.text
    assert published.headers["Location"] == "/dashboard/surveys/first/versions/1"
    assert ada.get(path).status_code == 404
    acts = [line.act for line in reversed(site.services.actions.newest(20))]
    assert [act for act in acts if "draft" in act or act == "published"] == [
        "began-draft", "changed-draft", "changed-draft", "changed-draft", "published",
    ]  # fmt: skip


@pytest.fixture
def added_field(monkeypatch):
    """A field that a later release might add to each table: its entry is all that is written."""
    said = dict.fromkeys(("allowed", "meaning", "reason", "example"), "x")
    words = {"label": "Whom to ask", "hint": "A name.", "title": "contact of the survey"}
    entry = ManifestField(name="contact", form=text(50), **words, **said)
    for table, fields, rest in ((SURVEY_FORM, SURVEY, "period"), (QUESTION, ATTRIBUTE, "more")):
        grown = FormTable.of((*fields, entry), rest)
        monkeypatch.setitem(table.entries, "contact", entry)
        monkeypatch.setitem(table.controls, "contact", grown.controls["contact"])


@pytest.mark.usefixtures("added_field")
@pytest.mark.parametrize(("at", "label"), [("s", "contact of the survey"), ("q0", "Question 1, ")])
def test_a_field_that_the_table_gets_is_in_the_form(site, visit, at, label):
    ada = visit("ada", every="editor")
    path = begun(ada)
    named = f"{at}-contact"
    described = (
        f'<label for="{named}">Whom to ask</label>\n<p class="why" id="{named}-hint">A name.'
    )
    assert described in ada.get(path).text
    change(ada, path, **{named: "Bob"})
    kept = manifest(site, path)
    assert (kept if at == "s" else kept["attributes"][0])["contact"] == "Bob"
    text = ada.get(path).text
    assert f'name="{named}" value="Bob"' in text
    # The reader of manifests does not know it yet: what it says stands beside the field.
    assert "unknown" in text[text.index(f'id="{named}-fault"') :].partition("</div>")[0]
    assert f'<a href="#{named}"><bdi>{label}' in text
    part = text[: text.index(f'id="{named}"')].rpartition("<details")[2].partition("<summary>")[0]
    assert part.endswith(" open>")
    # A form that is refused for another field comes back with it.
    refused = change(ada, path, **{named: "Cem", "s-name": "No name"})
    assert refused.status_code == 422
    assert f'name="{named}" value="Cem"' in refused.text


def test_problems_stand_beside_their_fields_in_words(site, visit):
    ada = visit("ada", every="editor")
    path = begun(ada)
    changes = {"s-epsilon": "lots", "q0-categories": "only one", "s-closes": "soon"}
    change(ada, path, **changes)
    text = ada.get(path).text
    assert "3 problems before it can be published" in text
    for field, words in (
        ("s-epsilon", "epsilon is &#39;lots&#39;"),
        ("s-closes", "closes is &#39;soon&#39;"),
        ("q0-categories", "has a domain of size 1"),
    ):
        beside = text[text.index(f'id="{field}-fault"') :].partition("</div>")[0]
        assert words in beside, field
        tag = text[text.index(f'id="{field}"') :].partition(">")[0]
        assert 'aria-invalid="true"' in tag
        assert f'<a href="#{field}">' in text
    assert "There is a plan once the draft has no problem" in text
    refused = ada.get(f"{path}/publish")
    assert "It cannot be published yet" in refused.text
    sent = ada.client.post(
        f"/dashboard{path}/publish",
        data={"form_token": token_on(ada, path), "revision": "2", "read": "yes"},
    )
    assert sent.status_code == 422
    assert site.services.surveys.all() == []


def test_questions_are_put_together_with_the_rules_of_yaml(site, visit):
    ada = visit("ada", every="editor")
    path = begun(ada)
    change(ada, path, do="add")
    names = {"q0-name": "first", "q1-name": "second", "s-protocol": "SS"}
    for lines, words in (
        ("both: first", "has 1 entry; questions are together from two on: add one"),
        ("one: first, second\ntwo: second, first", "which is in the block one too"),
        ("both: first, third", "which is no attribute of the survey"),
        ("both: first, second | XX", "XX"),
    ):
        change(ada, path, **names, **{"s-together": lines})
        text = ada.get(path).text
        beside = text[text.index('id="s-together-fault"') :].partition("</div>")[0]
        assert words in beside, beside
    change(ada, path, **names, **{"s-together": "both: first, second | OUE", "s-split": "k-based"})
    assert "k-based is a rule for questions alone" in ada.get(path).text
    change(ada, path, **names, **{"s-together": "both: first, second", "s-split": "uniform"})
    text = ada.get(path).text
    assert "It can be published" in text
    assert ">\nboth: first, second</textarea>" in text
    assert "first and second alone" in text or "Put together first and second" in text


def test_questions_are_drawn_at_random_with_the_rules_of_yaml(site, visit):
    ada = visit("ada", every="editor")
    path = begun(ada)
    change(ada, path, do="add")
    names = {"q0-name": "first", "q1-name": "second", "s-protocol": "SS", "s-split": "uniform"}
    for lines, words in (
        ("rota: first | 1", "a draw is from two blocks on"),
        ("rota: first, second | 2", "of 2 blocks a device answers 1:"),
        ("rota: first, second", "of 2 blocks a device answers 1:"),
        ("rota: first, third | 1", "which is no block of the survey"),
    ):
        change(ada, path, **names, **{"s-draws": lines})
        text = ada.get(path).text
        beside = text[text.index('id="s-draws-fault"') :].partition("</div>")[0]
        assert words in beside, beside
    change(ada, path, **names, **{"s-draws": "rota: first, second | 1"})
    text = ada.get(path).text
    assert "It can be published" in text
    assert ">\nrota: first, second | 1</textarea>" in text
    assert "answer it, and epsilon" in text


def test_a_question_is_asked_only_after_answers_to_another_with_the_rules_of_yaml(site, visit):
    ada = visit("ada", every="editor")
    path = begun(ada)
    change(ada, path, do="add")
    names = {"q0-name": "first", "q1-name": "second", "s-protocol": "SS"}
    names |= {"q0-categories": "no\nyes", "q1-categories": "few\nmany"}
    for router, after, words in (
        ("third", "yes", "which is no attribute of the survey"),
        ("second", "few", "second itself"),
        ("first", "", "has an empty list for first, so nobody would be asked"),
        ("first", "maybe", "which is no category of first"),
        ("", "yes", "name that question, or empty the answers"),
    ):
        change(ada, path, **names, **{"q1-router": router, "q1-after": after})
        text = ada.get(path).text
        beside = text[text.index('id="q1-router-fault"') :].partition("</div>")[0]
        assert words in beside, beside
    change(ada, path, **names, **{"q1-router": "first", "q1-after": "yes"})
    text = ada.get(path).text
    assert "It can be published" in text
    assert ">\nyes</textarea>" in text
    assert "Asked only after some answers to" in text


def test_pairs_that_are_the_question_have_their_verdicts_in_the_launch_plan(site, visit):
    ada = visit("ada", every="editor")
    path = of_yaml(ada, pairs=[["gender", "income"], ["gender", "country"]])
    shown = unescape(ada.get(f"{path}?n=120").text)
    assert ">\ngender, income\ngender, country</textarea>" in shown
    plan = shown.partition("Pairs that are the survey’s question</h3>")[2].partition("</ul>")[0]
    assert "<bdi>gender</bdi> and <bdi>income</bdi>: informative." in plan
    assert "<bdi>gender</bdi> and <bdi>country</bdi>: too noisy to tell." in plan
    assert "120 reports at epsilon" in plan
    for lines, words in (
        ("gender", "it must have the names of two attributes"),
        ("gender, wealth", "no attribute has this name"),
        ("gender, gender", "name two different attributes"),
        ("gender, income\nincome, gender", "mark each pair once"),
    ):
        change(ada, path, **{"s-pairs": lines})
        text = unescape(ada.get(path).text)
        beside = text[text.index('id="s-pairs-fault"') :].partition("</div>")[0]
        assert words in beside, beside
    change(ada, path, **{"s-pairs": "age, income"})
    assert manifest(site, path)["pairs"] == [["age", "income"]]
    assert parse_yaml(yaml_of(ada, path).encode())["pairs"] == [["age", "income"]]
    draft = site.services.drafts.find(path.rpartition("/")[2])
    publication = site.services.drafts.publish(draft, revision=None)
    published = site.services.surveys.published(publication.row)
    without = {key: value for key, value in draft.manifest.items() if key != "pairs"}
    assert published.digest == Manifest.from_dict(without).resolve().digest
    assert "pairs" not in published.to_dict()


def yaml_of(visitor, path):
    """The manifest as the page shows it to be edited as YAML."""
    text = visitor.get(f"{path}?as=yaml").text
    return unescape(text[text.index("<textarea") :].partition(">\n")[2].partition("</textarea>")[0])


def token_on(visitor, path):
    return re.search(r'name="form_token" value="([^"]*)"', visitor.get(path).text)[1]


def test_problems_of_a_question_are_told_in_the_words_of_the_form(site, visit):
    ada = visit("ada", every="editor")
    path = begun(ada)
    for changes, field, words in (
        ({"q0-low": "1", "q0-high": "5"}, "categories", "both possible answers and whole numbers"),
        ({"q0-low": "", "q0-high": "", "q0-categories": ""}, "categories", "write at least two"),
        ({"q0-scale": "nps", "q0-categories": "a\nb"}, "scale", "numbers from 0 to 10; write"),
        ({"q0-scale": "", "q0-missing": "a"}, "missing", "answer of who skips it is &#39;a&#39;"),
    ):
        change(ada, path, **changes)
        text = ada.get(path).text
        assert "1 problem before it can be published" in text
        assert words in text[text.index(f'id="q0-{field}-fault"') :].partition("</div>")[0]
        assert f'<a href="#q0-{field}"><bdi>Question 1, ' in text
        assert "attributes[" not in text.partition('id="draft-form"')[0]


def test_the_page_is_shown_in_each_language_that_is_complete(site, visit):
    ada = visit("ada", every="editor")
    skipped = {"age": {"missing": "keine"}}
    words = {
        language: {"title": f"Title {language}", "attributes": skipped}
        for language in ("de", "pt-BR")
    }
    path = of_yaml(ada, language="en", translations=words)

    def shown(language):
        text = ada.get(f"{path}?lang={language}").text
        return re.search(r"<h1[^>]*>([^<]*)</h1>", unescaped(text.partition("srcdoc=")[2]))[1], text

    assert shown("")[0] == shown("xx")[0] == "Work and health"
    assert shown("de")[0] == "Title de"
    assert "<option selected>de</option>" in shown("de")[1]
    assert change(ada, path, lang="de").headers["Location"].endswith("&lang=de")
    change(ada, path, **{"t0-title": ""})
    title, text = shown("de")
    assert title == "Work and health"
    assert "1 of 2 texts is not translated" in text
    assert "1 problem before it can be published" in text
    assert "respondents and epsilon 4" in text
    assert shown("pt-BR")[0] == "Title pt-BR"
    change(ada, path, **{"s-language": ""})
    assert shown("pt-BR")[0] == "Work and health"


def test_a_name_is_made_of_the_title_and_the_form_leads_on_to_publishing(site, visit):
    ada = visit("ada", every="editor")
    path = begun(ada, name="", title="¿Café, at work?")
    assert manifest(site, path)["name"] == "cafe-at-work"
    answer = change(ada, path, do="publish", n="3000", **{"q0-question": "Coffee?"})
    address = answer.headers["Location"].removeprefix("/dashboard")
    assert address == f"{path}/publish?n=3000&width=0.1"
    assert manifest(site, path)["attributes"][0]["question"] == "Coffee?"
    assert "as exactly as you want. <bdi>Yes: with 3,000 respondents" in ada.get(address).text
    refused = ada.send("/drafts/new", on="/drafts/new", name="", title="Работа")
    beside = refused.text[refused.text.index('id="refused-fault"') :].partition("</span>")[0]
    assert "be made; write a name" in beside


def test_a_survey_is_translated_cell_by_cell_and_terms_are_chosen(site, visit):
    ada = visit("ada", every="editor")
    path = begun(ada)
    asked = {"q0-question": "Do you smoke?", "q0-section": "Habits", "q0-missing": "No answer"}
    terms = {"s-shared_device": "several", "s-opens": "2027-01-31T09:00", "s-language": "en"}
    refused = change(ada, path, do="add-language", **asked, **{"new-language": "German"})
    assert refused.status_code == 422
    beside = refused.text[refused.text.index('id="new-language-fault"') :].partition("</div>")[0]
    assert "a language is written as de" in beside
    assert 'value="Do you smoke?"' in refused.text
    changes = {**asked, **terms, "new-language": "de"}
    added = change(ada, path, do="add-language", **changes)
    assert added.headers["Location"].endswith("#t0")
    page = ada.get(path).text
    assert "4 of 4 texts are not translated" in page
    assert "The answers of 1 question stay as they are" in page
    words = {"t0-title": "Erste", "t0-section-0": "Gewohnheiten", "t0-q0-question": "Rauchen Sie?"}
    change(ada, path, **words, **{"t0-q0-a0": "Ja"})
    page = ada.get(path).text
    assert "1 of 4 texts is not translated" in page
    beside = page[page.index('id="t0-q0-missing-fault"') :].partition("</div>")[0]
    assert "translate &#39;No answer&#39;" in beside
    change(ada, path, **{"t0-q0-missing": "Keine Angabe"})
    page = ada.get(path).text
    beside = page[page.index('id="t0-q0-a1-fault"') :].partition("</div>")[0]
    assert "translate &#39;No&#39; too, or none of them" in beside
    change(ada, path, **{"t0-q0-a1": "Nein"})
    page = ada.get(path).text
    assert "It can be published" in page
    assert "All 4 texts are translated." in page
    kept = manifest(site, path)
    assert (kept["shared_device"], kept["opens"]) == (True, "2027-01-31T09:00:00Z")
    assert kept["translations"]["de"]["attributes"]["question-1"] == {
        "question": "Rauchen Sie?", "categories": ["Ja", "Nein"], "missing": "Keine Angabe",
    }  # fmt: skip
    assert change(ada, path, do="drop-de").headers["Location"].endswith("#languages")
    assert "translations" not in manifest(site, path)


@pytest.mark.parametrize(
    ("field", "text", "words"),
    [
        ("n", "many", "n is &#39;many&#39;; give a whole number from 1"),
        ("n", "0", "n is &#39;0&#39;; give a whole number"),
        ("n", "1,000", "n is &#39;1,000&#39;; give a whole number"),
        ("width", "2", "width is &#39;2&#39;; give a width above 0"),
        ("width", "0,1", "width is &#39;0,1&#39;; give a width above 0"),
    ],
)
def test_a_wrong_number_of_the_plan_is_told_beside_it(site, visit, field, text, words):
    ada = visit("ada", every="editor")
    page = ada.get(f"{begun(ada)}?{field}={text}").text
    assert words in page[page.index('id="plan-fault"') :]
    assert "It can be published" in page


def test_the_plan_calls_questions_by_their_texts(site, visit):
    """Guards: a verdict named attributes where people had written a question."""
    ada = visit("ada", every="editor")
    path = begun(ada)
    change(ada, path, **{"q0-question": "Coffee?"})
    page = ada.get(f"{path}?n=40&beside=now").text
    plan = page[page.index('data-live="plan"') :].partition("</details>")[0]
    assert "“Coffee?”" in plan.partition("</p>")[0]
    assert "question-1" not in plan


def test_numbers_of_the_plan_go_along_from_tab_to_tab(site, visit):
    ada = visit("ada", every="editor")
    path = begun(ada)
    for tab in ("", "&as=yaml"):
        page = unescaped(ada.get(f"{path}?n=54321&width=0.3{tab}").text)
        assert f'href="/dashboard{path}/publish?n=54321&width=0.3"' in page
    page = ada.get(f"{path}/publish?n=54321&width=0.3").text
    assert "with 54,321 respondents" in page
    refused = ada.send(f"{path}/publish?n=54321", on=f"{path}/publish", revision="9")
    assert refused.status_code == 422
    assert "with 54,321 respondents" in refused.text
    sent = {"from": "yaml", "yaml": str(manifest(site, path)), "revision": "1"}
    saved = ada.send(f"{path}?n=54321", on=path, **sent)
    assert saved.headers["Location"] == f"/dashboard{path}?n=54321"


def test_looking_saves_nothing(site, visit):
    ada = visit("ada", every="editor")
    path = begun(ada)
    before = manifest(site, path)
    answer = change(ada, path, do="look", **{"s-title": "Another title", "n": "77"})
    assert answer.status_code == 200
    assert "Not saved yet" in answer.text
    assert "With 77 respondents" in answer.text or "with 77 respondents" in answer.text
    assert "<h1>Another title" in unescaped(answer.text)
    assert manifest(site, path) == before


def test_two_editors_do_not_overwrite_each_other_and_lose_nothing(site, visit):
    ada, bob = visit("ada", every="editor"), visit("bob", every="editor")
    path = begun(ada)
    mine = filled(bob, path, **{"s-title": "Bob’s title"})
    mine.pop("form_token")
    change(ada, path, **{"s-title": "Ada’s title"})
    late = bob.send(path, on=path, **mine)
    assert late.status_code == 412
    assert "<bdi>ada</bdi> has changed this draft" in late.text
    assert 'value="Bob’s title"' in late.text
    assert manifest(site, path)["title"] == "Ada’s title"
    yaml = {"from": "yaml", "yaml": "name: first\ntitle: Bob’s YAML", "revision": "1"}
    late = bob.send(path, on=path, **yaml)
    assert late.status_code == 412
    assert "Bob’s YAML" in late.text
    for act in ("publish", "delete"):
        late = bob.send(f"{path}/{act}", on=path, revision="1", read="yes")
        assert late.status_code in (412, 422), act
    assert manifest(site, path)["title"] == "Ada’s title"
    again = bob.send(path, on=path, **{**mine, "revision": "2"})
    assert again.status_code == 303
    assert manifest(site, path)["title"] == "Bob’s title"


def test_a_form_of_another_tool_becomes_a_draft_and_the_page_names_each_question(site, visit):
    ada = visit("ada", every="editor")
    form = xlsform(
        [("select_one yn", "smokes", "Do you smoke?"), ("text", "who", "Name & <b>?")],
        [("yn", "y", "Yes"), ("yn", "n", "No")],
    )
    fields = {"from": "file", "form": (io.BytesIO(form), "a form.xlsx"), "survey": "health"}
    shown = ada.send("/drafts/new", on="/drafts/new", **fields)
    assert shown.status_code == 200
    assert "1 question in the draft" in shown.text
    assert "It asks for free text" in shown.text
    path = re.search(r'class="button" href="/dashboard([^"]*)"', shown.text)[1]
    assert manifest(site, path)["name"] == "health"
    assert [one["name"] for one in manifest(site, path)["attributes"]] == ["smokes"]
    for file in ((io.BytesIO(b"%PDF-1.7"), "a.xlsx"), (io.BytesIO(b""), "")):
        fields = {"from": "file", "form": file, "survey": "kept"}
        refused = ada.send("/drafts/new", on="/drafts/new", **fields)
        assert refused.status_code == 422
        beside = refused.text[refused.text.index('id="refused-fault"') :].partition("</span>")[0]
        assert ("a PDF file" if file[1] else "There is no file") in beside
        assert 'value="kept"' in refused.text


def test_a_draft_begins_with_the_sample_s_questions_and_is_published(site, visit):
    ada = visit("ada", every="editor")
    assert "With sample questions" in ada.get("/drafts/new").text
    path = begun(ada, **FIRST, questions="sample")
    sample = parse_yaml(sample_manifest().encode())
    assert manifest(site, path) == {**sample, **FIRST, "version": 1}
    page = ada.get(path)
    assert "It can be published" in page.text
    assert "euros" in page.text
    draft = site.services.drafts.find(path.rpartition("/")[2])
    published = site.services.drafts.publish(draft, revision=None)
    survey = site.services.surveys.published(published.row)
    assert [block.name for block in survey.together] == ["smoking", "awake"]
    assert [select.name for select in survey.selects] == ["awake"]
    assert survey.attribute("cigarettes").ask_if is not None
    assert survey.attribute("rent").number is not None


def test_yaml_is_pasted_uploaded_edited_and_keeps_what_a_form_does_not_know(site, visit):
    ada = visit("ada", every="editor")
    file = (io.BytesIO(sample_manifest().encode()), "survey.yaml")
    path = begun(ada, **{"from": "yaml", "file": file})
    change(ada, path, **{"s-title": "Changed"})
    kept = manifest(site, path)
    assert kept["title"] == "Changed"
    assert kept["population"]["income"]["logit"]["intercept"] == -1.8
    shown = ada.get(f"{path}?as=yaml").text
    assert "title: Changed" in shown
    assert "intercept: -1.8" in shown
    wrong = {"from": "yaml", "revision": "2", "yaml": "name: [first"}
    refused = ada.send(path, on=path, **wrong)
    assert refused.status_code == 422
    beside = refused.text[refused.text.index('id="refused-fault"') :].partition("</span>")[0]
    assert "not YAML" in beside
    assert "name: [first</textarea>" in refused.text
    right = {"from": "yaml", "revision": "2", "yaml": "name: work\nlater: {x: 1}"}
    assert ada.send(path, on=path, **right).status_code == 303
    assert manifest(site, path) == {"name": "work", "later": {"x": 1}}
    assert "the unknown key &#39;later&#39;" in ada.get(path).text


BOMB = "name: x\na: &a [1,1,1,1,1,1,1,1,1,1]\n" + "".join(
    f"{b}: &{b} [{','.join(['*' + a] * 10)}]\n" for a, b in zip("abcdef", "bcdefg", strict=True)
)


@pytest.mark.parametrize(
    ("yaml", "words"),
    [
        ("", "There is no manifest"),
        ("- a\n- b", "The manifest is no mapping"),
        ("name: A b", "name is &#39;A b&#39;"),
        ("title: x", "name is None"),
        ("{" + '"name": "x"' + "\0", "is no UTF-8 text (byte 12 is 0x00)"),
        (BOMB, "values; declare fewer categories"),
        ("name: x\ndescription: " + "x" * 2**18, "at most 262,144 are read"),
    ],
)
def test_a_manifest_that_cannot_be_read_is_told_beside_its_field(site, visit, yaml, words):
    ada = visit("ada", every="editor")
    refused = ada.send("/drafts/new", on="/drafts/new", **{"from": "yaml", "yaml": yaml})
    assert refused.status_code == 422
    beside = refused.text[refused.text.index('id="refused-fault"') :].partition("</span>")[0]
    assert words in beside
    assert site.services.drafts.all() == []


def test_readers_and_analysts_write_no_surveys_and_see_no_drafts(site, visit):
    site.publish()
    ada = visit("ada", every="editor")
    path = of_yaml(ada)
    own = begun(ada, name="other", title="Other")
    for role in ("reader", "analyst"):
        visitor = visit(role, work=role)
        for address in (path, f"{path}?as=yaml", f"{path}/publish"):
            assert visitor.get(address).status_code == 403, address
        assert visitor.get(own).status_code == 404
        assert visitor.get("/drafts/new").status_code == 403
        assert "New survey" not in visitor.get("/").text
        assert "Begin a new version" not in visitor.get("/surveys/work/versions/1").text
        for address in (
            path,
            f"{path}/publish",
            f"{path}/delete",
            "/drafts/new",
            "/surveys/work/versions/1/draft",
        ):
            refused = visitor.send(address, on="/", revision="1", name="work", title="x")
            assert refused.status_code in (403, 422), address
    assert len(site.services.drafts.all()) == 2


def test_an_editor_of_one_survey_writes_under_its_name_alone(site, visit):
    eve = visit("eve", home="editor")
    refused = eve.send("/drafts/new", on="/drafts/new", name="work", title="x")
    assert refused.status_code == 422
    assert "you are no editor of a survey of this name" in refused.text
    path = begun(eve, name="home", title="Home")
    renamed = change(eve, path, **{"s-name": "work"})
    assert renamed.status_code == 422
    beside = renamed.text[renamed.text.index('id="s-name-fault"') :].partition("</div>")[0]
    assert "you are no editor" in beside
    assert manifest(site, path)["name"] == "home"


def test_warnings_and_weak_protection_are_agreed_to_before_publishing(site, visit):
    ada = visit("ada", every="editor")
    path = of_yaml(ada, epsilon="60")
    page = f"{path}/publish"
    shown = ada.get(page).text
    assert "Answers that leave the device in clear: education (plain) and income" in shown
    refused = ada.send(page, on=page, revision="1")
    assert "read the warnings, and say so here" in refused.text
    refused = ada.send(page, on=page, revision="1", read="yes")
    assert "lower epsilon, or say so here" in refused.text
    assert site.services.surveys.all() == []
    assert ada.send(page, on=page, revision="1", read="yes", weak="yes").status_code == 303
    assert site.row().version == 1


def test_the_next_version_begins_on_the_page_of_a_published_one(site, visit):
    site.publish()
    ada = visit("ada", work="editor")
    begin = "/surveys/work/versions/1"
    assert ">Answers that leave the device in clear: education (plain) and" in ada.get(begin).text
    answer = ada.send(f"{begin}/draft", on=begin)
    path = answer.headers["Location"].removeprefix("/dashboard")
    assert manifest(site, path)["version"] == 2
    assert "It can be published" in ada.get(path).text
    change(ada, path, **{"s-version": "1", "s-title": "Other"})
    assert "publish this as version 2" in ada.get(path).text
    assert ada.send(f"{path}/delete", on=path, revision="2").status_code == 303
    assert site.services.drafts.all() == []


def test_the_page_of_a_draft_waits_for_no_plan_and_no_preview(site, visit, monkeypatch):
    ada = visit("ada", every="editor")
    path = begun(ada)

    def not_yet(*_given, **_more):
        raise AssertionError("this is no part of the request of a page")

    with monkeypatch.context() as patched:
        for name in ("launch_plan", "rendered", "publishing_warnings"):
            patched.setattr(outlook, name, not_yet)
        page = ada.get(f"{path}?beside=later")
    assert page.status_code == 200
    assert "It can be published; its warnings come by themselves." in page.text
    assert "data-busy>It comes by itself." in page.text  # by which the script asks for them
    assert f'{path}?beside=now">Show it now</a></noscript>' in page.text
    assert "<iframe" not in page.text
    looked = change(ada, path, do="look").text
    assert "<iframe" in looked
    assert "data-busy" not in looked


def test_a_draft_of_a_busy_server_is_shown_without_its_plan(site, visit, monkeypatch):
    monkeypatch.setattr(outlook, "LOOK_SECONDS", 0.01)
    ada = visit("ada", every="editor")
    path = begun(ada)
    with site.services.surveys.looking.take():
        page = ada.get(path)
    assert page.status_code == 200
    assert "data-busy>The server checks other drafts just now" in page.text
    assert 'value="First"' in page.text


def test_drafts_are_saved_and_published_while_others_are_looked_at(site, visit, monkeypatch):
    monkeypatch.setattr(outlook, "LOOK_SECONDS", 0.01)
    ada = visit("ada", every="editor")
    form, pasted = begun(ada), of_yaml(ada)
    yaml = write_yaml({**manifest(site, pasted), "title": "Pasted again"})
    with site.services.surveys.looking.take(), site.services.plans.turns.take():
        assert change(ada, form, **{"s-title": "Saved"}).status_code == 303
        fields = {"from": "yaml", "yaml": yaml, "revision": "1"}
        assert ada.send(pasted, on=f"{pasted}?as=yaml", **fields).status_code == 303
        published = site.post(SURVEYS, json=make_draft())
    assert published.status_code == 201
    assert manifest(site, form)["title"] == "Saved"
    assert manifest(site, pasted)["title"] == "Pasted again"


def test_a_draft_is_not_published_where_its_warnings_could_not_be_told(site, visit, monkeypatch):
    ada = visit("ada", every="editor")
    path = of_yaml(ada)
    assert "I have read the warnings" in ada.get(f"{path}/publish").text
    token = token_on(ada, path)
    looks = []

    def busy_at_first(manifest, form, **more):
        looks.append(manifest)
        if len(looks) > 1:
            return outlook_of(manifest, form, **more)
        with site.services.surveys.looking.take(), monkeypatch.context() as brief:
            brief.setattr(turns, "WAIT_SECONDS", 0.01)
            return outlook_of(manifest, form, **more)

    monkeypatch.setattr(views, "outlook_of", busy_at_first)
    sent = ada.client.post(f"/dashboard{path}/publish", data={"form_token": token, "revision": "1"})
    assert sent.status_code == 422
    assert "Nothing was published; publish again" in sent.text
    assert "I have read the warnings" in sent.text
    assert site.services.surveys.all() == []


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("title: !!binary aGVsbG8=", "tag:yaml.org,2002:binary"),
        ("title: !!set {a, b}", "tag:yaml.org,2002:set"),
        ("title: !!timestamp 2026-01-01", "tag:yaml.org,2002:timestamp"),
        ("epsilon: !!float .nan", "give a finite one"),
        ("epsilon: 1e999", "give a finite one"),
        ("epsilon: " + "9" * 5_000, "correct the number"),
        ('title: "\\ud800"', "cannot be written in UTF-8"),
        # 3 GB as JSON
        (f"a: &a {'x' * 200_000}\nb: [{','.join(['*a'] * 15_000)}]", "each counted where"),
        ("a: &a [*a]", "more than 262,144 values"),
    ],
)
def test_yaml_that_is_no_json_or_stands_for_too_much_is_refused(site, visit, line, words):
    ada = visit("ada", every="editor")
    fields = {"from": "yaml", "yaml": f"name: work\n{line}\n"}
    answer = ada.send("/drafts/new", on="/drafts/new", **fields)
    assert answer.status_code == 422
    assert words in answer.text
    assert site.services.drafts.all() == []


def test_a_draft_whose_questions_have_no_names_is_shown_with_its_problems(site, visit):
    ada = visit("ada", every="editor")
    path = of_yaml(ada, attributes=[{"name": ["a"]}, {"name": {}, "categories": [1]}])
    page = ada.get(path)
    assert page.status_code == 200
    assert "before it can be published" in page.text
    assert change(ada, path, do="add").status_code == 303
    # what a form cannot have been given is not stored
    change(ada, path, **{"s-kept": '{"title": "\\ud800"}'})
    assert ada.get(path).status_code == 200


def test_what_the_form_cannot_show_is_told_in_its_place(site, visit):
    ada = visit("ada", every="editor")
    number = {"low": 0, "high": 100, "anchors": [0, 50, 100]}
    question = {"name": "rent", "role": "sensitive", "number": number, "ends": ["a"], "later": 1}
    path = of_yaml(ada, attributes=[question])
    page = ada.get(path).text
    assert re.findall(r'<p class="field" id="([^"]*)"', page) == ["q0-low", "q0-end-first"]
    assert not {"q0-low", "q0-high", "q0-amount", "q0-end-last"} & set(FIELD.findall(page))
    assert "to be changed as YAML: <code><bdi>later</bdi></code>." in page
    assert change(ada, path, **{"s-title": "Rents"}).status_code == 303
    kept = manifest(site, path)
    assert (kept["title"], kept["attributes"]) == ("Rents", [question])


def of_many_answers():
    """A survey of 30 questions with 20 answers each, in two translations besides its own words."""
    numbers = range(1, 31)
    words = {
        "de": ("Eine große Umfrage", "Was trifft auf Bereich {0} zu?", "Antwort {1} auf Frage {0}"),
        "fr": (
            "Une grande enquête",
            "Qu’en est-il de l’axe {0} ?",
            "Réponse {1} à la question {0}",
        ),
    }

    def answers(pattern, number):
        return [pattern.format(number, answer) for answer in range(1, 21)]

    return {
        "language": "en",
        "attributes": [
            {
                "name": f"area-{number}",
                "role": "sensitive",
                "question": f"Which of these describes your situation in area {number} best?",
                "categories": answers("Answer {1} to question {0}", number),
                "missing": "Prefer not to say",
            }
            for number in numbers
        ],
        "translations": {
            code: {
                "title": title,
                "attributes": {
                    f"area-{number}": {
                        "question": question.format(number),
                        "categories": answers(pattern, number),
                        "missing": "–",
                    }
                    for number in numbers
                },
            }
            for code, (title, question, pattern) in words.items()
        },
        "protected": {
            "attribute": "area-1",
            "privileged": "Answer 1 to question 1",
            "unprivileged": "Answer 2 to question 1",
        },
    }


def test_form_has_an_input_for_each_part_of_a_value_in_the_manifests_table(visit):
    ada = visit("ada", every="editor")
    inputs = set(FIELD.findall(ada.get(of_yaml(ada)).text))
    assert inputs >= {f"q0-{name}" for name in (*QUESTION.controls, "weight")}
    assert inputs >= {f"s-{name}" for name in SURVEY_FORM.controls if name != "weight"}


def test_the_page_of_a_large_draft_is_small_and_has_one_table_of_translations(site, visit):
    ada = visit("ada", every="editor")
    path = of_yaml(ada, **of_many_answers())
    before = manifest(site, path)
    page = ada.get(path)
    linked = sorted(set(re.findall(r'(?:href|src)="([^"]*/page/[^"]+)"', page.text)))
    files = [ada.client.get(address).get_data() for address in linked]
    assert len(files) >= 3
    assert "It can be published" in page.text
    assert "srcdoc=" in page.text
    # Uncompressed, and with all that it loads: 30 questions, each with the fields of
    # follow-ups, select-alls, matrices, numbers, help texts and ends, and its text in the plan.
    assert len(page.get_data()) + sum(map(len, files)) < 522_000
    assert 'name="t0-q29-a19"' in page.text
    assert 'name="t1-q29-a19"' not in page.text
    assert change(ada, path).status_code == 303
    assert manifest(site, path) == before
    # What the closed table says goes along with changes of the survey.
    changes = {"q0-name": "first", "t0-q0-a0": "Ja", "do": "open-fr"}
    opened = change(ada, path, **changes)
    assert opened.headers["Location"].endswith("&words=fr#t1")
    after = manifest(site, path)
    assert after["translations"]["de"]["attributes"]["first"]["categories"][0] == "Ja"
    french = before["translations"]["fr"]["attributes"]
    assert after["translations"]["fr"]["attributes"]["first"] == french["area-1"]
    path = opened.headers["Location"].removeprefix("/dashboard").partition("#")[0]
    page = ada.get(path)
    assert 'name="t1-q29-a19"' in page.text
    assert 'name="t0-q29-a19"' not in page.text
    kept = change(ada, path, **{"t1-q0-missing": ""}).headers["Location"]
    assert kept.endswith("&words=fr")
    # A problem of a closed table is told beside the button that opens it.
    text = ada.get(path.replace("words=fr", "words=de")).text
    beside = text[text.index('id="t1-fault"') :].partition("</div>")[0]
    assert "translate &#39;Prefer not to say&#39;" in beside
    assert '<a href="#t1">' in text
