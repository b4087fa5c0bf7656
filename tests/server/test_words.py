"""In which language the hosted page says its own words, and how its parts are marked."""

from __future__ import annotations

import json
import re

import pytest
from markupsafe import Markup

from hushpoll_server.words import Words, catalogues, words_for
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.spelling.number_texts import SPELLED_LANGUAGES
from hushpoll_shared.survey.consequences import ENGLISH
from sample_survey import make_draft

TITLES = {"de": "Arbeit", "nl": "Werk"}
EMBEDDED = re.compile(r'<script type="application/json" id="words">(.*?)</script>', re.DOTALL)


# Words do not depend on the database.
pytestmark = pytest.mark.sqlite


def worded(*translations):
    return {
        "language": "en",
        "title": "Work",
        **(
            {"translations": {tag: {"title": TITLES[tag]} for tag in translations}}
            if translations
            else {}
        ),
        "attributes": [{"name": "fit", "role": "sensitive", "categories": ["+", "-"]}],
        "protected": None,
    }


def test_every_catalogue_has_the_keys_of_the_english_one():
    english = catalogues()["en"]
    assert set(catalogues()) == {"de", "en", "es", "fr"}
    for language, words in catalogues().items():
        assert words.script["language"] == language
        assert (list(words.page), list(words.script)) == (list(english.page), list(english.script))


def test_every_catalogue_has_the_words_of_the_label_and_spells_numbers():
    assert set(catalogues()) == set(SPELLED_LANGUAGES)
    assert catalogues()["en"].label_texts == ENGLISH
    for words in catalogues().values():
        assert list(words.label) == [key for key in ENGLISH if key.startswith("label.")]


@pytest.mark.parametrize(
    ("tags", "language"),
    [
        (["de"], "de"),
        (["de-CH"], "de"),
        (["FR-ca"], "fr"),
        (["pt-BR"], "en"),
        ([None, "es"], "es"),
        (["nl", "fr"], "fr"),
        ([], "en"),
        (["<b>", ""], "en"),
    ],
)
def test_words_are_of_the_first_language_that_has_a_catalogue(tags, language):
    assert words_for(tags).language == language


def test_values_are_escaped_and_markup_is_not():
    words = Words("en", {"asked": "<Asked> by {who}"}, {})
    assert words.say("asked", who="<b>") == "&lt;Asked&gt; by &lt;b&gt;"
    assert words.say("asked", who=Markup("<b>A</b>")) == "&lt;Asked&gt; by <b>A</b>"


def test_words_in_a_page_cannot_end_their_element():
    text = "</script><script>"
    published = Manifest.from_dict(make_draft()).resolve()
    embedded = Words("de", {}, {"a": text}).embedded(published)
    assert "<" not in embedded
    assert json.loads(embedded) == {"a": text}


@pytest.mark.parametrize(
    ("translations", "query", "browser", "page", "texts"),
    [
        (["de"], "", "de-CH", "de", "de"),
        (["de"], "?lang=de", "en", "de", "de"),
        (["de"], "", "fr", "en", "en"),  # the page speaks as the survey does
        ([], "?lang=de", "en", "de", "en"),  # unless the address asks
        (["nl"], "?lang=nl", "fr", "en", "nl"),  # a language without a catalogue
        (["nl"], "?lang=fr", "nl", "fr", "nl"),
        (["de"], "?lang=<b>", None, "en", "en"),
    ],
)
def test_page_and_texts_are_marked_with_their_languages(
    site, translations, query, browser, page, texts
):
    site.publish(**worded(*translations))
    headers = {} if browser is None else {"Accept-Language": browser}
    text = site.get(f"/s/work{query}", headers=headers).text
    assert f'<html lang="{page}">' in text
    title = TITLES.get(texts, "Work")
    assert f'<title lang="{texts}">{title}</title>' in text
    assert f'<h1 lang="{texts}">{title}</h1>' in text
    assert str(catalogues()[page].say("go_on")) in text
    embedded = EMBEDDED.findall(text)
    if page == "en":
        assert embedded == []  # the script has them
    else:
        (words,) = [json.loads(one) for one in embedded]
        whole = catalogues()[page].script
        assert words == {key: whole[key] for key in words}
        # What it does not have, such as draws and blocks, it has no words of.
        assert {key.partition(".")[0] for key in whole if key not in words} == {
            *("beliefs", "block", "draw", "drawn", "guess", "level", "limit", "number", "people"),
            *("receipt", "review", "truth", "error", "invited", "fault", "none_selected"),
            *("follow_up", "not_asked", "clear_hint", "kept"),
        }


YES = {"role": "sensitive", "protocol": "GRR", "categories": ["no", "yes"]}
MANY = {"role": "sensitive", "categories": [*"uvwxyz"]}
RICH = {
    "shared_device": True,
    "submission": "invited",
    "minimum_batch": 1,
    "release": "immediate",
    "attributes": [
        *({"name": name} | YES for name in "abc"),
        {"name": "pay", "role": "sensitive", "protocol": "GRR", "number": {"low": 0, "high": 99}},
        {"name": "some", "protocol": "SS"} | MANY,
        {"name": "any", "protocol": "OLH"} | MANY,
        {"name": "town", "role": "plain", "categories": ["here", "there"]},
    ],
    "together": [{"name": "ab", "attributes": ["a", "b"]}],
    "draws": [{"name": "drawn", "blocks": ["ab", "c"], "answer": 1}],
}
FOLLOWED = {
    "attributes": [
        {"name": "smoker"} | YES,
        {"name": "often", "ask_if": {"smoker": ["yes"]}} | YES,
        {
            "name": "drinks",
            "role": "sensitive",
            "categories": ["tea", "milk"],
            "protocol": "GRR",
            "select": {},
        },
    ],
}


def test_surveys_have_the_words_of_what_they_use_and_all_words_are_of_some():
    whole = catalogues()["de"]
    rich, followed = (
        json.loads(
            whole.embedded(
                Manifest.from_dict(
                    {"name": "w", "version": 1, "title": "W", "epsilon": "2"} | draft
                ).resolve()
            )
        )
        for draft in (RICH, FOLLOWED)
    )
    assert rich | followed == whole.script
    assert {key.partition(".")[0] for key in followed if key not in rich} == {
        *("fault", "follow_up", "guess", "kept", "limit", "none_selected", "not_asked"),
        "review",
    }
    assert not {"small_batch", "released_at_once", "kept.question", "truth.among"} & set(followed)


def test_a_language_that_no_survey_states_is_unknown_on_a_page_that_is_not_english(site):
    survey = worded()
    del survey["language"]
    site.publish(**survey)
    assert '<h1 lang="">Work</h1>' in site.get("/s/work?lang=fr", headers={}).text
    assert "<h1>Work</h1>" in site.get("/s/work", headers={}).text


@pytest.mark.parametrize(
    ("address", "browser", "language"),
    [
        ("/s/none", "de-AT, en;q=0.5", "de"),
        ("/s/none?lang=fr", "de", "fr"),
        ("/s/none", "pt", "en"),
        ("/s/none", None, "en"),
    ],
)
def test_a_notice_is_in_the_language_of_the_address_or_of_the_browser(
    site, address, browser, language
):
    headers = {} if browser is None else {"Accept-Language": browser}
    answer = site.get(address, headers=headers)
    assert answer.status_code == 404
    assert answer.headers["Vary"] == "Accept-Language"
    assert f'<html lang="{language}">' in answer.text
    assert str(catalogues()[language].say("notice.unknown-survey")) in answer.text
