"""Tells values by their content, and functions and classes by their code and all that this refers to, except libraries."""

from __future__ import annotations

import builtins
import collections
import dataclasses
import enum
import hashlib
import inspect
import types
import weakref
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path, PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meshfold import _code, _libraries, _states, _values

_PLAIN = (type(None), bool, int, float, complex, str, bytes)
_LISTS = (list, tuple, collections.deque)
_SETS = (set, frozenset)
_CONTAINERS = (*_LISTS, *_SETS, dict, bytearray)
#: Modules of mappings that differ from process to process, such as `os.environ`.
_PASSING = ("os", "weakref")


def of_arrays(*arrays: NDArray[Any]) -> str:
    """A digest of the types, shapes and contents of `arrays`."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(f"{array.dtype} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]


class Telling:
    """Tells values in a form whose text does not depend on addresses in memory.

    Functions, classes and objects are numbered in the order in which they are met, and told one after another. So each is told once,
    and they may refer to each other. Objects of libraries are told by their state, where they are met.

    What is strict, such as the variables of functions around the function of a part, must be told by its content. Global variables are
    not strict: what has no such form is told by its type, and what the code changes as it runs is told by the statements that set it.
    """

    def __init__(self, but: Callable[[type], Collection[str]], follows: bool = True, changed: Collection[Any] | None = None) -> None:
        self._but = but
        #: Whether global variables are told.
        self._follows = follows
        #: What the code changes; None while that is found out.
        self._changed = changed
        self._changes: set[Any] = set()
        #: The attributes of objects that functions of their class set.
        self._set_by: list[tuple[str, type, set[str]]] = []
        self._words: set[str] = set()
        self._met: list[tuple[Any, bool, str | None]] = []
        #: The global variable that is being told, or to which that belongs.
        self._reading: str | None = None
        #: Global variables that are told by their type alone, and their types.
        self.untold: dict[tuple[str | None, str], None] = {}
        #: Objects of libraries within the one that is being told, with their places; None outside of any.
        self._inner: dict[int, tuple[int, Any]] | None = None
        #: Variables whose statements are being told.
        self._set: set[tuple[int, str]] = set()
        self._numbers: dict[Any, int] = {}
        self._within: set[int] = set()

    @classmethod
    def of_class(cls, kind: type) -> Telling | None:
        """One that has told the code of a class; None if that cannot be read, as objects of a user's may raise anything there."""
        telling = cls(lambda base: (), changed=None)
        try:
            telling.told_all([kind], is_strict=False)
        except Exception:
            return None
        return telling

    @classmethod
    def of_new_class(cls, kind: type, known: weakref.WeakSet[type]) -> Telling | None:
        """The same of a class that is not yet `known`, which it then is; None of one that is."""
        if kind in known:
            return None
        known.add(kind)
        return cls.of_class(kind)

    def told_all(self, roots: Iterable[Any], is_strict: bool) -> list[Any]:
        told = [self._told(root, is_strict) for root in roots]
        pages = []
        # It grows while it is gone through.
        for value, strict, self._reading in self._met:
            pages.append(self._page(value, strict))
        return [told, pages]

    def changes(self) -> set[Any]:
        """The identities of the variables, attributes and containers that the code changes."""
        words = self._words | {"__call__", "__next__"}
        called = [(kind, names) for function, kind, names in self._set_by if function in words]
        return self._changes | {("self", id(kind), name) for kind, names in called for name in names}

    def functions(self) -> list[types.FunctionType]:
        """The functions of the user's that were met."""
        return [value for value, _, _ in self._met if isinstance(value, types.FunctionType) and not _libraries.is_of_library(value)]

    def classes(self) -> list[type]:
        """The classes of the user's that were met."""
        return [value for value, _, _ in self._met if isinstance(value, type) and not _libraries.is_of_library(value)]

    def names_whole_modules(self) -> bool:
        """Whether modules of the user's are used as a whole, so that it is not known which of their functions are."""
        return any(isinstance(value, _libraries.Source) for value, _, _ in self._met)

    def attributes_read(self, kind: type) -> set[str]:
        """The attributes of its objects that functions of a class read, among those whose names the code has."""
        words = self._words | {"__call__", "__next__", "__iter__", "__getitem__", "__len__"}
        members = [each for base in kind.__mro__ for name, each in vars(base).items() if name in words]
        members = [each.__func__ if isinstance(each, (staticmethod, classmethod)) else each for each in members]
        functions = [each for each in members if isinstance(each, types.FunctionType)]
        return {name for each in functions for name in _code.attributes_read_by(each, _code.tree_of(each))}

    def _meet(self, value: Any, is_strict: bool) -> list[Any]:
        """The number of a value that is told elsewhere."""
        key = value if isinstance(value, _libraries.Source) else id(value)
        if key not in self._numbers:
            self._numbers[key] = len(self._met)
            # Kept, so that no other value gets its address.
            self._met.append((value, is_strict, self._reading))
        return ["number", self._numbers[key]]

    def _page(self, value: Any, is_strict: bool) -> Any:
        """What a function, class or object is, told once."""
        if isinstance(value, type):
            return self._tried(self._class, value, is_strict)
        if isinstance(value, types.FunctionType):
            return self._tried(self._function, value, is_strict)
        if isinstance(value, _libraries.Source):
            return self._tried(self._source, value, is_strict)
        return self._tried(self._object, value, is_strict)

    def _told(self, value: Any, is_strict: bool) -> Any:
        return self._tried(self._form, value, is_strict)

    def _tried(self, tell: Callable[[Any, bool], Any], value: Any, is_strict: bool) -> Any:
        try:
            return tell(value, is_strict)
        except _states.Untold:
            # Of an object of a library that holds what cannot be told, the whole is told by its type.
            if self._inner is not None:
                raise
            if is_strict and not hasattr(value, "__dict__"):
                raise TypeError(_not_told(type(value))) from None
            if not _states.is_resource(value) and not _states.is_reference(value):
                self.untold[self._reading, _values.name_of(type(value))] = None
            return _by_type(value)
        except Exception:
            if is_strict:
                raise
            return _by_type(value)

    def _form(self, value: Any, is_strict: bool) -> Any:
        """Plain values themselves, and the number of what is told elsewhere."""
        if type(value) in _PLAIN:
            # Python writes no long numbers in decimal digits.
            return hex(value) if isinstance(value, int) and value.bit_length() > 9999 else value
        if not is_strict and self._is_changed(id(value)):
            return "changed"
        if isinstance(value, type):
            return ["library", _values.name_of(value)] if _libraries.is_of_library(value) else self._meet(value, is_strict)
        if isinstance(value, enum.Enum):
            return [self._told(type(value), is_strict), value.name]
        if isinstance(value, types.ModuleType):
            return self._module(value)
        if isinstance(value, PurePath):
            return ["path", str(value)]
        for plain in (int, float, str, bytes):
            if isinstance(value, plain):
                return [self._told(type(value), is_strict), plain.__repr__(value)]
        if isinstance(value, _CONTAINERS) or isinstance(value, Mapping) and type(value).__module__ not in _PASSING:
            return self._container(value, is_strict)
        if isinstance(value, types.FunctionType):
            return self._meet(value, is_strict)
        inner = _values.functions_in(value)
        if inner is not None:
            return [type(value).__qualname__, self._told(inner, is_strict)]
        if inspect.isroutine(value) and _libraries.is_of_library(type(value)):
            return ["library", _values.name_of(value), *self._bound_to(value, is_strict)]
        data = self._data(value, is_strict)
        if data is None:
            return self._library_object(value) if _values.is_told_by_state(value) else self._meet(value, is_strict)
        return data if _libraries.is_of_library(type(value)) else [self._told(type(value), is_strict), data]

    def _bound_to(self, value: Any, is_strict: bool) -> list[Any]:
        """What a function of an object of Python's own belongs to, such as the dict of `table.get`."""
        owner = getattr(value, "__self__", None)
        if owner is None or isinstance(owner, (types.ModuleType, type)) or _states.is_generator(owner):
            return []
        return [self._told(owner, is_strict)]

    def _library_object(self, value: Any) -> Any:
        """The type and the state of an object of a library. What it holds of the user's is told as everywhere."""
        is_outer = self._inner is None
        if not is_outer and (_states.is_generator(value) or _states.is_reference(value)):
            # They tell nothing of the object that holds them.
            return _by_type(value)
        if self._inner is None:
            self._inner = {}
        try:
            if id(value) in self._inner:
                return ["again", self._inner[id(value)][0]]
            self._inner[id(value)] = (len(self._inner), value)
            if type(value).__module__ in _PASSING and isinstance(value, Mapping):
                return _by_type(value)
            parts = [self._without_changed(value, part) for part in _states.parts_of(value)]
            return [_values.name_of(type(value)), *self._told(parts, False)]
        finally:
            if is_outer:
                self._inner = None

    def _without_changed(self, owner: Any, state: Any) -> Any:
        """The attributes in a state that the code does not change."""
        if isinstance(state, list):
            return [self._without_changed(owner, each) for each in state]
        if not isinstance(state, dict):
            return state
        return {name: each for name, each in state.items() if not self._is_changed((id(owner), name))}

    def _container(self, value: Any, is_strict: bool) -> Any:
        if id(value) in self._within:
            return "itself"
        self._within.add(id(value))
        try:
            if isinstance(value, Mapping):
                told: Any = [[self._told(key, is_strict), self._told(entry, is_strict)] for key, entry in value.items()]
            elif isinstance(value, _SETS):
                told = sorted((self._told(entry, is_strict) for entry in sorted(value, key=_values.by_name)), key=repr)
            elif isinstance(value, bytearray):
                told = bytes(value)
            else:
                told = [self._told(entry, is_strict) for entry in value]
        finally:
            self._within.remove(id(value))
        kind: Any = type(value)
        more = [self._told(value.default_factory, is_strict)] if isinstance(value, collections.defaultdict) else []
        attributes = {name: each for name, each in getattr(value, "__dict__", {}).items() if not self._is_set(value, name)}
        if attributes and not _libraries.is_of_library(kind):
            more.append([[name, self._told(each, is_strict)] for name, each in attributes.items()])
        return [kind.__qualname__ if _libraries.is_of_library(kind) else self._told(kind, is_strict), told, *more]

    def _data(self, value: Any, is_strict: bool) -> Any:
        """The form for graphs, matrices, arrays and tables; None for anything else."""
        if hasattr(value, "number_of_nodes") and hasattr(value, "edges"):
            keys = {"keys": True} if hasattr(value, "is_multigraph") and value.is_multigraph() else {}
            about = [value.graph] if getattr(value, "graph", None) else []
            parts = [list(value.nodes(data=True)), list(value.edges(data=True, **keys)), *about]
            return [_values.name_of(type(value)), self._told(parts, is_strict)]
        if type(value).__module__.partition(".")[0] == "pandas":
            table = _values.of_pandas(value)
            if table is not None:
                return [type(value).__qualname__, self._told(table, is_strict)]
        if isinstance(value, np.ma.MaskedArray):
            of_it = [np.ma.getdata(value), np.ma.getmaskarray(value), value.fill_value]
            return ["masked", self._told(of_it, is_strict)]
        if isinstance(value, memoryview):
            return ["memory", value.format, list(value.shape or ()), value.tobytes()]
        if hasattr(value, "tocoo"):
            entries = value.tocoo()
            return self._arrays(entries.row, entries.col, entries.data, np.array(value.shape))
        if hasattr(value, "dtype") and hasattr(value, "shape"):
            array = _values.array_of(value)
            if array.dtype.hasobject:
                # The bytes of an array of objects are addresses. An object that is no array makes one of itself.
                return [array.shape, self._told(array.tolist(), is_strict)] if array.shape else None
            return [*_values.kind_of_array(value), self._arrays(array)] if _values.kind_of_array(value) else self._arrays(array)
        if hasattr(value, "to_numpy"):
            names = [value.name] if isinstance(getattr(value, "name", None), str) else []
            return [repr(list(getattr(value, "columns", []))), self._told(value.to_numpy(), is_strict), *names]
        return None

    def _arrays(self, *arrays: NDArray[Any]) -> str:
        return "arrays" if self._changed is None else of_arrays(*arrays)

    def _module(self, module: types.ModuleType) -> list[Any]:
        """The source of a module of the user's that is used as a whole; for others, the name."""
        source = _libraries.source_of(module) if self._follows else None
        return ["module", module.__name__] if source is None else self._meet(source, False)

    def _source(self, source: _libraries.Source, is_strict: bool) -> Any:
        try:
            tree = source.tree()
            return [_code.text_of(tree), self._imported(tree, source.package)]
        except (SyntaxError, ValueError, RecursionError):
            return hashlib.sha256(source.path.read_bytes()).hexdigest()

    def _imported(self, tree: Any, package: str) -> list[Any]:
        return [[name, self._meet(source, False)] for name, source in _libraries.imported(tree, package)]

    def _function(self, function: types.FunctionType, is_strict: bool) -> list[Any]:
        """The code of a function, and the variables that it uses."""
        variables = _code.nonlocals_of(function)
        if _libraries.is_of_library(function):
            # What a decorator of a library encloses is the function of the user's, and how it was asked to change it.
            return ["library", _values.name_of(function), [[name, self._told(value, False)] for name, (_, value) in variables.items()]]
        tree = _code.tree_of(function)
        names = _code.names_of(function, tree)
        if self._changed is None:
            self._note(function, names)
        told = {f"{name}=": self._told(value, is_strict) for name, value in _code.defaults_of(function)}
        for name, (cell, value) in variables.items():
            if not isinstance(value, types.ModuleType):
                told[name] = self._told(value, is_strict) if is_strict or not self._is_changed(id(cell)) else "changed"
        imports = []
        if self._follows:
            chains = [chain for chain in sorted(names.used) if chain[0] not in told]
            told |= {".".join(chain): self._tried(self._global, (function, chain), False) for chain in chains}
            imports = self._imported(tree, function.__globals__.get("__package__") or "") if tree is not None else []
        code = repr(_code.told_code(function.__code__)) if tree is None else _code.text_of(tree)
        set_on_it = [
            [name, self._told(value, False)]
            for name, value in sorted(vars(function).items())
            if name != "__wrapped__" and not self._is_changed(_values.place_of(function, name))
        ]
        return [code, sorted(told.items(), key=lambda item: item[0]), imports, *([set_on_it] if set_on_it else [])]

    def _global(self, read: tuple[types.FunctionType, _code.Chain], is_strict: bool) -> Any:
        """What a function reads by a name of its module."""
        function, chain = read
        return self._variable(_code.nonlocals_of(function), function.__globals__, chain, is_strict)

    def _variable(self, variables: dict[str, tuple[Any, Any]], module: dict[str, Any], chain: _code.Chain, is_strict: bool) -> Any:
        """The value of a variable of a module or of a function around, or of an attribute of it."""
        if chain[0] not in variables and (chain[0] not in module or chain[0].startswith("__")):
            return "built in" if hasattr(builtins, chain[0]) else "absent"
        _, value = variables.get(chain[0]) or (None, module[chain[0]])
        places, value = _values.read((id(module), chain[0]), value, chain[1:])
        if any(map(self._is_changed, (*places, id(value)))):
            return ["changed", self._tried(self._statements, (chain[0], module), False)]
        before, self._reading = self._reading, chain[0]
        try:
            return self._told(value, is_strict)
        finally:
            self._reading = before

    def _statements(self, place: tuple[str, dict[str, Any]], is_strict: bool) -> list[Any]:
        """The statements that set a variable of a file, and the values of the other variables that they name."""
        name, module = place
        found = _code.statements_that_set(name, _libraries.Source(Path(module["__file__"]), "").tree())
        if (id(module), name) in self._set:
            return []
        self._set.add((id(module), name))
        try:
            chains = sorted({chain for _, used in found for chain in used if chain[0] != name and chain[0] in module})
            told = [[".".join(chain), self._tried(self._of_module, (module, chain), False)] for chain in chains]
        finally:
            self._set.remove((id(module), name))
        return [*(text for text, _ in found), *told]

    def _of_module(self, read: tuple[dict[str, Any], _code.Chain], is_strict: bool) -> Any:
        module, chain = read
        return self._variable({}, module, chain, is_strict)

    def _is_changed(self, place: Any) -> bool:
        return self._changed is not None and place in self._changed

    def _note(self, function: types.FunctionType, names: _code.Names) -> None:
        """Keeps in mind what `function` changes."""
        self._words |= _code.words_of(function)
        variables, module = _code.nonlocals_of(function), function.__globals__
        for chain in names.bound | names.changed:
            cell, value = variables.get(chain[0], (None, module.get(chain[0])))
            if chain in names.bound and len(chain) == 1:
                self._changes.add((id(module), chain[0]) if cell is None else id(cell))
            elif chain in names.bound:
                self._changes.add(_values.place_of(_values.read(None, value, chain[1:-1])[1], chain[-1]))
            _, value = _values.read(None, value, chain[1:])
            if chain in names.changed and (issubclass(type(value), _CONTAINERS) or hasattr(type(value), "dtype")):
                self._changes.add(id(value))

    def _class(self, kind: type, is_strict: bool) -> list[Any]:
        """The functions and attributes of a class, by their names, and its bases."""
        members: dict[str, Any] = {}
        left_out = self._but(kind)
        for name, value in sorted(vars(kind).items()):
            if name in left_out or not _values.is_written(kind, name, value):
                continue
            if self._changed is None and isinstance(value, types.FunctionType) and not _libraries.is_of_library(value):
                self._set_by.append((name, kind, _code.attributes_set_by(value, _code.tree_of(value))))
            try:
                members[name] = self._told(value, is_strict)
            except TypeError as error:
                raise TypeError(f"{kind.__qualname__}.{name}: {error}") from None
        if issubclass(kind, enum.Enum):
            members |= {name: self._told(member.value, is_strict) for name, member in kind.__members__.items()}
        # That of Python's own has other names in other versions.
        made_of = [*kind.__bases__, *(() if _libraries.is_of_library(type(kind)) else (type(kind),))]
        return [kind.__qualname__, [self._told(each, is_strict) for each in made_of], self._fields(kind, is_strict), list(members.items())]

    def _fields(self, kind: type, is_strict: bool) -> list[Any]:
        """The fields of a dataclass, and how each is made."""
        if "__dataclass_fields__" not in vars(kind):
            return []
        missing = dataclasses.MISSING
        return [
            [each.name, each.init, *(self._told(value, is_strict) for value in (each.default, each.default_factory) if value is not missing)]
            for each in dataclasses.fields(kind)
        ]

    def _object(self, value: Any, is_strict: bool) -> Any:
        """The class of an object and its attributes; or its text."""
        kind = type(value)
        is_of_library = _libraries.is_of_library(kind)
        attributes = _values.attributes_of(value)
        if attributes is not None:
            if not is_strict:
                attributes = {name: each for name, each in attributes.items() if not self._is_set(value, name)}
            # What a library keeps in its objects is nothing that a user must answer for.
            told = [[name, self._told(each, is_strict and not is_of_library)] for name, each in attributes.items()]
            return [self._told(kind, is_strict), told]
        text = repr(value)
        # A text with an address differs between processes.
        made: Any = kind
        if made.__repr__ is object.__repr__ or " at 0x" in text:
            raise TypeError(_not_told(kind))
        return [self._told(kind, is_strict), text]

    def _is_set(self, value: Any, name: str) -> bool:
        """Whether the code changes an attribute of an object."""
        return self._is_changed(_values.place_of(value, name)) or any(self._is_changed(("self", id(base), name)) for base in type(value).__mro__)


def _not_told(kind: type) -> str:
    return f"no digest tells a {kind.__qualname__} from others, by which runs are known: give a `version`, and another one where it changes"


def _by_type(value: Any) -> list[Any]:
    # An object may raise an exception even where it is asked for its class.
    within = (value, *(vars(value).values() if issubclass(type(value), type) else ()))
    codes = [_code.told_code(each.__code__) for each in within if type(each) is types.FunctionType]
    # The module of a user's class may be called otherwise tomorrow.
    return ["some", _values.name_of(type(value)) if _libraries.is_of_library(type(value)) else type(value).__qualname__, *codes]
