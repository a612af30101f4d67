"""What the code of functions says: their syntax trees, and the names that they use and change."""

from __future__ import annotations

import __future__
import ast
import functools
import linecache
import types
import warnings
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Union

#: A name with the attributes that are read of it: `("helpers", "step")` for `helpers.step`.
Chain = tuple[str, ...]
Function = Union[ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda]

_DOCUMENTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
#: Functions of lists, dicts, sets and arrays that change them.
_CHANGING = frozenset(
    "add append appendleft clear discard extend extendleft fill insert pop popitem popleft put remove reverse setdefault sort update".split()
)


def tree_of(function: types.FunctionType) -> Function | None:
    """The syntax tree of `function`; None if there is no source, or if it does not make the function's code.

    A file may have been changed since Python read it, so that its source says something else than what runs.
    """
    code = function.__code__
    linecache.checkcache(code.co_filename)
    text = "".join(linecache.getlines(code.co_filename, function.__globals__))
    flags = code.co_flags & __future__.annotations.compiler_flag
    found = _functions(text, flags).get((code.co_name, repr(told_code(code))), [])
    tree = min(found, key=lambda node: abs(_first_line(node) - code.co_firstlineno), default=None)
    try:
        text_of(tree)
    except RecursionError:
        return None
    return tree


@functools.lru_cache(maxsize=64)
def _functions(text: str, flags: int) -> dict[tuple[str, str], list[Function]]:
    """The functions in the source `text`, by their name and code. Several lambdas that begin on one line are left out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tree = ast.parse(text)
            whole = compile(text, "", "exec", flags | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError):
            return {}
    nodes, codes = defaultdict(list), defaultdict(list)
    for node in ast.walk(tree):
        if isinstance(node, _FUNCTIONS):
            nodes[getattr(node, "name", "<lambda>"), _first_line(node)].append(node)
    for code in _within(whole):
        codes[code.co_name, code.co_firstlineno].append(code)
    functions = defaultdict(list)
    for place, at in nodes.items():
        if len(at) == len(codes[place]) == 1:
            functions[place[0], repr(told_code(codes[place][0]))].append(at[0])
    return dict(functions)


def _first_line(node: Function) -> int:
    decorators = getattr(node, "decorator_list", [])
    return decorators[0].lineno if decorators else node.lineno


def _within(code: types.CodeType) -> Iterator[types.CodeType]:
    """`code` and that of the functions and classes in it."""
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from _within(const)


def told_code(code: types.CodeType) -> list[Any]:
    """The bytecode of a function; it differs between versions of Python."""
    names = (code.co_names, code.co_varnames, code.co_freevars)
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    return [code.co_code.hex(), [_told_constant(const) for const in code.co_consts], names, counts]


def _told_constant(const: Any) -> Any:
    if isinstance(const, types.CodeType):
        return told_code(const)
    if isinstance(const, tuple):
        return [_told_constant(entry) for entry in const]
    # The order of a set differs between processes.
    return sorted(map(repr, const)) if isinstance(const, frozenset) else repr(const)


def text_of(node: Any) -> str:
    """A syntax tree as text, without comments, layout and documentation.

    Fields that hold nothing are left out: versions of Python add fields, which hold nothing where a program does not use what is new.
    What `ast.dump` and `ast.unparse` write differs between versions.
    """
    if isinstance(node, ast.Constant):
        return repr(node.value)
    if isinstance(node, list):
        return f"[{', '.join(map(text_of, node))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = dict(ast.iter_fields(node))
    fields.pop("ctx", None)
    if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
        fields["body"] = node.body[1:]
    if isinstance(node, ast.JoinedStr):
        # Python 3.12 adds empty text to some.
        fields["values"] = [part for part in node.values if not isinstance(part, ast.Constant) or part.value != ""]
    filled = [f"{name}={text_of(value)}" for name, value in fields.items() if value is not None and value != []]
    return f"{type(node).__name__}({', '.join(filled)})"


@dataclass
class Names:
    """The names that a function uses."""

    #: What is read, except in type hints.
    used: set[Chain] = field(default_factory=set)
    #: The same without those that are only set or added to, such as a list that results are appended to.
    read: set[Chain] = field(default_factory=set)
    #: Variables of other scopes, and attributes, that are set.
    bound: set[Chain] = field(default_factory=set)
    #: What is changed in place: its entries are set, or it is told to `append` or the like.
    changed: set[Chain] = field(default_factory=set)


def names_of(function: types.FunctionType, tree: Function | None) -> Names:
    """The names that `function` uses, of variables that are not its own."""
    known = words_of(function) | set(function.__code__.co_freevars)
    if tree is None:
        there = {name for name in known if isinstance(function.__globals__.get(name), types.ModuleType)}
        modules = {(name, attribute) for name in there for attribute in known if attribute in vars(function.__globals__[name])}
        used: set[Chain] = {*modules, *((name,) for name in known - there)}
        # Nobody knows which of them are only added to.
        return Names(used)
    visitor = _Visitor()
    visitor.visit(tree)
    found = visitor.names
    return Names(*({chain for chain in chains if chain[0] in known} for chains in (found.used, found.read, found.bound, found.changed)))


def words_of(function: types.FunctionType) -> set[str]:
    """The names of variables of the module and of attributes in the code of `function`."""
    return {name for code in _within(function.__code__) for name in code.co_names}


def texts_of(function: types.FunctionType) -> set[str]:
    """The texts in the code of `function`."""
    return {const for code in _within(function.__code__) for const in code.co_consts if isinstance(const, str)}


def nonlocals_of(function: types.FunctionType) -> dict[str, tuple[Any, Any]]:
    """The variables of enclosing functions that `function` uses, if they have a value: their cells and values."""
    variables = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            variables[name] = (cell, cell.cell_contents)
        except ValueError:
            continue
    return variables


def defaults_of(function: types.FunctionType) -> list[tuple[str, Any]]:
    """The parameters of `function` that have a default, and these."""
    code, given = function.__code__, function.__defaults__ or ()
    names = code.co_varnames[code.co_argcount - len(given) : code.co_argcount]
    return [*zip(names, given, strict=True), *(function.__kwdefaults__ or {}).items()]


def attributes_read_by(function: types.FunctionType, tree: Function | None) -> set[str]:
    """The attributes of its first argument, the object, that a method reads."""
    if tree is None or not function.__code__.co_argcount:
        return set()
    visitor = _Visitor()
    visitor.visit(tree)
    own = function.__code__.co_varnames[0]
    chains = [chain for chain in visitor.names.read if chain[0] == own]
    of_class = {chain[2] for chain in chains if len(chain) > 2 and chain[1] == "__class__"}
    return {chain[1] for chain in chains if len(chain) > 1} | of_class | set(_read_of_type(own, tree))


def _read_of_type(name: str, tree: Function) -> Iterator[str]:
    """The attributes that are read of `type(name)`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and isinstance(node.value, ast.Call):
            call = node.value
            if chain_of(call.func) == ("type",) and [chain_of(each) for each in call.args] == [(name,)]:
                yield node.attr


def parameters_read(function: types.FunctionType, tree: Function | None) -> set[str]:
    """The parameters of `function` that it reads, and does not only set or add to."""
    code = function.__code__
    names = set(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    if tree is None:
        return names
    visitor = _Visitor()
    visitor.visit(tree)
    return names & {chain[0] for chain in visitor.names.read}


def attributes_set_by(function: types.FunctionType, tree: Function | None) -> set[str]:
    """The attributes of its first argument, the object, that a method sets or changes."""
    if tree is None or not function.__code__.co_argcount:
        return set()
    visitor = _Visitor()
    visitor.visit(tree)
    chains = visitor.names.bound | visitor.names.changed
    return {chain[1] for chain in chains if len(chain) > 1 and chain[0] == function.__code__.co_varnames[0]}


class _Visitor(ast.NodeVisitor):
    def __init__(self) -> None:
        self.names = Names()
        #: The variables of other scopes that the code says it sets.
        self.declared: set[str] = set()
        #: Whether that which is being visited is only set or added to.
        self._is_set = False

    def visit_arg(self, node: ast.arg) -> None:
        """Its type hint counts for nothing."""

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for part in (*node.decorator_list, node.args, *node.body):
            self.visit(part)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.visit(node.target)
        if node.value is not None:
            self.visit(node.value)

    def visit_Global(self, node: ast.Global | ast.Nonlocal) -> None:
        self.declared.update(node.names)

    visit_Nonlocal = visit_Global

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self._use((node.id,))
        elif node.id in self.declared:
            self.names.bound.add((node.id,))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        chain = chain_of(node)
        if chain is None:
            self.visit(node.value)
        elif isinstance(node.ctx, ast.Load):
            self._use(chain)
        else:
            self.names.bound.add(chain)
            self.names.used.add(chain[:-1])

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if isinstance(node.ctx, ast.Load):
            self.generic_visit(node)
            return
        self._change(node.value)
        self._set(node.value)
        before, self._is_set = self._is_set, False
        self.visit(node.slice)
        self._is_set = before

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        chain = chain_of(node.target)
        if chain is not None:
            self.names.used.add(chain)
        self.generic_visit(node)

    def _use(self, chain: Chain) -> None:
        self.names.used.add(chain)
        if not self._is_set:
            self.names.read.add(chain)

    def visit_Expr(self, node: ast.Expr) -> None:
        call = node.value
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in _CHANGING and _place_of(call.func.value):
            self._set(call.func)
            self._change(call.func.value)
            for part in (*call.args, *call.keywords):
                self.visit(part)
        else:
            self.generic_visit(node)

    def _set(self, node: ast.AST) -> None:
        """Visits what is set or added to."""
        before, self._is_set = self._is_set, True
        self.visit(node)
        self._is_set = before

    def visit_Call(self, node: ast.Call) -> None:
        # `tensor.add_(1)` is PyTorch's.
        if isinstance(node.func, ast.Attribute) and (node.func.attr in _CHANGING or node.func.attr.endswith("_")):
            self._change(node.func.value)
        self.generic_visit(node)

    def _change(self, node: ast.AST) -> None:
        while isinstance(node, ast.Subscript):
            node = node.value
        chain = chain_of(node)
        if chain is not None:
            self.names.changed.add(chain)


def _place_of(node: ast.AST) -> Chain | None:
    """The variable or attribute that `node` is, or is an entry of."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return chain_of(node)


def chain_of(node: ast.AST) -> Chain | None:
    """The name that `node` is, with the attributes that are read of it; None if it is anything else."""
    if isinstance(node, ast.Attribute):
        inner = chain_of(node.value)
        return None if inner is None else (*inner, node.attr)
    return (node.id,) if isinstance(node, ast.Name) else None


def statements_that_set(name: str, tree: ast.Module) -> list[tuple[str, set[Chain]]]:
    """The statements of a module that set or change a variable, outside its functions and classes, and what they read for it."""
    found = []
    for node in tree.body:
        if not isinstance(node, (*_FUNCTIONS, ast.ClassDef)) and (setting := _setting(name, node)):
            found.append((text_of(node), {chain for names in setting for chain in names.used}))
    return found


def _setting(name: str, node: ast.stmt) -> list[Names]:
    """The names of the simple statements in a statement, such as a loop, that set or change a variable."""
    inner = [each for each in ast.iter_child_nodes(node) if isinstance(each, ast.stmt)]
    inner += [each for part in ast.iter_child_nodes(node) if isinstance(part, (ast.ExceptHandler, ast.match_case)) for each in part.body]
    visitor = _Visitor()
    visitor.declared.add(name)
    if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
        return []
    visitor.visit(node)
    if not any(chain[0] == name for chain in visitor.names.bound | visitor.names.changed):
        return []
    found = [names for each in inner for names in _setting(name, each)]
    # What a loop runs over, or `with` opens.
    return found or [visitor.names if not inner else Names()]
