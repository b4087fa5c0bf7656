"""The commands ``hushpoll manifest``: the JSON Schema that editors use, and a check of a draft."""

from __future__ import annotations

from pathlib import Path

from hushpoll_protocols.errors import MissingExtra
from hushpoll_shared.cli.terminal import emit, json_option, reports_errors
from hushpoll_shared.drafts.schema import schema_text
from hushpoll_shared.survey.manifest import load_manifest

try:
    import click
except ImportError:
    raise MissingExtra("cli", "the command line") from None


@click.command()
def schema() -> None:
    """Print the JSON Schema of a manifest, which editors check and complete with.

    For instance: hushpoll manifest schema > manifest.schema.json
    """
    click.echo(schema_text(), nl=False)


@click.command()
@click.argument("manifest", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@json_option
@reports_errors
def check(manifest: Path, as_json: bool) -> None:
    """Check that MANIFEST (.json, .yaml) could be published, and print its digest.

    For instance: hushpoll manifest check survey.yaml
    """
    published = load_manifest(manifest).resolve()
    document = {
        "survey": published.name,
        "version": published.version,
        "attributes": len(published.attributes),
        "digest": published.digest,
    }
    emit(
        document,
        lambda: (
            f"{published.name} version {published.version} is a valid manifest of "
            f"{len(published.attributes)} attributes\ndigest: {published.digest}"
        ),
        as_json=as_json,
    )
