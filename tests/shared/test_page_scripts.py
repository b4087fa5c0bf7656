"""The digest of a page's scripts changes with all that runs, and foreign scripts are named."""

from __future__ import annotations

import pytest

from hushpoll_shared.page_scripts import ForeignScripts, entry_of, hash_of, scripts_of

FILES = {
    "page/main.js": b'import{a}from"../parts/chunk-A.js";export default()=>import("../parts/b.js")',
    "page/worker.js": b"self.x=1",
    "parts/chunk-A.js": b"import '../parts/c.js';export const a=1",
    "parts/b.js": b'import("./gone.js")',
    "parts/c.js": b"c",
    "parts/unused.js": b"nothing imports this",
}
PAGE = (
    '<html><body><script type="module" src="/x/page/1/page/main.js"></script>'
    '<script type="application/json" id="words">{}</script></body></html>'
)


def digest(**changes: bytes) -> str:
    files = FILES | changes
    return hash_of(scripts_of(files.get))


def test_all_that_is_imported_counts_and_nothing_else() -> None:
    assert sorted(scripts_of(FILES.get)) == sorted(set(FILES) - {"parts/unused.js"})
    whole = digest()
    for path in FILES:
        changed = digest(**{path: FILES[path] + b" "})
        assert (changed == whole) == (path == "parts/unused.js"), path
    assert digest(**{"parts/gone.js": b""}) != whole


def test_an_import_out_of_the_folder_and_endless_imports_are_refused() -> None:
    outside = FILES | {"page/main.js": b'import "../../other.js"'}
    with pytest.raises(ForeignScripts, match=r"imports \.\./other\.js, outside"):
        scripts_of(outside.get)
    with pytest.raises(ForeignScripts, match="more than 200 scripts"):
        scripts_of(lambda path: f'import "./{path.rpartition("/")[2]}x.js"'.encode())


def test_the_entry_is_the_one_script_of_the_page() -> None:
    assert entry_of(PAGE) == "/x/page/1/page/main.js"


@pytest.mark.parametrize(
    ("added", "named"),
    [
        ("<script>x</script>", "a script inside the page"),
        ('<script type="text/javascript">x</script>', "a script inside the page"),
        ('<script src="/other.js"></script>', "runs /x/page/1/page/main.js, /other.js"),
        ('<p onclick="x">', "the attribute onclick of p"),
        ('<a href=" JavaScript:x">', "the address ' JavaScript:x' of a"),
        ("<iframe>", "the element iframe"),
        ('<base href="https://x.example">', "the element base"),
        ('<meta http-equiv="Refresh" content="0">', "a meta element that leads elsewhere"),
    ],
)
def test_what_else_runs_is_named(added: str, named: str) -> None:
    with pytest.raises(ForeignScripts) as caught:
        entry_of(PAGE + added)
    assert named in str(caught.value)
    assert "do not answer on it" in str(caught.value)


def test_a_page_without_a_survey_is_told() -> None:
    with pytest.raises(ForeignScripts, match="give the address of a survey that is open"):
        entry_of("<html></html>")
    with pytest.raises(ForeignScripts, match="a page of a release runs one script"):
        entry_of('<script src="/a.js"></script>')
