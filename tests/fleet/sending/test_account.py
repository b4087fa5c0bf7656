from __future__ import annotations

from hushpoll_fleet.sending.account import Account


def test_it_reconciles():
    account = Account(10, accepted=4, duplicate=1, pending=2, seconds=2.0)
    account.rejected.update(["survey-closed", "survey-closed"])
    assert (account.sent, account.unsent, account.complete) == (9, 1, False)
    document = account.to_dict()
    assert document["respondents"] == document["sent"] + document["unsent"]
    parts = ("accepted", "duplicate", "rejected", "pending")
    assert document["sent"] == sum(document[name] for name in parts)
    assert document["rejected_by_code"] == {"survey-closed": 2}
    assert document["reports_per_second"] == 4.5
    assert "9 sent = 4 accepted + 1 duplicate + 2 rejected + 2 pending" in str(account)


def test_it_is_complete_when_every_report_counts():
    assert Account(3, accepted=2, duplicate=1).complete
    assert not Account(3, accepted=2, pending=1).complete
    assert Account(0).complete
    assert Account(0).rate == 0.0
