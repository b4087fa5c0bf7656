"""The pinned manifests that a device keeps, so that first use counts over restarts and offline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hushpoll_shared.survey.published import Published

if TYPE_CHECKING:
    from hushpoll_client.device.database import Database


class Pins:
    """The manifests that a device's file holds.

    Parameters
    ----------
    quick : Database
        The file.
    """

    def __init__(self, quick: Database) -> None:
        self._quick = quick

    def find(self, server: str, survey: str, version: int | None) -> Published | None:
        """Return the pinned survey, its arithmetic checked again, or None.

        Parameters
        ----------
        server, survey : str
            Where and what.
        version : int or None
            The version that was asked for; None where the newest was, which is a pin of its own.

        Raises
        ------
        ManifestRefused
            If what is kept is no manifest any more.
        """
        with self._quick.reading() as connection:
            row = connection.execute(
                "SELECT manifest FROM pins WHERE server = ? AND survey = ? AND version = ?",
                (server, survey, version or 0),
            ).fetchone()
        return None if row is None else Published.from_json(row[0])

    def keep(self, server: str, version: int | None, published: Published) -> None:
        """Make ``published`` the pin of what was asked for."""
        row = (server, published.name, version or 0, published.digest, published.canonical)
        with self._quick.transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO pins VALUES (?, ?, ?, ?, ?)", row)
