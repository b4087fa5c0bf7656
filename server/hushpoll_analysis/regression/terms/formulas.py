"""Formulas as people write them, ``y ~ a + b:c``; nothing in one is ever run as a program.

formulaic parses the operators of a formula. What stands inside a factor, such as ``I(age / 10)``,
is read as a tree of numbers, names and a few functions, and computed here: a formula that calls
anything else is refused.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from hushpoll_protocols.epsilon import is_decimal
from hushpoll_protocols.errors import InvalidParameter, MissingExtra
from hushpoll_shared.spelling.text import show
from hushpoll_shared.survey.published import Published

Array = npt.NDArray[np.float64]

FIELD: Final = "formula"
LONGEST: Final = 4_000
"""Characters of a formula."""
DEEPEST: Final = 9
"""Largest exponent of a sum of terms, as in ``(a + b)**2``."""

_FUNCTIONS: Final[Mapping[str, Callable[[Array], Array]]] = {
    "I": lambda values: values,
    "score": lambda values: values,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "exp": np.exp,
    "sqrt": np.sqrt,
    "abs": np.abs,
}
_OPERATORS: Final[Mapping[type[ast.AST], Callable[[Array, Array], Array]]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.Pow: np.power,
    ast.Lt: np.less,
    ast.LtE: np.less_equal,
    ast.Gt: np.greater,
    ast.GtE: np.greater_equal,
    ast.Eq: np.equal,
    ast.NotEq: np.not_equal,
}
_OF_CATEGORIES: Final = ("C", "factor")
_OF_TREATMENT: Final = ("Treatment", "contr.treatment")
_OF_REFERENCE: Final = ("ref", "reference", "base")
_POWER: Final = re.compile(r"(?:\*\*|\^)\s*\(?\s*([0-9]+)")
_QUOTED: Final = re.compile("`([^`]*)`")


@dataclass(frozen=True)
class Factor:
    """One factor of a term."""

    text: str
    """As the formula has it."""
    variables: tuple[str, ...]
    """Columns that it reads."""
    tree: ast.expr | None = None
    """What computes its number; None: the column itself."""
    as_categories: bool = False
    """Whether ``C(...)`` makes categories of the column."""
    reference: str | None = None
    """The category that the others are compared with."""

    @property
    def plain(self) -> bool:
        """Whether it is a column as it stands."""
        return self.tree is None and not self.as_categories

    def number(self, columns: Mapping[str, Array]) -> Array:
        """Return its numbers, of columns of numbers; refuses one that is not finite."""
        tree = self.tree
        with np.errstate(all="ignore"):
            values = columns[self.variables[0]] if tree is None else _computed(tree, columns)
        values = np.asarray(values, np.float64)
        if not np.isfinite(values).all():
            raise InvalidParameter(
                f"{self.text} is no finite number for some rows; change the term", field=FIELD
            )
        return values


@dataclass(frozen=True)
class Formula:
    """A formula that was read."""

    text: str
    outcome: Factor
    """Left of the tilde."""
    terms: tuple[tuple[Factor, ...], ...]
    """Right of it; the intercept has no factor."""

    @property
    def predictors(self) -> tuple[str, ...]:
        """The columns that its terms read, each once."""
        named = (name for term in self.terms for factor in term for name in factor.variables)
        return tuple(dict.fromkeys(named))

    @property
    def variables(self) -> tuple[str, ...]:
        """All columns that it reads, each once."""
        return tuple(dict.fromkeys((*self.outcome.variables, *self.predictors)))


def is_scored(domain: Sequence[str]) -> bool:
    """Whether answers are read as numbers: three or more that all are spelt as numbers."""
    return len(domain) > 2 and all(map(is_decimal, domain))


def term_name(term: tuple[Factor, ...]) -> str:
    """Return a term as a message names it."""
    return ":".join(factor.text for factor in term) or "Intercept"


def refuse_both_sides(formula: Formula) -> None:
    """Refuse a formula whose outcome is one of its predictors."""
    outcome = formula.outcome.variables[0]
    if outcome in formula.predictors:
        raise InvalidParameter(
            f"{outcome} stands left and right of the tilde (~); leave it out on one side",
            field=FIELD,
        )


def read_formula(text: str) -> Formula:
    """Read a formula; anything else is refused, and never run.

    It is ``outcome ~ terms`` with the operators ``+ - : * ** / ( )`` and ``0`` or ``1`` for the
    intercept; a name with other characters than letters, digits, dots and underscores in
    backquotes. A factor is a column; ``C(column)`` or ``C(column, ref='x')`` for categories, also
    as ``factor(column)`` and ``C(column, Treatment('x'))``; or a computation: ``I(...)``, log,
    log2, log10, exp, sqrt, abs, with ``np.`` before them or not, and score.
    """
    try:
        from formulaic import Formula as Parsed  # slow to import
    except ImportError as error:
        raise MissingExtra("server", "regression") from error
    if len(text) > LONGEST:
        raise _refused(text[:40] + "...", f"it is longer than {LONGEST} characters")
    for power in _POWER.findall(re.sub(r"\w*\([^()]*\)\w*", "", _QUOTED.sub("", text))):
        if int(power) > DEEPEST:
            raise _refused(text, f"the power {power} is above {DEEPEST}")
    bare = _QUOTED.sub("name", text)
    if not bare.partition("~")[0].strip() or "~" not in bare:
        raise _refused(text, "it has no outcome left of a tilde (~)")
    if not bare.partition("~")[2].strip():
        raise _refused(text, "nothing stands right of the tilde (~)")
    if "|" in bare:
        raise _refused(text, "it has a bar (|), and there are no random effects or parts")
    try:
        # R's ^ binds as ** does, and Python's does not
        parsed: Any = Parsed("`".join(_powers(text.split("`"))))
        left, right = parsed.lhs, parsed.rhs
        if left is None or right is None:
            raise _refused(text, "it has no outcome left of a tilde (~)")
        outcomes = [_term(term, text) for term in left]
        terms = tuple(_term(term, text) for term in right)
    except InvalidParameter:
        raise
    except Exception as error:  # formulaic lets many kinds of errors through
        why = " ".join(re.sub(r"\x1b\[[0-9;]*m|[⧛⧚]", "", str(error)).split())
        spaces = "a name with spaces or other signs stands in backquotes, as `age in years` does"
        raise _refused(text, f"it cannot be read ({why[:160]}); {spaces}") from None
    if len(outcomes) != 1 or len(outcomes[0]) != 1:
        raise _refused(text, "one column must stand left of the tilde (~)")
    if not terms:
        raise _refused(text, "nothing stands right of the tilde (~)")
    return Formula(text, outcomes[0][0], terms)


def _powers(parts: list[str]) -> list[str]:
    """Return the parts of a text between backquotes, with ** for ^ outside of them."""
    return [part if place % 2 else part.replace("^", "**") for place, part in enumerate(parts)]


def _term(term: Any, text: str) -> tuple[Factor, ...]:
    factors = []
    for factor in term.factors:
        kind, expression = factor.eval_method.value, str(factor.expr)
        if kind == "literal":
            if expression != "1":
                raise _refused(text, f"the number {expression} stands alone as a factor")
        elif kind == "lookup":
            factors.append(Factor(expression, (expression,)))
        else:
            factors.append(_factor(expression, text))
    return tuple(factors)


def _factor(expression: str, text: str) -> Factor:
    """Read the inside of a factor, which formulaic would run."""
    quoted: dict[str, str] = {}

    def stand_in(match: re.Match[str]) -> str:
        name = f"hushpoll_quoted_{len(quoted)}"
        quoted[name] = match.group(1)
        return name

    try:
        tree = ast.parse(_QUOTED.sub(stand_in, expression), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise _refused(text, f"{show(expression)} cannot be read") from None
    if isinstance(tree, ast.Call) and _called(tree) in _OF_CATEGORIES:
        return _categories(tree, expression, quoted, text)
    names: dict[str, None] = {}
    checked = _checked(tree, quoted, names, expression, text)
    if not names:
        raise _refused(text, f"{show(expression)} names no column")
    return Factor(expression, tuple(names), checked)


def _called(call: ast.Call) -> str | None:
    """Return the function that a call names; ``np.log`` is ``log``."""
    name = _name(call.func, {})
    return None if name is None else name.removeprefix("np.").removeprefix("numpy.")


def _categories(tree: ast.Call, expression: str, quoted: Mapping[str, str], text: str) -> Factor:
    name, given = None, list(tree.keywords)
    if tree.args:
        name = _name(tree.args[0], quoted)
        for contrast in tree.args[1:]:  # Treatment('x'), as patsy and formulaic write a reference
            if not isinstance(contrast, ast.Call) or _called(contrast) not in _OF_TREATMENT:
                name = None
                break
            given += contrast.keywords
            given += [ast.keyword("ref", value) for value in contrast.args]
    reference = None
    for keyword in given:
        value = keyword.value
        known = keyword.arg in _OF_REFERENCE and isinstance(value, ast.Constant)
        if not known or reference is not None:
            name = None
        else:
            assert isinstance(value, ast.Constant)  # noqa: S101  (known says so)
            reference = str(value.value)
            for stand_in, inside in reversed(list(quoted.items())):
                reference = reference.replace(stand_in, f"`{inside}`")
    if name is None:
        raise _refused(text, f"{show(expression)} is not C(column) or C(column, ref='category')")
    return Factor(expression, (name,), None, True, reference)


def _name(node: ast.AST, quoted: Mapping[str, str]) -> str | None:
    """Return the column that a node names; a name may have dots."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([quoted.get(node.id, node.id), *reversed(parts)])


def _checked(
    node: ast.expr,
    quoted: Mapping[str, str],
    names: dict[str, None],
    expression: str,
    text: str,
) -> ast.expr:
    """Return a tree of constants, names, operators and known functions, or refuse it."""

    def again(inner: ast.expr) -> ast.expr:
        return _checked(inner, quoted, names, expression, text)

    name = _name(node, quoted)
    if name is not None:
        names[name] = None
        return ast.Name(name)
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        try:
            return ast.Constant(float(node.value))  # type: ignore[arg-type]
        except OverflowError:
            pass
    elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return ast.BinOp(again(node.left), node.op, again(node.right))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        return ast.UnaryOp(node.op, again(node.operand))
    elif isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _OPERATORS:
        return ast.Compare(again(node.left), node.ops, [again(node.comparators[0])])
    elif isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
        function = _called(node)
        if function is not None and function in _FUNCTIONS:
            return ast.Call(ast.Name(function), [again(node.args[0])], [])
    raise _refused(
        text,
        f"{show(expression)} has {show(ast.unparse(node))}, which is not computed: there are "
        f"numbers, columns, + - * / **, comparisons, C() and {', '.join(_FUNCTIONS)}",
    )


def _computed(node: ast.expr, columns: Mapping[str, Array]) -> Array:
    """Return the value of a tree that was checked."""
    if isinstance(node, ast.Name):
        return columns[node.id]
    if isinstance(node, ast.BinOp):
        one, two = _computed(node.left, columns), _computed(node.right, columns)
        return _OPERATORS[type(node.op)](one, two)
    if isinstance(node, ast.UnaryOp):
        value = _computed(node.operand, columns)
        return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.Compare):
        one, two = _computed(node.left, columns), _computed(node.comparators[0], columns)
        return np.asarray(_OPERATORS[type(node.ops[0])](one, two), np.float64)
    if isinstance(node, ast.Call):
        assert isinstance(node.func, ast.Name)  # noqa: S101  (_checked made it)
        return _FUNCTIONS[node.func.id](_computed(node.args[0], columns))
    assert isinstance(node, ast.Constant)  # noqa: S101  (_checked made it)
    return np.asarray(node.value, np.float64)


def _refused(text: str, why: str) -> InvalidParameter:
    return InvalidParameter(
        f"the formula {show(text)} is refused: {why}; write one such as "
        "outcome ~ age + C(region, ref='north') + age:gender",
        field=FIELD,
    )


OUTCOME: Final = "outcome"
PREDICTORS: Final = "predictors"
_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SAFE: Final = frozenset(" _-<>=.,")


def formula_of(
    published: Published,
    outcome: str,
    predictors: Sequence[str],
    *,
    references: Mapping[str, str] | None = None,
    interaction: tuple[str, str] | None = None,
    family: str | None = None,
) -> str:
    """Return the formula of chosen questions.

    A randomised question whose answers are all numbers is read as a number (``score``), as one in
    clear is, unless a reference makes categories of it.

    The slope of one predictor of an interaction may depend on the other. A family of categories
    takes the outcome as it is, and no score. A refusal has the field ``outcome``, ``predictors``,
    ``reference`` or ``interaction``.
    """
    if not outcome:
        raise InvalidParameter(
            "no outcome is chosen; choose the question whose answer is to be explained",
            field=OUTCOME,
        )
    named = published.attribute(outcome, field=OUTCOME).name
    chosen = list(dict.fromkeys(predictors))
    if not chosen:
        raise InvalidParameter(
            "no predictor is chosen; choose at least one question on which the outcome may depend",
            field=PREDICTORS,
        )
    if named in chosen:
        raise InvalidParameter(
            f"{named} is the outcome and a predictor; leave it out on one side", field=PREDICTORS
        )
    references = references or {}
    factors = {name: _factor_of_question(published, name, references.get(name)) for name in chosen}
    terms = list(factors.values())
    if interaction is not None:
        if len(set(interaction)) != 2 or not set(interaction) <= set(chosen):
            raise InvalidParameter(
                f"the interaction is of {show(interaction[0])} and {show(interaction[1])}; choose "
                "two different questions that are chosen as predictors, too",
                field="interaction",
            )
        terms.append(":".join(factors[name] for name in interaction))
    left = _quoted(named)
    if family in (None, "linear"):
        left = _factor_of_question(published, named, None)
    return f"{left} ~ {' + '.join(terms)}"


def _factor_of_question(published: Published, name: str, reference: str | None) -> str:
    attribute = published.attribute(name, field=PREDICTORS)
    quoted = _quoted(name)
    if reference is not None:
        if reference not in attribute.domain:
            raise InvalidParameter(
                f"the reference of {name} is {show(reference)}, which is no answer to it; choose "
                "one of its answers",
                field="reference",
            )
        return f"C({quoted}, ref={_text(reference)})"
    if attribute.oracle is not None and is_scored(attribute.domain):
        return f"score({quoted})"
    return quoted


def _quoted(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else f"`{name}`"


def _text(category: str) -> str:
    """Return a category as a literal that no reader of a formula takes for anything else."""
    return "'" + "".join(map(_character, category)) + "'"


def _character(one: str) -> str:
    if one.isalnum() or one in _SAFE:
        return one
    return f"\\x{ord(one):02x}" if ord(one) < 256 else f"\\U{ord(one):08x}"
