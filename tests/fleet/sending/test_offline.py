from __future__ import annotations

import pytest

from hushpoll_fleet.population.respondents import from_population
from hushpoll_fleet.sending.fleet import Fleet
from hushpoll_fleet.sending.offline import write_reports


def test_file_of_reports_that_was_interrupted_does_not_stay(manifest, tmp_path):
    """Cut between two reports, it would be uploaded as if it were whole."""

    def interrupt(_reports: int) -> None:
        raise KeyboardInterrupt

    path = tmp_path / "two.reports"
    _, respondents = from_population(manifest, 2, seed=1)
    fleet = Fleet(published=manifest.resolve(), respondents=respondents)
    with pytest.raises(KeyboardInterrupt):
        write_reports(path, fleet, progress=interrupt)
    assert not path.exists()
    assert write_reports(path, fleet) == 2
