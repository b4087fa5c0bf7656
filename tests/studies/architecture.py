"""Writes what docs/architecture.md takes from the code: picture, rooms, the way of one report.

Rooms and their lines are the packages and the first lines of their docstrings. The way of one
report is what `studies.trace_report` finds.

    scripts/architecture            rewrites docs/architecture.md and docs/images/architecture.svg
    scripts/architecture --check    says what would change, and ends with code 1 if anything would
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import tempfile
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

from studies.trace_report import trace

ROOT: Final = Path(__file__).resolve().parents[2]
PAGE: Final = ROOT / "docs" / "architecture.md"
PICTURE: Final = ROOT / "docs" / "images" / "architecture.svg"
PACKAGES: Final = {
    "hushpoll_protocols": "protocols",
    "hushpoll_shared": "shared",
    "hushpoll_client": "client",
    "hushpoll_fleet": "client",
    "hushpoll_analysis": "server",
    "hushpoll_training": "server",
    "hushpoll_lab": "server",
    "hushpoll_server": "server",
}
# The processes of the way, in the order in which a report meets them.
PROCESSES: Final = {
    "device": "the device",
    "hushpoll_server.processes.ingest": "the ingest process",
    "hushpoll_server.processes.web": "the web process",
    "hushpoll_server.cli.worker": "the worker",
    "hushpoll_server.jobs.apart": "the job's process",
    "analyst": "the analyst's client",
}
# The server's rooms, from those that call to those that are called.
SERVER_ROWS: Final = (
    ("processes", "cli"),
    ("dashboard", "public_pages", "api"),
    ("ingest", "http", "pages", "jobs"),
    ("services",),
    ("store", "survey_reports"),
    ("config", "charts", "translations"),
)
# The picture's columns, from the top; both stand on the packages that they share.
CLIENT_SIDE: Final = ("hushpoll_fleet", "hushpoll_client")
SERVER_SIDE: Final = ("hushpoll_server", "hushpoll_lab", "hushpoll_training", "hushpoll_analysis")
BOTH_SIDES: Final = ("hushpoll_shared", "hushpoll_protocols")
MARGIN: Final = 20
COLUMN: Final = 440
GAP: Final = 30  # between boxes, for an arrow
NOTES: Final = (
    "An arrow means: imports. What lies further along the arrows may be imported too.",
    "The two sides meet over HTTP alone. "
    "The browser's client (client/hushpoll_client_js) is JavaScript and shares no code.",
)
ARROWS: Final = (
    ("hushpoll_fleet", "hushpoll_client"),
    ("hushpoll_client", "hushpoll_shared"),
    ("hushpoll_server", "hushpoll_training"),
    ("hushpoll_lab", "hushpoll_training"),
    ("hushpoll_training", "hushpoll_analysis"),
    ("hushpoll_analysis", "hushpoll_shared"),
    ("hushpoll_shared", "hushpoll_protocols"),
)


def rooms(package: str) -> dict[str, str]:
    """Return the rooms of a package and what is in each: the first line of its docstring."""
    folder = ROOT / PACKAGES[package] / package
    return {
        path.parent.name: first_line(path)
        for path in sorted(folder.glob("*/__init__.py"))
        if any(other.name != "__init__.py" for other in path.parent.rglob("*.py"))
    }


def first_line(path: Path) -> str:
    """Return the first line of a module's docstring, in Markdown."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0].replace("``", "`")


def imported_rooms(path: Path, package: str) -> set[str]:
    """Return the rooms of a package from which a module imports."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    modules = [
        f"{node.module}.{name.name}".split(".")
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module
        for name in node.names
    ]
    return {module[1] for module in modules if module[0] == package and len(module) > 1}


def table_of_rooms() -> str:
    """Return a table of all packages and rooms."""
    lines = ["| room | what is in it |", "|---|---|"]
    for package, folder in PACKAGES.items():
        path = ROOT / folder / package / "__init__.py"
        lines.append(f"| **`{folder}/{package}`** | {first_line(path)} |")
        lines += [f"| `{room}/` | {line} |" for room, line in rooms(package).items()]
    return "\n".join(lines)


def way(ran: dict[str, list[str]]) -> str:
    """Return the modules that ran: a table of their numbers, and a list for each process."""
    packages = [package for package in PACKAGES if any(_of(ran, package))]
    lines = [
        f"| package | {' | '.join(PROCESSES.values())} | together |",
        "|---|" + "---|" * (len(PROCESSES) + 1),
    ]
    for package in packages:
        numbers = [len(_of(ran, package, process)) or "" for process in PROCESSES]
        cells = " | ".join(map(str, [*numbers, len(_of(ran, package))]))
        lines.append(f"| `{package}` | {cells} |")
    for process, title in PROCESSES.items():
        lines += ["", f"**In {title}:**", ""]
        for package in packages:
            names = [
                f"`{module.removeprefix(package).removeprefix('.') or package}`"
                for module in _of(ran, package, process)
            ]
            if names:
                lines.append(f"- `{package}`: {', '.join(names)}")
    return "\n".join(lines)


def _of(ran: dict[str, list[str]], package: str, process: str | None = None) -> list[str]:
    return sorted(
        module
        for module, processes in ran.items()
        if module.partition(".")[0] == package and (process is None or process in processes)
    )


def modules_on_the_page(page: str, title: str | None = None) -> set[str]:
    """Return the modules that the page lists, for one process or for all of them."""
    part = section(page, "way")
    if title is not None:
        part = part.partition(f"**In {title}:**\n\n")[2].partition("\n\n**")[0]
    modules = set()
    for package, names in re.findall(r"^- `(\w+)`: (.*)$", part, re.MULTILINE):
        for name in re.findall(r"`([\w.]+)`", names):
            modules.add(package if name == package else f"{package}.{name}")
    return modules


def section(page: str, name: str) -> str:
    """Return what stands between the marks of a section."""
    return page.partition(f"<!-- {name} -->\n")[2].partition(f"\n<!-- end of {name} -->")[0]


def replaced(page: str, name: str, text: str) -> str:
    """Return the page with another text between the marks of a section."""
    before, mark, rest = page.partition(f"<!-- {name} -->\n")
    _, end, after = rest.partition(f"\n<!-- end of {name} -->")
    if not mark or not end:
        raise ValueError(f"{PAGE.name} has no marks of the section {name}")
    return before + mark + text + end + after


def picture() -> str:
    """Return the drawing of packages, rooms and arrows, as SVG."""
    shapes: list[str] = []
    tops: dict[str, int] = {}
    bottoms: dict[str, int] = {}
    middles: dict[str, int] = {}
    columns = (
        (CLIENT_SIDE, MARGIN, COLUMN),
        (SERVER_SIDE, 3 * MARGIN + COLUMN, COLUMN),
        (BOTH_SIDES, MARGIN, 2 * COLUMN + 2 * MARGIN),
    )
    for packages, left, width in columns:
        top = MARGIN if packages is not BOTH_SIDES else max(bottoms.values()) + GAP
        for package in packages:
            tops[package] = top
            middles[package] = left + width // 2
            bottoms[package] = _box(shapes, package, left, top, width)
            top = bottoms[package] + GAP
    for source, target in ARROWS:
        shapes.append(_arrow(middles[source], bottoms[source], middles[source], tops[target]))
    height = max(bottoms.values())
    for note in NOTES:
        height += 24
        shapes.append(_text(middles["hushpoll_shared"], height, note, "note", "middle"))
    height += MARGIN
    style = (
        "text{font-family:system-ui,-apple-system,'DejaVu Sans',sans-serif;fill:#1b1f24}"
        ".title{font-size:15px;font-weight:600}.room{font-size:13px}"
        ".note{font-size:13px;fill:#57606a}"
        ".package{fill:#f6f8fa;stroke:#8c959f}.chip{fill:#fff;stroke:#afb8c1}"
        ".arrow{stroke:#0550ae;stroke-width:2;fill:none;marker-end:url(#head)}"
    )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 960 {height}" width="960"'
            f' height="{height}" role="img" aria-label="Packages, rooms and what imports what">',
            f"<style>{style}</style>",
            '<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7"'
            ' markerHeight="7" orient="auto"><path d="M0 0L10 5L0 10z" fill="#0550ae"/>'
            "</marker></defs>",
            f'<rect width="960" height="{height}" rx="8" fill="#ffffff"/>',
            *shapes,
            "</svg>\n",
        ]
    )


def _box(shapes: list[str], package: str, x: int, y: int, width: int) -> int:
    """Draw a package with its rooms; return its lower edge."""
    names = list(rooms(package))
    if package == "hushpoll_server":
        rows = [[name for name in row if name in names] for row in SERVER_ROWS]
        missing = set(names) - {name for row in rows for name in row}
        if missing:
            raise ValueError(f"no row of the picture has {', '.join(sorted(missing))}")
    else:
        rows = _rows(names, width)
    height = 40 + len(rows) * (52 if package == "hushpoll_server" else 34) + 6
    if package == "hushpoll_server":
        height -= 18
    start = len(shapes)
    shapes.append(_text(x + 14, y + 25, package, "title"))
    top = y + 38
    for number, row in enumerate(rows):
        left = x + 14
        if package == "hushpoll_server":
            left = x + (width - sum(_chip_width(n) + 10 for n in row) + 10) // 2
        for name in row:
            wide = _chip_width(name)
            shapes.append(_rectangle("chip", left, top, wide, 26))
            shapes.append(_text(left + wide // 2, top + 18, name, "room", "middle"))
            left += wide + 10
        if package == "hushpoll_server" and number + 1 < len(rows):
            shapes.append(_arrow(x + width // 2, top + 28, x + width // 2, top + 50))
        top += 52 if package == "hushpoll_server" else 34
    shapes.insert(start, _rectangle("package", x, y, width, height))
    return y + height


def _rows(names: list[str], width: int) -> list[list[str]]:
    rows: list[list[str]] = [[]]
    used = 0
    for name in names:
        if used + _chip_width(name) > width - 28:
            rows.append([])
            used = 0
        rows[-1].append(name)
        used += _chip_width(name) + 10
    return rows


def _chip_width(name: str) -> int:
    return 20 + 8 * len(name)


def _rectangle(kind: str, x: int, y: int, width: int, height: int) -> str:
    return f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{height}" rx="6"/>'


def _text(x: int, y: int, text: str, kind: str, anchor: str = "start") -> str:
    return f'<text class="{kind}" x="{x}" y="{y}" text-anchor="{anchor}">{escape(text)}</text>'


def _arrow(x1: int, y1: int, x2: int, y2: int) -> str:
    return f'<path class="arrow" d="M{x1} {y1}L{x2} {y2}"/>'


def main() -> None:
    """Rewrite the page and the picture, or say what would change."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="Change nothing.")
    parser.add_argument("--no-trace", action="store_true", help="Leave the way of one report.")
    options = parser.parse_args()
    page = PAGE.read_text(encoding="utf-8")
    new = replaced(page, "rooms", table_of_rooms())
    if not options.no_trace:
        with tempfile.TemporaryDirectory() as folder:
            new = replaced(new, "way", way(trace(Path(folder))))
    drawn = picture()
    stale = [
        path.relative_to(ROOT)
        for path, text in ((PAGE, new), (PICTURE, drawn))
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    if not options.check:
        PAGE.write_text(new, encoding="utf-8")
        PICTURE.write_text(drawn, encoding="utf-8")
    for path in stale:
        print(f"{path} {'is not up to date' if options.check else 'rewritten'}")
    if options.check and stale:
        sys.exit(1)


if __name__ == "__main__":
    main()
