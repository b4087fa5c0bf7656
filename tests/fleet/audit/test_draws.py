"""Devices that draw, audited as black boxes, and the auditor by devices that do not keep to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from hushpoll_client import Published, randomize
from hushpoll_fleet.audit import SDKS, audit, python_device, survey_of
from hushpoll_protocols.errors import InvalidParameter

# Of a device that keeps to its law; the devices' noise has no seed.
ALPHA = 1e-7


@pytest.mark.parametrize("sdk", SDKS)
def test_no_sdk_spends_more_than_the_draw_is_given(sdk: str) -> None:
    finding = audit(SDKS[sdk], "GRR", "2", sdk=sdk, draws=20_000, alpha=ALPHA, kind="draw")
    assert finding.realized_epsilon == pytest.approx(2, abs=1e-6)
    assert not finding.overspends
    # the standard deviation is 0.11: more than seven of them below what is expected
    assert finding.lower_bound == pytest.approx(finding.reachable, abs=0.8)


def test_a_device_that_gives_each_chosen_block_more_than_its_part_is_caught() -> None:
    """Missed with a chance below 1e-9: each block is given all of epsilon in place of half."""
    loud = survey_of("GRR", "4", "draw")

    def device(_: Published, answers: Mapping[str, Any], times: int) -> bytes:
        return python_device(loud, answers, times)

    assert audit(device, "GRR", "2", sdk="loud", draws=10_000, alpha=ALPHA, kind="draw").overspends


def test_a_device_that_chooses_by_the_answers_is_caught() -> None:
    def device(published: Published, answers: Mapping[str, Any], times: int) -> bytes:
        (mask,) = published.layout.masks
        wanted = 3 if answers["first"] == "answer 0" else 6
        kept = []
        while len(kept) < times:
            record = randomize(published, answers).record
            if record[mask.offset] == wanted:
                kept.append(record)
        return b"".join(kept)

    finding = audit(device, "GRR", "0.5", sdk="curious", draws=4_000, alpha=ALPHA, kind="draw")
    assert finding.overspends


def test_a_device_that_answers_all_blocks_is_refused() -> None:
    def device(published: Published, answers: Mapping[str, Any], times: int) -> bytes:
        (mask,) = published.layout.masks
        record = bytearray(randomize(published, answers).record)
        record[mask.offset] = 7
        return bytes(record) * times

    with pytest.raises(InvalidParameter, match="another number of the draw's blocks"):
        audit(device, "GRR", "2", sdk="eager", draws=1_000, kind="draw")
