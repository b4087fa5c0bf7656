"""What a survey version has yielded: estimates, cross-tables, counts, records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hushpoll_client.analyst.calls import Calls, object_of, version_path


class ResultCalls(Calls):
    """Fetches results, and deletes records."""

    def estimates(self, name: str, version: int) -> dict[str, Any]:
        """Fetch estimates of every attribute's categories."""
        return object_of(self._transport.get(*version_path(name, version), "estimates"))

    def counts(self, name: str, version: int) -> dict[str, Any]:
        """Fetch how many reports a version has taken, known already, and refused by reason."""
        return object_of(self._transport.get(*version_path(name, version), "counts"))

    def cross_table(self, name: str, version: int, a: str, b: str) -> dict[str, Any]:
        """Fetch the joint frequencies of two attributes."""
        path = (*version_path(name, version), "cross-tables")
        return object_of(self._transport.get(*path, params={"a": a, "b": b}))

    def export(
        self,
        name: str,
        version: int,
        write: Callable[[bytes], object],
        *,
        format: str = "records",
        content: str = "records",
        raw: bool = False,
    ) -> int:
        """Fetch a file of records piece by piece.

        Parameters
        ----------
        name, version
            Which.
        write : callable
            Called with each piece of bytes, such as a file's ``write``.
        format : str
            ``records``, the file that carries its own manifest; ``parquet``; ``csv``.
        content : str
            Of a table: ``records``, what was reported; ``indicators``, a 0/1 column for each
            category; ``debiased``, the same unbiased.
        raw : bool
            Of CSV: whether texts that a spreadsheet would take for formulas are left as they are.

        Returns
        -------
        int
            Bytes received.
        """
        params = {"format": format, "content": content} | ({"raw": "true"} if raw else {})
        return self._transport.download(
            *version_path(name, version), "records", write=write, params=params
        )

    def delete_records(self, name: str, version: int) -> dict[str, Any]:
        """Delete the records of a version that is over, for good; its estimates stay.

        Returns
        -------
        dict
            ``deleted``, how many, and ``deleted_at``.
        """
        return object_of(self._transport.delete(*version_path(name, version), "records"))
