"""The codebook of a survey: every question in every language, how it was sent, and its shares.

It says of each question the block, the protocol and its law, epsilon and how to de-bias what is
exported; shares are those of the last release, with their intervals.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Final, Literal

from hushpoll_analysis.records.laws import law_of
from hushpoll_protocols.estimation.marginals import UnevenSets
from hushpoll_server.survey_reports.markup.shown import Sheet
from hushpoll_shared.queries.estimates import EstimatedShares
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.questions.attributes import PublishedAttribute
from hushpoll_shared.survey.randomization.budget import (
    total_epsilon,
)
from hushpoll_shared.survey.wording import Wording
from hushpoll_shared.wire.documents.codebook import (
    CodebookAnswer,
    CodebookDocument,
    CodebookLaw,
    CodebookQuestion,
    CodebookShare,
    CodebookText,
)

CODEBOOK: Final = Sheet("codebook")
MEDIA_TYPES: Final = {
    "json": "application/json",
    "md": "text/markdown",
    "html": "text/html",
}
_UNNAMED: Final = "und"
"""The language of a survey that does not state it, as BCP 47 has it."""
_EXPORTED: Final = (
    "In `hushpoll export --content debiased` its columns are unbiased already: the mean of a "
    "column is the share, and that of a weighted one the weighted share."
)


def codebook(published: Published, shares: EstimatedShares | None) -> CodebookDocument:
    """Return the codebook of a survey, with the shares of its last release, if there is any."""
    words = {language: published.wording(language) for language in published.languages or (None,)}
    found = {} if shares is None else {one.name: one for one in shares.attributes}
    questions: list[CodebookQuestion] = []
    for place, attribute in enumerate(published.attributes):
        estimated = found.get(attribute.name)
        rows = None if estimated is None else {row.category: row for row in estimated.categories}
        answers: list[CodebookAnswer] = []
        for code, category in enumerate(attribute.domain):
            row = None if rows is None else rows.get(category)
            share: CodebookShare | None = None
            if row is not None:
                share = {
                    "estimate": row.frequency,
                    "standard_error": row.standard_error,
                    "lower": row.lower,
                    "upper": row.upper,
                }
            answers.append(
                {
                    "code": code,
                    "words": {
                        language or _UNNAMED: one.domains[place][code]
                        for language, one in words.items()
                    },
                    "kind": _kind(attribute, code),
                    "share": share,
                }
            )
        texts: dict[str, CodebookText] = {
            language or _UNNAMED: {
                "asked": _asked(published, attribute.name, one),
                "question": one.questions[place],
                "help": one.helps[place] if place < len(one.helps) else None,
                "section": one.sections[place] if place < len(one.sections) else None,
                "unit": one.units[place] if place < len(one.units) else None,
            }
            for language, one in words.items()
        }
        question: CodebookQuestion = {
            "name": attribute.name,
            "role": attribute.role,
            "select": next(
                (one.name for one in published.selects if attribute.name in one.attributes), None
            ),
            "block": attribute.block,
            "draw": attribute.draw,
            "asked_if": {} if attribute.ask_if is None else attribute.ask_if.to_dict(),
            "protocol": None if attribute.oracle is None else attribute.oracle.name,
            "epsilon": None if attribute.epsilon is None else f"{attribute.epsilon:f}",
            "law": _law(published, attribute),
            "how_to_debias": _debiasing(published, attribute),
            "n": None if estimated is None else estimated.n or _n(shares),
            "texts": texts,
            "answers": answers,
        }
        questions.append(question)
    return {
        "survey": published.name,
        "version": published.version,
        "digest": published.digest,
        "titles": {language or _UNNAMED: one.title for language, one in words.items()},
        "epsilon": f"{total_epsilon(published.budget.values()):f}",
        "reports": _n(shares),
        "confidence": None if shares is None else shares.confidence,
        "intervals": None if shares is None else shares.intervals,
        "questions": questions,
    }


def _asked(published: Published, name: str, words: Wording) -> str | None:
    """Return what is asked of all options or items of which a question is one."""
    heads = [
        *((of.attributes, head) for of, head in zip(published.selects, words.selects, strict=True)),
        *(
            (of.attributes, head)
            for of, head in zip(published.matrices, words.matrices, strict=True)
        ),
    ]
    return next((head for of, head in heads if name in of), None)


def _n(shares: EstimatedShares | None) -> int | None:
    return None if shares is None else shares.n


def _kind(attribute: PublishedAttribute, code: int) -> Literal["answer", "skipped", "not asked"]:
    if code == attribute.missing_code:
        return "skipped"
    return "not asked" if code == attribute.not_asked_code else "answer"


def _law(published: Published, attribute: PublishedAttribute) -> CodebookLaw | None:
    oracle = attribute.oracle
    if oracle is None:
        return None
    law = law_of(published.answering([attribute.name]).attribute(attribute.name))
    p = q = None
    if law is not None and not isinstance(law, UnevenSets):
        p, q = float(law.p), float(law.q)
    return {
        "domain": oracle.k,
        "parameters": {name: str(value) for name, value in oracle.parameters.items()},
        "p": p,
        "q": q,
        "realized_epsilon": f"{oracle.realized_epsilon:f}",
    }


def _debiasing(published: Published, attribute: PublishedAttribute) -> str:
    law = _law(published, attribute)
    if law is None:
        return "It was sent in clear: the part of the records with an answer is its share."
    number = (
        " Its answers are the numbers beside which an answer lay; their mean is that of answers."
        if attribute.number is not None
        else ""
    )
    if law["p"] is None or law["q"] is None:
        return (
            f"It was randomised with others, in the block {attribute.block}, whose combinations "
            "are not equally many for each answer: no formula of one line de-biases it. "
            f"{_EXPORTED}{number}"
        )
    of = "records with the answer"
    if attribute.block is not None:
        of = f"combinations of the block {attribute.block} with the answer that a record supports"
    elif attribute.oracle is not None and attribute.oracle.name != "GRR":
        of = "records that support the answer (its 0/1 column)"
    p, q = law["p"], law["q"]
    return (
        f"With s, the number of {of} over the number of records, the share is "
        f"(s - {q:.9g}) / ({p:.9g} - {q:.9g}). {_EXPORTED}{number}"
    )


def codebook_file(document: CodebookDocument, form: str) -> bytes:
    """Return a codebook as a file of a form of `MEDIA_TYPES`."""
    makers: Mapping[str, Callable[[CodebookDocument], str]] = {
        "json": lambda one: json.dumps(one, indent=1, ensure_ascii=False, allow_nan=False) + "\n",
        "md": _markdown,
        "html": _html,
    }
    return makers[form](document).encode()


def _html(document: CodebookDocument) -> str:
    return CODEBOOK.html(
        book=document,
        title=next(iter(document["titles"].values())),
        languages=list(document["titles"]),
        facts=facts_of,
        share=share_words,
    )


def facts_of(question: CodebookQuestion) -> Iterator[tuple[str, str]]:
    """Yield what is said of a question, a name and a sentence each; what it lacks is left out."""
    yield "role", question["role"]
    for name, value in (
        ("option of", question["select"]),
        ("block", question["block"]),
        ("draw", question["draw"]),
    ):
        if value is not None:
            yield name, value
    if question["asked_if"]:
        yield (
            "asked if",
            "; ".join(f"{name} is {' or '.join(of)}" for name, of in question["asked_if"].items()),
        )
    law = question["law"]
    if law is None:
        yield "sent", "in clear"
    else:
        given = ", ".join(f"{name} {value}" for name, value in law["parameters"].items())
        chances = "" if law["p"] is None else f", p {law['p']:.9g}, q {law['q']:.9g}"
        yield (
            "sent",
            f"by {question['protocol']} over {law['domain']} values, epsilon {question['epsilon']}"
            f"{', ' + given if given else ''}{chances}",
        )
    yield "how to de-bias", question["how_to_debias"]
    if question["n"] is not None:
        yield "reports", f"{question['n']:,}"


def share_words(share: CodebookShare | None) -> tuple[str, str]:
    """Return a share and its interval as texts; empty where there is none."""
    if share is None:
        return "", ""
    lower, upper = share["lower"], share["upper"]
    interval = "" if lower is None or upper is None else f"{lower:.4f} to {upper:.4f}"
    return f"{share['estimate']:.4f}", interval


def _markdown(document: CodebookDocument) -> str:
    languages = list(document["titles"])
    titles = document["titles"].values()
    lines = [f"# Codebook: {_cell(next(iter(titles)))}", ""]
    lines += [
        f"{document['survey']} version {document['version']}, digest `{document['digest']}`, "
        f"epsilon {document['epsilon']}.",
        "",
        "There are no shares before the first release."
        if document["reports"] is None
        else f"Shares of {document['reports']:,} reports. {_cell(document['intervals'] or '')}",
    ]
    for question in document["questions"]:
        lines += ["", f"## {question['name']}", ""]
        for language, text in question["texts"].items():
            asked = f"{_cell(text['asked'])} – " if text["asked"] else ""
            told = f"- {language}: {asked}{_cell(text['question'])}"
            lines.append(told + (f" — {_cell(text['help'])}" if text["help"] else ""))
        lines.append("")
        lines += [f"- {name}: {_cell(words)}" for name, words in facts_of(question)]
        heads = ["code", *languages, "kind", "share", "interval"]
        lines += ["", f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
        for answer in question["answers"]:
            cells = [str(answer["code"]), *(answer["words"][one] for one in languages)]
            cells += [answer["kind"], *share_words(answer["share"])]
            lines.append(f"| {' | '.join(map(_cell, cells))} |")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """Return a text that is no mark-up: neither of Markdown's tables nor of HTML."""
    escaped = text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
    return " ".join(escaped.replace("[", "\\[").replace("*", "\\*").split())
