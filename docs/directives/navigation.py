"""The tree of all pages beside each page, made once for the whole site.

Furo asks Sphinx for it anew at each page, which goes through the headings of all pages, and parses
what it gets: half of the time of a build. Between two pages it differs by the folder from which its
links lead, and by the entries that are marked as the current ones.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from furo.navigation import get_navigation_tree
from sphinx.environment.adapters.toctree import global_toctree_for_doc

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_TAG = re.compile(r'(<li class="[^"]*">|</li>|<a class="[^"]*" href="[^"]*">|<input [^>]*/>)')
_LINK = re.compile(r'<a class="([^"]*)" href="([^"]*)">')


@dataclass
class _Entry:
    """An entry of the tree: where in the pieces its tags stand, and the entries that hold it."""

    item: int
    above: tuple[_Entry, ...]
    link: int = -1
    checkbox: int = -1


@dataclass
class Tree:
    """The navigation as pieces of HTML, every second one of them a tag that may change.

    Parameters
    ----------
    html : str
        The tree as the front page shows it, with the theme's checkboxes.
    """

    html: str
    pieces: list[str] = field(init=False)
    entries: dict[str, list[_Entry]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.pieces = _TAG.split(self.html)
        open_entries: list[_Entry] = []
        for at, piece in enumerate(self.pieces):
            if piece.startswith("<li "):
                open_entries.append(_Entry(at, tuple(open_entries)))
            elif piece == "</li>":
                open_entries.pop()
            elif piece.startswith("<input "):
                open_entries[-1].checkbox = at
            elif found := _LINK.fullmatch(piece):
                open_entries[-1].link = at
                self.entries.setdefault(found[2], []).append(open_entries[-1])

    def beside(self, address: str) -> str:
        """Return the tree for the page at an address, as seen from the front page."""
        pieces, upwards = self.pieces.copy(), "../" * address.count("/")
        if upwards:
            for at in range(1, len(pieces), 2):
                found = _LINK.fullmatch(pieces[at])
                if found and "://" not in found[2]:
                    pieces[at] = f'<a class="{found[1]}" href="{upwards}{found[2]}">'
        # A page may stand in two lists; the last of its entries is where the reader is.
        here = self.entries.get(address, [])
        for entry in here:
            pieces[entry.link] = pieces[entry.link].replace('class="', 'class="current ', 1)
        for entry in {id(one): one for leaf in here for one in (*leaf.above, leaf)}.values():
            more = " current current-page" if entry is here[-1] else " current"
            pieces[entry.item] = pieces[entry.item].replace('">', f'{more}">')
            if entry.checkbox >= 0:
                pieces[entry.checkbox] = pieces[entry.checkbox].replace(
                    "<input ", '<input checked="" ', 1
                )
        return "".join(pieces)


def add_to(app: Sphinx) -> None:
    """Give each page its tree, and the theme none to make."""
    trees: list[Tree] = []

    def tree() -> Tree:
        if not trees:
            found = global_toctree_for_doc(
                app.env,
                app.config.root_doc,
                app.builder,
                tags=app.builder.tags,
                includehidden=True,
                maxdepth=-1,
                titles_only=True,
            )
            html = app.builder.render_partial(found)["fragment"]  # type: ignore[attr-defined]
            trees.append(Tree(get_navigation_tree(html)))
        return trees[0]

    def leave_out(_app: Sphinx, _page: str, _template: str, context: Any, _tree: object) -> None:
        context.pop("toctree", None)

    def put_in(app: Sphinx, page: str, _template: str, context: Any, _tree: object) -> None:
        context["furo_navigation_tree"] = tree().beside(app.builder.get_target_uri(page))

    # The theme's own handler has the priority 500.
    app.connect("html-page-context", leave_out, priority=400)
    app.connect("html-page-context", put_in, priority=600)
