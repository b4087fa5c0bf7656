"""One tree of errors, each of which survives a process pool."""

from __future__ import annotations

import copy
import pickle

import pytest

import hushpoll_protocols
from hushpoll_protocols import (
    BudgetExhausted,
    HushpollError,
    InvalidParameter,
    MalformedRecord,
    ManifestRefused,
    MissingExtra,
    TransportError,
    create,
    errors,
)

EXAMPLES = [
    InvalidParameter("k is 1, outside [2, 65536]", field="k"),
    MalformedRecord("a pad bit is set", reason="padding", field="gender"),
    ManifestRefused("epsilons exceed the total", field="epsilon"),
    BudgetExhausted("3 of 4 are spent"),
    TransportError("busy", retryable=True, status=503, problem={"title": "Busy", "n": [1]}),
    MissingExtra("server", "hushpoll serve"),
    MissingExtra("train", "training", library=("libgomp.so.1", "libgomp1")),
]


def test_every_error_of_the_module_is_an_example_and_is_exported() -> None:
    kinds = {
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, HushpollError)
    }
    assert kinds == {type(error) for error in EXAMPLES} | {HushpollError}
    assert all(getattr(hushpoll_protocols, kind.__name__) is kind for kind in kinds)


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_an_error_survives_copying_and_pickling_whole(error: HushpollError) -> None:
    for again in (
        copy.copy(error),
        copy.deepcopy(error),
        *(pickle.loads(pickle.dumps(error, protocol)) for protocol in range(6)),
    ):
        assert type(again) is type(error)
        assert str(again) == str(error)
        assert vars(again) == vars(error)
        assert again.args == error.args


def test_an_error_that_was_raised_survives_pickling() -> None:
    with pytest.raises(InvalidParameter) as refusal:
        create("GRR", k=1, epsilon="1")
    again = pickle.loads(pickle.dumps(refusal.value))
    assert (str(again), again.field) == (str(refusal.value), "k")


@pytest.mark.parametrize(
    ("kind", "builtin"),
    [(InvalidParameter, ValueError), (MalformedRecord, ValueError), (MissingExtra, ImportError)],
)
def test_errors_are_also_the_builtin_that_a_caller_would_expect(
    kind: type[Exception], builtin: type[Exception]
) -> None:
    assert issubclass(kind, builtin)
    assert issubclass(kind, HushpollError)


def test_a_missing_extra_says_how_to_install_it() -> None:
    error = MissingExtra("kernels", "the array side")
    assert error.extra == "kernels"
    assert "the array side needs the optional extra 'kernels'" in str(error)
    assert "pip install '.[kernels]'" in str(error)


def test_extra_of_another_distribution_names_it() -> None:
    assert "pip install . './server[train]'" in str(MissingExtra("train", "training"))
    assert str(MissingExtra("server", "serving")) == (
        "serving needs the distribution 'hushpoll-server', which is not installed; "
        "install it from a checkout, in its folder: pip install . ./server"
    )


def test_transport_errors_default_to_no_answer() -> None:
    error = TransportError("no route", retryable=True)
    assert (error.retryable, error.status, error.problem) == (True, None, None)


def test_the_public_names_are_these() -> None:
    assert sorted(hushpoll_protocols.__all__) == [
        "Bits",
        "BudgetExhausted",
        "Disclosure",
        "EPSILON_MAX",
        "EPSILON_MIN",
        "EPSILON_PLACES",
        "FrequencyOracle",
        "HushpollError",
        "InvalidParameter",
        "K_MAX",
        "K_MIN",
        "MalformedRecord",
        "ManifestRefused",
        "MissingExtra",
        "PROTOCOLS",
        "Registration",
        "ReplayBits",
        "SecureBits",
        "TransportError",
        "create",
        "format_epsilon",
        "parse_epsilon",
    ]
