"""Parts of our HTML pages: one file, no script, no request to anybody; readable without colours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

_STYLE: Final = """
:root { --ink: #1b1f24; --soft: #57606a; --line: #d0d7de; --mark: #0b5cad; --other: #9a4d00;
  --paper: #fff; --tint: #f6f8fa; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #a0abb7; --line: #3d444d;
  --mark: #6cb6ff; --other: #f0a35e; --paper: #0d1117; --tint: #161b22; } }
* { box-sizing: border-box; }
body { font: 16px/1.55 system-ui, sans-serif; max-width: 62rem; margin: 0 auto;
  padding: 2rem 1.25rem 4rem; color: var(--ink); background: var(--paper); }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .25rem; }
h2 { font-size: 1.25rem; margin: 2.5rem 0 .5rem; padding-top: .75rem;
  border-top: 1px solid var(--line); }
h3 { font-size: 1.05rem; margin: 1.75rem 0 .25rem; }
p, li { max-width: 46rem; }
.soft, caption { color: var(--soft); }
code { font-size: .9em; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .3rem 1.25rem; margin: 1rem 0; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
.wide { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .92rem; }
caption { text-align: left; padding: 0 0 .4rem; font-size: .92rem; }
th, td { padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--line); text-align: right;
  vertical-align: top; }
th { font-weight: 600; } thead th { border-bottom: 2px solid var(--line); }
tbody th { font-weight: 400; }
th:first-child, td:first-child, td.text, th.text { text-align: left; }
td.text, th.text { max-width: 26rem; }
.range { color: var(--soft); white-space: nowrap; font-size: .9em; }
.why { color: var(--soft); font-size: .9em; }
.note { background: var(--tint); border-left: 4px solid var(--mark); padding: .6rem 1rem;
  margin: 1rem 0; }
figure { margin: 1.25rem 0; } svg { max-width: 100%; height: auto; display: block; }
svg text { fill: var(--ink); font: 13px system-ui, sans-serif; }
svg .axis { stroke: var(--line); } svg .fair { stroke: var(--soft); stroke-dasharray: 4 3; }
svg .ldp { stroke: var(--mark); fill: var(--mark); }
svg .baseline { stroke: var(--other); fill: var(--other); }
svg .tick { fill: var(--soft); font-size: 12px; }
@media (max-width: 40rem) { dl { grid-template-columns: 1fr; } dt { margin-top: .5rem; } }
@media print { body { max-width: none; padding: 0; } h2 { break-after: avoid; }
  tr, figure { break-inside: avoid; } }
"""


def page(title: str, body: Iterable[str]) -> str:
    """Return a whole page; `body` is HTML, `title` is text."""
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            # whatever a record holds, the page asks nobody for anything and runs nothing
            '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
            "style-src 'unsafe-inline'\">",
            f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body><main>",
            *body,
            "</main></body></html>",
            "",
        ]
    )


def table(
    caption: str,
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    text: Sequence[int] = (),
) -> str:
    """Return a table whose first column heads its rows.

    Parameters
    ----------
    caption, headings : str, sequence of str
        Text.
    rows : iterable of sequences of str
        HTML cells.
    text : sequence of int
        Columns of text, which are set to the left and may wrap; others are numbers.
    """

    def kind(at: int) -> str:
        return ' class="text"' if at in text else ""

    head = "".join(
        f'<th scope="col"{kind(at)}>{escape(one)}</th>' for at, one in enumerate(headings)
    )
    body = "".join(
        "<tr>"
        + "".join(
            f'<th scope="row"{kind(at)}>{cell}</th>' if at == 0 else f"<td{kind(at)}>{cell}</td>"
            for at, cell in enumerate(row)
        )
        + "</tr>"
        for row in rows
    )
    return (
        # focusable, so that a keyboard can scroll what is wider than the screen
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(caption)}"><table>'
        f"<caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table></div>"
    )


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Return a list of terms (text) and what they are (HTML)."""
    return "<dl>" + "".join(f"<dt>{escape(a)}</dt><dd>{b}</dd>" for a, b in pairs) + "</dl>"
