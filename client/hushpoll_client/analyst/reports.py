"""Reports of a survey's results as files, from a server."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hushpoll_client.analyst.calls import Calls, version_path


class ReportCalls(Calls):
    """Fetches reports; needs scope ``read``."""

    def report(
        self,
        name: str,
        version: int,
        write: Callable[[bytes], object],
        *,
        format: str = "html",
        attributes: Sequence[str] = (),
        cross_tables: Sequence[Sequence[str]] = (),
        estimator: str | None = None,
        confidence: float | None = None,
        fairness: bool = True,
    ) -> int:
        """Fetch a report of the last release piece by piece.

        Parameters
        ----------
        name, version
            Which.
        write : callable
            Called with each piece of bytes, such as a file's ``write``.
        format : str
            ``html``, ``pdf`` or ``bundle``.
        attributes : sequence of str
            The questions that are shown; by default all.
        cross_tables : sequence of (str, str)
            Pairs of attributes.
        estimator : str, optional
            ``unbiased``, ``projected`` or ``shrunk``; by default the first, which has intervals.
        confidence : float, optional
            Of the intervals, in [0.01, 0.999999]; the server's default is 0.95.
        fairness : bool
            Whether finished audits are shown.

        Returns
        -------
        int
            Bytes received.
        """
        params = {
            "format": format,
            "attributes": ",".join(attributes) or None,
            "cross": ",".join(":".join(pair) for pair in cross_tables) or None,
            "estimator": estimator,
            "confidence": None if confidence is None else str(confidence),
            "fairness": "true" if fairness else "false",
        }
        used = {field: value for field, value in params.items() if value is not None}
        path = (*version_path(name, version), "report")
        return self._transport.download(*path, write=write, params=used)
