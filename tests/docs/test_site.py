"""The documentation as a site: built without a warning, whole, accessible, offline."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import expect

from dashboard_browser import COLOURS, chromium, violations

# One page of each section, and what its look may break: wide tables, code, formulas, results.
OF_EACH_SECTION = (
    "index.html",
    "tutorial/first-survey.html",
    "how-to/plan-a-survey.html",
    "explanation/which-epsilon.html",
    "protocols/olh.html",
    "reference/http.html",
    "results/statistics.html",
    "notebooks/simulate-and-estimate.html",
    "project/newcomer.html",
)
# What makes a browser fetch something by itself, and by which attribute.
LOADS = {
    ("audio", "src"),
    ("embed", "src"),
    ("iframe", "src"),
    ("img", "src"),
    ("img", "srcset"),
    ("input", "src"),
    ("link", "href"),
    ("object", "data"),
    ("script", "src"),
    ("source", "src"),
    ("source", "srcset"),
    ("track", "src"),
    ("use", "href"),
    ("video", "src"),
    ("video", "poster"),
}


class Page(HTMLParser):
    """The links, the ids and the loads of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.ids: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("id", "name"):
                self.ids.add(value or "")
            elif (tag, name) in LOADS:
                self.loads.append(value or "")
            elif (tag, name) == ("a", "href"):
                self.links.append(value or "")


@pytest.fixture(scope="module")
def site(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as ``scripts/docs`` builds it."""
    folder = tmp_path_factory.mktemp("site")
    options = ["--fail-on-warning", "--keep-going", "--quiet"]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *options, root / "docs", folder],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path) for path in sorted(site.rglob("*.html"))}


def outside(address: str) -> bool:
    return bool(urlsplit(address).netloc)


def inner_links(pages: dict[Path, Page], site: Path) -> Iterator[tuple[Path, Path, str, str]]:
    """Each link to this site: its page, the file that it leads to, the anchor, and as it stands."""
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if not parts.scheme and not parts.netloc:
                target = path if not parts.path else path.parent / unquote(parts.path)
                target = target.resolve()
                assert target.is_relative_to(site.resolve()), f"{path.name} links to {link}"
                yield path, target, unquote(parts.fragment), link


def test_no_page_loads_anything_from_another_host(pages: dict[Path, Page], site: Path) -> None:
    for path, page in pages.items():
        for load in page.loads:
            assert not outside(load), f"{path.relative_to(site)} loads {load}"
            if not load.startswith(("data:", "#")):
                file = path.parent / unquote(urlsplit(load).path)
                assert file.is_file(), f"{path.relative_to(site)} loads {load}, which is not there"


def test_no_style_sheet_loads_anything_from_another_host(site: Path) -> None:
    for path in site.rglob("*.css"):
        text = path.read_text(encoding="utf-8")
        for mark in ("url(http", 'url("http', "url('http", "url(//", "@import"):
            assert mark not in text, f"{path.name} has {mark}"


def test_every_link_and_anchor_leads_somewhere(pages: dict[Path, Page], site: Path) -> None:
    known = {path.resolve(): page for path, page in pages.items()}
    for path, target, anchor, link in inner_links(pages, site):
        if target.is_dir():
            target = target / "index.html"
        where = f"{path.relative_to(site)} links to {link}"
        assert target.is_file(), where
        if anchor and target in known:
            assert anchor in known[target].ids, where


def test_every_page_is_reached_from_the_front_page(pages: dict[Path, Page], site: Path) -> None:
    reached, waiting = set(), [(site / "index.html").resolve()]
    follow: dict[Path, set[Path]] = {}
    for path, target, _, _ in inner_links(pages, site):
        follow.setdefault(path.resolve(), set()).add(target)
    while waiting:
        page = waiting.pop()
        if page not in reached:
            reached.add(page)
            waiting += follow.get(page, set())
    # The search is reached by its form, and the index of all names by no link of this theme.
    others = {(site / name).resolve() for name in ("search.html", "genindex.html")}
    assert {path.resolve() for path in pages} - others <= reached


def test_notebooks_ran_and_are_offered(site: Path, root: Path) -> None:
    for notebook in sorted((root / "docs" / "notebooks").glob("*.ipynb")):
        document = json.loads(notebook.read_text(encoding="utf-8"))
        cells = [cell for cell in document["cells"] if cell["cell_type"] == "code"]
        assert cells
        assert not any(cell["outputs"] for cell in cells), f"{notebook.name} is kept with outputs"
        page = (site / "notebooks" / notebook.with_suffix(".html").name).read_text(encoding="utf-8")
        assert page.count('class="cell docutils container"') == len(cells)
        assert "cell_output" in page
        assert list((site / "_downloads").rglob(notebook.name))


def test_search_knows_words_of_every_part(site: Path) -> None:
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    for name in ("reference/manifest", "protocols/olh", "notebooks/train-and-read-fairness"):
        assert f'"{name}"' in index


def test_titles_have_the_words_that_users_of_other_tools_look_for(site: Path) -> None:
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    document = json.loads(index[index.index("(") + 1 : index.rindex(")")])
    titles = " ".join(document["alltitles"])
    for words in ("Select all that apply", "Excel", "GDPR", "SPSS", "Stata", "consent", "epsilon"):
        assert words.casefold() in titles.casefold(), words
    assert "r" in document["titleterms"]
    # A search shows the main entries of the index first.
    for words in ("logistic regression", "delete a respondent's answers", "epsilon"):
        assert document["indexentries"][words][0][2] is True


def test_pages_are_accessible_in_both_themes_and_the_search_finds_offline(site: Path) -> None:
    """A theme changes colours and nothing else, so the dark one is asked about colours alone."""
    found = {}
    with chromium() as browser:
        for theme, rules in (("light", None), ("dark", COLOURS)):
            window = browser.new_context(
                color_scheme=theme, offline=True, viewport={"width": 360, "height": 800}
            )
            page = window.new_page()
            for name in OF_EACH_SECTION:
                page.goto((site / name).as_uri())
                found[theme, name] = violations(page, rules)
            page.goto((site / "search.html").as_uri() + "?q=randomised+response")
            results = page.get_by_role("main").get_by_role("link")
            expect(results.filter(has_text="What local differential privacy is")).to_be_visible()
            found[theme, "search"] = violations(page, rules)
            window.close()
    assert {where: rules for where, rules in found.items() if rules} == {}
