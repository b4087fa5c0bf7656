"""Formulas as MathML, which browsers draw without a script; docutils translates them from LaTeX."""

from __future__ import annotations

from typing import TYPE_CHECKING

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.writers.html5 import HTML5Translator


def add_to(app: Sphinx) -> None:
    """Make the renderer known as ``mathml``."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))


def _inline(writer: HTML5Translator, node: nodes.math) -> None:
    writer.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def _block(writer: HTML5Translator, node: nodes.math_block) -> None:
    drawn = tex2mathml(node.astext(), as_block=True)
    # It scrolls where it is wide, by the keyboard too.
    writer.body.append(f'<div class="formula" tabindex="0">{drawn}</div>')
    raise nodes.SkipNode
