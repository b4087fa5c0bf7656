"""The mechanism by which a statistic is declared once fits into one small room."""

import ast
import io
import tokenize
from pathlib import Path

import hushpoll_shared.querying

MOST = 600
"""Lines of code: those with a token that is no comment, and that belong to no docstring."""

LAYOUT = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENDMARKER,
}  # fmt: skip


def lines_of_code(text: str) -> int:
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in LAYOUT:
            lines |= set(range(token.start[0], token.end[0] + 1))
    for statement in ast.walk(ast.parse(text)):
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            lines -= set(range(statement.lineno, (statement.end_lineno or 0) + 1))
    return len(lines)


def test_lines_of_code_are_those_that_are_no_blank_comment_or_docstring():
    text = '"""Of two\nlines."""\n\n# a comment\ndef f(\n    a,\n):\n    """Say."""\n'
    text += '    return """\n\n"""\n'
    assert lines_of_code(text) == 6


def test_mechanism_has_fewer_than_600_lines_of_code():
    room = Path(hushpoll_shared.querying.__file__).parent
    counted = {one.name: lines_of_code(one.read_text("utf-8")) for one in room.rglob("*.py")}
    assert len(counted) > 5
    assert sum(counted.values()) < MOST, counted
