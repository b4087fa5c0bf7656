"""Codebooks as JSON."""

from typing import Literal, TypedDict


class CodebookShare(TypedDict):
    """The share of an answer, with its interval."""

    estimate: float
    standard_error: float | None
    lower: float | None
    upper: float | None


class CodebookAnswer(TypedDict):
    """An answer: its code in exports, its words by language, its kind, and its share."""

    code: int
    words: dict[str, str]
    kind: Literal["answer", "skipped", "not asked"]
    share: CodebookShare | None


class CodebookText(TypedDict):
    """What is read of a question in one language; of an option or an item also what is asked."""

    asked: str | None
    question: str
    help: str | None
    section: str | None
    unit: str | None


class CodebookLaw(TypedDict):
    """By which law a question was randomised; p and q are null where answers differ in theirs."""

    domain: int
    parameters: dict[str, str]
    p: float | None
    q: float | None
    realized_epsilon: str


class CodebookQuestion(TypedDict):
    """A question of a codebook."""

    name: str
    role: str
    select: str | None
    block: str | None
    draw: str | None
    asked_if: dict[str, list[str]]
    protocol: str | None
    epsilon: str | None
    law: CodebookLaw | None
    how_to_debias: str
    n: int | None
    texts: dict[str, CodebookText]
    answers: list[CodebookAnswer]


class CodebookDocument(TypedDict):
    """Every question of a survey version in every language, how it was sent, and its shares."""

    survey: str
    version: int
    digest: str
    titles: dict[str, str]
    epsilon: str
    reports: int | None
    confidence: float | None
    intervals: str | None
    questions: list[CodebookQuestion]
