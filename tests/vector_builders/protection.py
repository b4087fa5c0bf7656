"""What a respondent is told about protection, word for word, on the device and in the browser."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from hushpoll_client.device.preview import build_preview
from hushpoll_client.device.sentences import (
    factor,
    guess_sentence,
    protection_of_question,
    truth_sentence,
)
from hushpoll_protocols import PROTOCOLS, create
from hushpoll_protocols.odds import posterior_bounds
from hushpoll_server.words import catalogues
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.spelling.base64url import b64encode
from hushpoll_shared.survey.consequences import label_of, say_label
from hushpoll_shared.survey.protection import question_level, survey_level
from hushpoll_shared.survey.published import Published
from hushpoll_shared.wire import voprf
from hushpoll_shared.wire.invitations import key_info
from vector_builders.document import Group, write
from vector_builders.surveys import (
    DRAWS,
    FOLLOW_UP_ALONE,
    FOLLOW_UP_CHAIN,
    FOLLOW_UPS,
    SELECTS,
    TOGETHER,
    WORDED,
    in_one_block,
)

EPSILONS = (
    *("0.000001", "0.01", "0.1", "0.5", "0.693147180559", "0.693147180561", "1", "1.000000000001"),
    *("2.302585092994", "2.302585092995", "2.999999999999", "3", "4.605170185988", "5.5", "8"),
    *("8.000000000001", "13.815510557964", "13.815510557965", "20", "60", "64"),
)
PARTS = (
    *(["1"], ["0.5", "0.5"], ["0.5", "0.500000000001"], ["2", "2"], ["2.999999999999"], ["3"]),
    *(["2", "2", "2"], ["2", "2", "1.999999999999"], ["8"], ["8", "8"], ["8", "8", "0.000001"]),
    *(["8.000000000001"], ["1"] * 16, ["1"] * 17, ["32", "32"]),
)
QUESTION_SIZES = (2, 3, 5, 74)
QUESTION_EPSILONS = ("0.1", "0.5", "1", "2.5", "4", "9", "20", "60")
SURVEYS: tuple[dict[str, Any], ...] = (
    {
        "epsilon": "1",
        "attributes": [
            {"name": "smokes", "role": "sensitive", "protocol": "GRR", "categories": ["no", "yes"]}
        ],
    },
    {
        "epsilon": "6",
        "attributes": [
            {
                "name": "smokes",
                "role": "sensitive",
                "protocol": "GRR",
                "categories": ["no", "yes"],
                "missing": "not said",
                "question": "Do you smoke?",
            },
            {"name": "age", "role": "sensitive", "protocol": "OLH", "range": [18, 90]},
            {"name": "town", "role": "plain", "categories": ["Oslo", "Delft"]},
        ],
    },
    {
        "epsilon": "40",
        "attributes": [
            {"name": "a", "role": "sensitive", "protocol": "THE", "range": [1, 4]},
            {"name": "b", "role": "sensitive", "protocol": "OUE", "range": [1, 4]},
        ],
    },
)

# How many reports are released at once, and when.
RELEASES: tuple[dict[str, Any], ...] = (
    *({"release": term} for term in ("daily", "weekly", "end", "immediate")),
    *({"minimum_batch": least} for least in (1, 19, 20)),
    {"release": "immediate", "minimum_batch": 5, "epsilon": "9"},
)

INVITED: dict[str, Any] = {"submission": "invited"}

PAIR_EPSILONS = ("0.2", "2", "5", "12", "40")


def _pairs() -> Iterator[dict[str, Any]]:
    """Surveys of two questions, each of another protocol."""
    names = list(PROTOCOLS)
    for first, second in zip(names, [*names[1:], names[0]], strict=True):
        for epsilon in PAIR_EPSILONS:
            yield {
                "epsilon": epsilon,
                "split": {"weights": {"a": 1, "b": 3}},
                "attributes": [
                    {"name": "a", "role": "sensitive", "protocol": first, "range": [1, 2]},
                    {"name": "b", "role": "sensitive", "protocol": second, "range": [1, 3]},
                ],
            }


def _published(number: int, draft: dict[str, Any]) -> Published:
    """Return a survey as a server publishes it: an invited one with a key."""
    published = Manifest.from_dict(
        {"name": f"survey-{number}", "version": 1, "title": f"Survey {number}"} | draft
    ).resolve()
    if published.submission != "invited":
        return published
    key = voprf.DeriveKeyPair(bytes(32), key_info(published.name, published.version))
    return replace(published, invitation_key=b64encode(key.pkS))


def build(folder: Path) -> None:
    """Write protection.json."""
    write(
        folder / "protection.json",
        "Levels of protection, bounds on beliefs, and the sentences made of them.",
        [_levels(), _factors(), _posteriors(), _questions(), _previews(), _labels()],
    )


def _labels() -> Group:
    group = Group(
        "labels",
        "Who can learn what, in each language of the page's words.",
        {
            "published": "the published form",
            "hosted": "whether the scripts come from the survey's server",
            "said": "by language: title, heads, rows (party, in clear, randomised, why), notes",
        },
    )
    one = SURVEYS[0]
    drafts = (
        (one, False),
        (SURVEYS[1] | {"submission": "token", "minimum_batch": 1500}, True),
        (SURVEYS[2] | {"release": "end"}, True),
        (one | {"epsilon": "8.1", "release": "immediate", "submission": "token"}, False),
        (SURVEYS[2] | {"epsilon": "15", "release": "weekly"}, False),
        (FOLLOW_UP_CHAIN | {"epsilon": "3"}, True),
        (SELECTS, True),
        (DRAWS, False),
        (SURVEYS[1] | INVITED, True),
        (one | INVITED | {"release": "end"}, False),
    )
    for number, (draft, hosted) in enumerate(drafts, 1):
        published = _published(number, draft)
        label = label_of(published, hosted=hosted)
        said = {}
        for language, words in catalogues().items():
            text = say_label(label, words.label_texts, language)
            rows = [[row.party, row.clear, row.randomised, row.why] for row in text.rows]
            said[language] = [text.title, list(text.heads), rows, list(text.notes)]
        group.add(published=published.to_dict(), hosted=hosted, said=said)
    return group


def _levels() -> Group:
    group = Group(
        "levels",
        "How a survey is called: 0 strong, 1 limited, 2 weak, 3 hardly protected.",
        {
            "parts": "epsilons of its questions, decimal strings",
            "questions": "level of each question",
            "survey": "level of the survey: the worst of the questions' and of their sum's",
        },
    )
    for parts in (*([one] for one in EPSILONS), *PARTS):
        epsilons = [Decimal(part) for part in parts]
        group.add(
            parts=parts,
            questions=[int(question_level(one)) for one in epsilons],
            survey=int(survey_level(epsilons)),
        )
    return group


def _factors() -> Group:
    group = Group(
        "factors",
        "By how much the odds of anything change at most: e^epsilon, rounded up.",
        {"epsilon": "decimal string", "factor": "as it is shown"},
    )
    for epsilon in EPSILONS:
        group.add(epsilon=epsilon, factor=factor(Decimal(epsilon)))
    return group


def _posteriors() -> Group:
    group = Group(
        "posteriors",
        "Beliefs afterwards, in thousandths.",
        {
            "epsilon": "decimal string",
            "prior": "the belief before: numerator and denominator",
            "low": "smallest belief afterwards, rounded down",
            "high": "largest belief afterwards, rounded up",
        },
    )
    for epsilon in EPSILONS:
        for prior in ((1, 100), (1, 10), (1, 3), (1, 2), (9, 10), (99, 100)):
            low, high = posterior_bounds(Fraction(*prior), Decimal(epsilon))
            group.add(epsilon=epsilon, prior=list(prior), low=low, high=high)
    return group


def _questions() -> Group:
    group = Group(
        "questions",
        "What is said of one question.",
        {
            "protocol": "name of the protocol",
            "k": "domain size",
            "epsilon": "decimal string",
            "parameters": "parameters as published",
            "sentences": "level, truth, limit, the three beliefs afterwards, best guess",
        },
    )
    for name in PROTOCOLS:
        for k in QUESTION_SIZES:
            for epsilon in QUESTION_EPSILONS:
                oracle = create(name, k=k, epsilon=epsilon)
                protection = protection_of_question(oracle.epsilon)
                group.add(
                    protocol=name,
                    k=k,
                    epsilon=epsilon,
                    parameters=dict(oracle.parameters),
                    sentences=[
                        protection.words,
                        truth_sentence(oracle),
                        protection.limit,
                        *(change.range for change in protection.changes),
                        guess_sentence(oracle, oracle.disclosure().best_guess),
                    ],
                )
    return group


def _blocks() -> Iterator[dict[str, Any]]:
    """Surveys of a block, of each protocol at some epsilons; and of two blocks."""
    for name in PROTOCOLS:
        for epsilon in ("0.4", "2", "9"):
            yield in_one_block(name) | {"epsilon": epsilon}
    yield TOGETHER


def _follow_ups() -> Iterator[dict[str, Any]]:
    """Surveys of a follow-up alone, of each protocol at some epsilons; and in and out of blocks."""
    for name in PROTOCOLS:
        for epsilon in ("0.4", "2", "9"):
            yield FOLLOW_UP_ALONE | {
                "epsilon": epsilon,
                "attributes": [{**one, "protocol": name} for one in FOLLOW_UP_ALONE["attributes"]],
            }
    yield FOLLOW_UP_ALONE | {"epsilon": "60"}
    for name in ("GRR", "SS", "OUE"):
        for epsilon in ("0.8", "4", "50"):
            yield FOLLOW_UP_CHAIN | {"protocol": name, "epsilon": epsilon}
    yield FOLLOW_UPS


def _previews() -> Group:
    group = Group(
        "previews",
        "The whole preview of a survey, without answers.",
        {
            "published": "the published form",
            "language": "the language that it is shown in; absent for the survey's own",
            "preview": "the text",
        },
    )
    terms = (SURVEYS[0] | some for some in RELEASES)
    invited = (SURVEYS[1] | INVITED, SURVEYS[0] | INVITED | {"release": "immediate"})
    drafts = (*SURVEYS, *_pairs(), *terms, *_blocks(), *_follow_ups(), *invited)
    for number, draft in enumerate(drafts, 1):
        published = _published(number, draft)
        group.add(published=published.to_dict(), preview=str(build_preview(published, None)))
    published = Manifest.from_dict(WORDED).resolve()
    for language in published.languages:
        preview = str(build_preview(published, None, language))
        group.add(published=published.to_dict(), language=language, preview=preview)
    return group
