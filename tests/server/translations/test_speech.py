"""The catalogues of reports and charts: every text in each language, and its numbers."""

from __future__ import annotations

import ast
import re
from importlib import resources
from string import Formatter

import pytest
from jinja2 import Environment, nodes

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.charts import figures, regressions
from hushpoll_server.charts.sentences import TOO_NOISY_WORDS
from hushpoll_server.public_pages import public_results
from hushpoll_server.services.surveys.surveys import State
from hushpoll_server.survey_reports.content import headlines, promise, summaries
from hushpoll_server.survey_reports.markup import captions, page
from hushpoll_server.translations.speech import (
    ENGLISH,
    LANGUAGES,
    catalogue,
    check_language,
    counted,
    said,
    say,
    speaking,
    whole,
)
from hushpoll_shared.queries import ordered_answers

OTHERS = [one for one in LANGUAGES if one != ENGLISH]
SAYS = {"say", "say_html", "counted", "counted_words"}
NOTICES = ("charts", "survey_reports", "pages", "translations")
OF_TABLES = {
    ordered_answers.ANYWHERE,
    captions.RANDOMISED,
    TOO_NOISY_WORDS,
    headlines.TOO_NOISY,
    headlines.CANNOT_TELL,
    summaries.UNKNOWN,
    summaries._BY_MIDDLE,
    *summaries._MEANS.values(),
    regressions.READ_RATIOS,
    regressions.READ_SLOPES,
    *page._SPLITS.values(),
    *page._RELEASES.values(),
    *promise.PROTOCOL_NAMES.values(),
    *(text for notice in public_results._NOTICES.values() for text in notice),
    *(state.value for state in State),
}


def said_in_python(source: str) -> set[str]:
    """The texts that a module says: first arguments, of which one may be chosen by a condition."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in SAYS:
            for argument in node.args:
                found |= {
                    one.value
                    for one in ast.walk(argument)
                    if isinstance(one, ast.Constant)
                    and isinstance(one.value, str)
                    and (one is argument or isinstance(argument, ast.IfExp))
                }
    return found


def said_in_template(source: str) -> set[str]:
    calls = Environment().parse(source).find_all(nodes.Call)
    said = [one for one in calls if getattr(one.node, "name", "") in ("say", "counted")]
    texts = [text for one in said for text in one.args if isinstance(text, nodes.Const)]
    return {text.value for text in texts}


def files(package, ending):
    folder = resources.files("hushpoll_server") / package
    stack = [folder]
    while stack:
        for entry in stack.pop().iterdir():
            if entry.is_dir():
                stack.append(entry)
            elif entry.name.endswith(ending) and entry.name != "privacy_sheet.py":
                yield entry.read_text(encoding="utf-8")


def texts_said() -> set[str]:
    found = set(OF_TABLES)
    for package in NOTICES:
        for source in files(package, ".py"):
            found |= said_in_python(source)
    for source in files("survey_reports", "report.html"):
        found |= said_in_template(source)
    return found


def places(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


@pytest.mark.parametrize("language", OTHERS)
def test_catalogue_has_every_text_that_is_said_and_no_other(language):
    assert set(catalogue(language).texts) == texts_said()


@pytest.mark.parametrize("language", OTHERS)
def test_translation_has_the_values_of_its_text_and_other_words(language):
    known = catalogue(language)
    assert set(known.sentences) == set(catalogue("de").sentences)
    for english, own in {**known.texts, **known.sentences}.items():
        assert places(own) == places(english), english
        assert own.strip(), english
        assert (english[-1:] == ".") == (own[-1:] == "."), english


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", ["25.1 %", "0 to 14 %", "about 0 %", "+1.2 points", "12,345", "95 %"]),
        ("de", ["25,1 %", "0 bis 14 %", "etwa 0 %", "+1,2 Punkte", "12.345", "95 %"]),
        ("fr", ["25,1 %", "0 à 14 %", "environ 0 %", "+1,2 points", "12 345", "95 %"]),
        ("es", ["25,1 %", "0 a 14 %", "alrededor del 0 %", "+1,2 puntos", "12.345", "95 %"]),
    ],
)
def test_figures_have_the_marks_of_their_language(language, words):
    with speaking(language):
        told = [
            figures.share_figure(0.2512, 0.2432, 0.2592),
            figures.share_limits(-0.1, 0.14),
            figures.share_figure(-0.2, -0.4, -0.1),
            figures.points_figure(0.012, 0.001, 0.02),
            whole(12345),
            figures.level(0.95),
        ]
    assert [re.sub("[\u00a0\u202f]", " ", one) for one in told] == words
    # the space before the sign does not break, and is narrow outside of English
    assert told[0][-2] == ("\u00a0" if language == "en" else "\u202f")


def test_four_digits_stand_together_in_spanish_alone():
    told = {}
    for language in LANGUAGES:
        with speaking(language):
            told[language] = whole(1234)
    assert told == {"en": "1,234", "de": "1.234", "fr": "1\u202f234", "es": "1234"}


def test_nothing_is_counted_as_one_in_french_alone():
    told = {}
    for language in ("de", "fr"):
        with speaking(language):
            told[language] = counted(0, "{number} cross-table", "{number} cross-tables")
    assert told == {"de": "0 Kreuztabellen", "fr": "0 tableau croisé"}


def test_sentences_of_a_result_are_said_by_the_text_that_they_are_instances_of():
    verdict = (
        "1,200 reports at epsilon 1.5 can tell 2 of 3 parts of this result. They are too noisy to "
        "tell age and job; the noisiest is a share of age: its 95 % interval is expected to reach "
        "31.5 percentage points to either side, and tells something if it reaches at most 12.5 "
        "percentage points. About 9,000 reports would be enough at this epsilon; with these "
        "reports an epsilon of 3 would be, which protects weakly."
    )
    with speaking("de"):
        told = said(verdict)
    assert told.replace("\u202f", " ") == (
        "1.200 Berichte mit Epsilon 1,5 reichen für 2 von 3 Teilen dieses Ergebnisses. "
        "Zu ungenau sind sie für age und job, am meisten für einen Anteil von age: "
        "Ihr Intervall zu 95 % reicht erwartungsgemäß 31,5 Prozentpunkte nach jeder Seite, und es "
        "sagt etwas aus, wenn es höchstens 12,5 Prozentpunkte reicht. Etwa 9.000 Berichte würden "
        "bei diesem Epsilon reichen; mit diesen Berichten würde ein Epsilon von 3 reichen, das "
        "schwach schützt."
    )


def test_sentence_without_a_text_stays_as_it_is_and_language_ends_with_its_block():
    with speaking("fr"):
        assert said("Nobody has written this sentence to anybody.").startswith("Nobody")
        assert say("Median") == "Médiane"
    assert say("Median") == "Median"


def test_language_without_words_is_refused_with_those_that_there_are():
    with pytest.raises(InvalidParameter, match=r"language is 'tlh'; there are words in en, de"):
        check_language("tlh")
