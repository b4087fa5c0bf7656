"""``hushpoll page-digest``: whether a server's page runs the scripts of a release."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urldefrag, urljoin, urlsplit

import click

from hushpoll_client.cli.options import server_module
from hushpoll_client.delivery.sessions import Sessions
from hushpoll_protocols.errors import TransportError, refusal_of
from hushpoll_shared.cli.terminal import FAILED, emit, json_option, reports_errors
from hushpoll_shared.page_scripts import ENTRY, ForeignScripts, entry_of, hash_of, scripts_of
from hushpoll_shared.spelling.json_values import JsonMembers

if TYPE_CHECKING:
    import requests

SECONDS: Final = 30.0
MOST_BYTES: Final = 4 * 2**20
_ASSETS: Final = "hushpoll_server.pages.assets"


@click.command("page-digest")
@click.argument("url", required=False)
@click.option("--local", is_flag=True, help="Of the scripts that are installed here.")
@json_option
@reports_errors
def page_digest(url: str | None, local: bool, as_json: bool) -> None:
    """Print the digest of the scripts that the page at URL runs, such as .../s/work-and-health.

    All surveys of a release have the same. With --local it is that of the scripts installed here,
    and with both they are compared: the exit code is 1 if they differ. It tells what this machine
    was sent just now; a server could send other scripts to others.
    """
    if url is None and not local:
        raise click.UsageError("Missing argument 'URL'; or give --local.")
    document: dict[str, Any] = {}
    lines = []
    if url is not None:
        scripts = _sent(url)
        document["page"] = _summary(scripts)
        lines.append(f"{document['page']['digest']}  {len(scripts)} scripts of {url}")
    if local:
        scripts = _installed()
        document["local"] = _summary(scripts)
        lines.append(f"{document['local']['digest']}  {len(scripts)} scripts installed here")
    same = None
    if url is not None and local:
        same = document["same"] = document["page"] == document["local"]
        lines.append(
            "They are the same."
            if same
            else "They differ: the page is of another release, was changed, or comes from a "
            "checkout in which scripts/bundle was not run."
        )
    emit(document, "\n".join(lines), as_json=as_json)
    if same is False:
        raise click.exceptions.Exit(FAILED)


def _summary(scripts: dict[str, bytes]) -> JsonMembers:
    return {
        "digest": hash_of(scripts),
        "files": len(scripts),
        "bytes": sum(map(len, scripts.values())),
    }


def _installed() -> dict[str, bytes]:
    files = server_module(_ASSETS, "hushpoll page-digest --local").assets().files
    return scripts_of(lambda path: files[path].body if path in files else None)


def _sent(url: str) -> dict[str, bytes]:
    address = urldefrag(url)[0]
    if urlsplit(address).scheme not in {"http", "https"}:
        raise refusal_of("URL")(
            f"is {url!r}; give the address of a hosted page, such as "
            "https://survey.example.org/s/work-and-health"
        )
    sessions = Sessions()
    try:
        session = sessions.current()
        html = _fetched(session, address)
        if html is None:
            raise TransportError(
                f"there is no page at {address}; check the address", retryable=False
            )
        entry = urljoin(address, entry_of(html.decode("utf-8", "replace")))
        if urlsplit(entry)[:2] != urlsplit(address)[:2]:
            raise ForeignScripts(f"the page runs {entry}, of another server; do not answer on it")
        root = entry.removesuffix(ENTRY)
        return scripts_of(lambda path: _fetched(session, urljoin(root, path)))
    finally:
        sessions.close()


def _fetched(session: requests.Session, address: str) -> bytes | None:
    """Return what is at an address of the server; None where it says that nothing is."""
    import requests

    try:
        with session.get(address, timeout=SECONDS, allow_redirects=False, stream=True) as answer:
            if answer.status_code in {404, 410}:
                return None
            if answer.status_code != requests.codes.ok:
                raise TransportError(
                    f"{address} was answered with {answer.status_code}; give the address of a "
                    "hosted page itself, and try again later if the server is busy",
                    retryable=False,
                )
            body = b""
            for piece in answer.iter_content(2**16):
                body += piece
                if len(body) > MOST_BYTES:
                    raise TransportError(
                        f"{address} has more than {MOST_BYTES} bytes, and is no file of a release",
                        retryable=False,
                    )
            return body
    except requests.RequestException as error:
        raise TransportError(
            f"{address} was not reached: {type(error).__name__}; check the address and the network",
            retryable=True,
        ) from None
