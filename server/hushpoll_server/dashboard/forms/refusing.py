"""A form whose values are refused comes back on its page, with what was wrong beside its field."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, Final

from flask import Response, g, request

from hushpoll_protocols.errors import HushpollError
from hushpoll_server.dashboard.forms.filled import Fault, filled_again
from hushpoll_server.dashboard.frame import View, words_of_refusal
from hushpoll_server.errors import Refused
from hushpoll_shared.wire.problems import PROBLEMS

# Others are no matter of a field, such as that the user may not do this.
_OF_VALUES: Final = 422
# Fields of the API that have another name in a form.
_NAMES: Final = {"scopes": "scope", "attributes": "attribute", "cross": "rows"}


def comes_back(shown: View) -> Callable[[View], View]:
    """Let a refused form be shown again on its page, filled in as it was sent.

    Parameters
    ----------
    shown : callable
        The view of the page. It gets those arguments of the form's address that it takes, and
        shows the choices that stand in the form (:func:`hushpoll_server.dashboard.frame.choice`).
    """
    taken = inspect.signature(shown).parameters

    def decorated(view: View) -> View:
        @wraps(view)
        def sent(**arguments: Any) -> Any:
            try:
                return view(**arguments)
            except HushpollError as error:
                status = PROBLEMS[error.code].status if isinstance(error, Refused) else _OF_VALUES
                if status != _OF_VALUES:
                    raise
                wanted = {name: value for name, value in arguments.items() if name in taken}
                answer = _again(shown, wanted, error)
                if answer is None:
                    raise
                answer.status_code = status
                return answer

        return sent

    return decorated


def told_beside(answer: Response, fault: Fault) -> Response:
    """Return a page with the fault of its address beside the field of the form that makes it.

    Parameters
    ----------
    answer : Response
        The page, whose form is sent by GET and shows what the address says.
    fault : Fault
        What is wrong with the address.
    """
    html = filled_again(answer.get_data(as_text=True), request.path, None, fault)
    if html is not None:
        answer.set_data(html)
    answer.status_code = _OF_VALUES
    return answer


def _again(shown: View, arguments: dict[str, object], error: HushpollError) -> Response | None:
    """Return the page with the form; None where the form is not on it."""
    g.refused_form = True
    try:
        answer: Response = shown(**arguments)
    except HushpollError:
        # A choice by which the page is made is the fault itself.
        return None
    finally:
        g.refused_form = False
    field = getattr(error, "field", None) or ""
    last = field.rpartition(".")[2]
    fields = (field, last, f"parameter-{last}", _NAMES.get(last, last)) if field else ()
    fault = Fault(fields, words_of_refusal(error))
    path = request.script_root + request.path
    html = filled_again(answer.get_data(as_text=True), path, request.form, fault)
    if html is None:
        return None
    answer.set_data(html)
    return answer
