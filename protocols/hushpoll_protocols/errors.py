"""The exceptions that all hushpoll packages raise on purpose.

Messages name the field, the value, the allowed interval and the remedy. The one thing never put
into a message is a respondent's answer: an exception travels into logs and crash reports of the
host app.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final


def show(value: object) -> str:
    """Return a value as it may stand in a message: its repr, cut to 80 characters."""
    try:
        # Beside a character that cannot be printed there may be others that cannot be seen.
        text = ascii(value) if isinstance(value, str) and not value.isprintable() else repr(value)
    except ValueError:
        # Python refuses to spell an integer of more than 4300 digits.
        return f"a value of type {type(value).__name__} that is too large to show"
    return text if len(text) <= 80 else f"{text[:77]}..."


class HushpollError(Exception):
    """Base class of every error that hushpoll raises on purpose.

    Errors survive pickling, so that a process pool hands on the error and not one about pickling.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.args, self.__dict__)


def _restore(
    kind: type[HushpollError], args: tuple[Any, ...], attributes: dict[str, Any]
) -> HushpollError:
    # Not kind(*args): the keyword arguments are in the attributes.
    error = kind.__new__(kind, *args)
    error.__dict__.update(attributes)
    return error


class InvalidParameter(HushpollError, ValueError):
    """A caller gave a value outside its interval; always the caller's to correct.

    Parameters
    ----------
    message : str
        What is wrong, with the value, the allowed interval and the remedy.
    field : str
        Name of the parameter or attribute at fault.
    """

    def __init__(self, message: str, *, field: str) -> None:
        super().__init__(message)
        self.field = field


def refusal_of(field: str) -> Callable[[str], InvalidParameter]:
    """Return what makes the refusal of a field, whose name begins the message, of its fault."""
    return lambda fault: InvalidParameter(f"{field} {fault}", field=field)


class MalformedRecord(HushpollError, ValueError):
    """Bytes that no device following the protocol could have produced.

    Parameters
    ----------
    message : str
        What is wrong with the record.
    reason : str
        Stable code: ``"length"``, ``"range"``, ``"padding"`` or ``"popcount"``.
    field : str or None
        Attribute whose part of the record is malformed, where known.
    """

    def __init__(self, message: str, *, reason: str, field: str | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.field = field


class ManifestRefused(HushpollError):
    """A published manifest that contradicts itself, its digest or its owner's limits.

    Parameters
    ----------
    message : str
        What is refused and why.
    field : str
        Path of the field at fault, such as ``attributes[gender].thresholds``.
    """

    def __init__(self, message: str, *, field: str) -> None:
        super().__init__(message)
        self.field = field


class BudgetExhausted(HushpollError):
    """Answering would spend more epsilon than the device's owner allows."""


class TransportError(HushpollError):
    """The other side could not be reached, or answered with a problem.

    Parameters
    ----------
    message : str
        What happened, in words.
    retryable : bool
        Whether the same bytes may succeed later.
    status : int or None
        HTTP status, if there was an answer.
    problem : mapping or None
        The problem+json document, if there was one.
    """

    def __init__(
        self,
        message: str,
        *,
        retryable: bool,
        status: int | None = None,
        problem: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.status = status
        self.problem = problem


_OF_THE_SDK: Final = frozenset({"cli", "import", "kernels"})
_OF_THE_LABORATORY: Final = frozenset({"acs", "dpsgd", "reference"})
_DISTRIBUTIONS: Final = {"server": "hushpoll-server", "lab": "hushpoll-lab"}


class MissingExtra(HushpollError, ImportError):
    """A feature was used whose optional dependencies, or what they need, are not installed.

    Parameters
    ----------
    extra : str
        ``"cli"``, ``"import"`` or ``"kernels"``, extras of the distribution ``hushpoll``;
        ``"acs"``, ``"dpsgd"`` or ``"reference"``, extras of ``hushpoll-lab``; ``"server"`` or
        ``"lab"``, the distributions ``hushpoll-server`` and ``hushpoll-lab``; or an extra of the
        former.
    feature : str
        What was asked for, in words.
    library : tuple of two str or None
        A library of the system that one of them needs, and what brings it on Debian, if that is
        what is missing.
    """

    def __init__(self, extra: str, feature: str, *, library: tuple[str, str] | None = None) -> None:
        self.extra = extra
        self.feature = feature
        if library is not None:
            file, package = library
            super().__init__(
                f"{feature} needs the system library {file}, which is not installed; install it, "
                f"on Debian and Ubuntu with: apt-get install {package}"
            )
            return
        needed = f"the optional extra {extra!r}"
        # None of the distributions is on a package index yet; one that is named alone would be
        # looked for there.
        if extra in _OF_THE_SDK:
            folders = f"'.[{extra}]'"
        elif extra in _DISTRIBUTIONS:
            folders = ". ./server" if extra == "server" else ". ./server ./server/lab"
            needed = f"the distribution {_DISTRIBUTIONS[extra]!r}"
        elif extra in _OF_THE_LABORATORY:
            folders = f". ./server './server/lab[{extra}]'"
        else:
            folders = f". './server[{extra}]'"
        super().__init__(
            f"{feature} needs {needed}, which is not installed; "
            f"install it from a checkout, in its folder: pip install {folders}"
        )
