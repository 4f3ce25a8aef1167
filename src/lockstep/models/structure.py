"""What a person's own model is, as lines of text.

A function over Ops is described by its source without comments, its default and bound values, and
the functions and constants of the person's own that it uses; a framework's module by its parts with
their settings, and the source of the person's own classes among them. Models whose lines differ are
different models; the values of weights are not in the lines. No framework is imported here: modules
are inspected as Python objects.
"""

from __future__ import annotations

import ast
import builtins
import dis
import functools
import hashlib
import inspect
import json
import re
import sysconfig
import threading
import types
from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...))
# where modules of the frameworks keep their parts and parameters
HOLDERS = {"_modules", "_sub_layers", "_cells", "_children", "_layers"} | {
    "_parameters", "_params", "_buffers", "_reg_params",
}  # fmt: skip
# set by a framework, not by who builds the module: a mode, and names that are numbered on the way
PASSING = {"training", "name", "parent", "built", "param_prefix", "arguments_key", "cell_type"} | {
    "grad_ops_label", "has_bprop", "is_top_cell", "instance_name", "requires_grad",
}  # fmt: skip
TRAINED = ("requires_grad", "stop_gradient", "grad_req", "trainable")
LIBRARIES = tuple(
    str(Path(path).resolve()) for path in (sysconfig.get_path("stdlib"), Path(__file__).parents[1])
)
ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def structure(model: Any, name: str = "model") -> tuple[str, ...]:
    """The lines that say what a model, or another function of a person's own, is.

    >>> def net(ops, w, x, power=2):
    ...     return (x @ w["w"]) ** power  # any comment
    >>> print(*structure(net), sep="\\n")
    model: net
    model | def net(ops, w, x, power=2):
    model |     return (x @ w['w']) ** power
    model.defaults = (2,)
    """
    return tuple(_Description(model).lines(model, name))


def initial_arrays(model: Any) -> Iterator[tuple[str, np.ndarray]]:
    """The arrays that a module holds, by their place in it."""
    if callable(getattr(model, "get_weights", None)):
        yield from ((str(i), np.asarray(array)) for i, array in enumerate(model.get_weights()))
        return
    description = _Description(model)
    list(description.lines(model, "model"))
    for path, held in description.arrays:
        array = _numpy(held)
        if array is not None:
            yield path, array


def digest_of(lines: Iterable[str]) -> str:
    """Twelve hex digits."""
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12]


def first_difference(there: Iterable[str], here: Iterable[str]) -> str:
    """The first line in which two structures differ, as each has it.

    >>> first_difference(["model: Net", "model.1: ReLU()"], ["model: Net", "model.1: Tanh()"])
    "'model.1: ReLU()' there, 'model.1: Tanh()' here"
    """
    for one, other in zip_longest(there, here, fillvalue="nothing more"):
        if one != other:
            return f"{one!r} there, {other!r} here"
    return "no line"


class _Description:
    """The lines and arrays of one model; every object is described once."""

    def __init__(self, model: Any) -> None:
        library = [c for c in type(model).__mro__[:-1] if not _is_own(c)]
        self._base: type | None = library[-1] if library else None
        self._seen: dict[int, Any] = {}  # kept alive, or an address could be used again
        self.arrays: list[tuple[str, Any]] = []

    def lines(self, value: Any, path: str) -> Iterator[str]:
        if _is_plain(value):
            yield f"{path} = {value!r}"
            return
        if not isinstance(value, np.ndarray) and id(value) in self._seen:
            yield f"{path}: seen before"
            return
        self._seen[id(value)] = value
        if isinstance(value, np.ndarray):
            content = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()[:12]
            yield f"{path}: array {value.dtype} {value.shape} {content}"
        elif isinstance(value, types.ModuleType):
            yield f"{path}: module {value.__name__}"
        elif isinstance(value, Mapping):
            for key, item in value.items():
                yield from self.lines(item, f"{path}.{key}")
        elif isinstance(value, list | tuple):
            for i, item in enumerate(value):
                yield from self.lines(item, f"{path}[{i}]")
        elif isinstance(value, functools.partial):
            yield from self.lines(value.func, path)
            yield from self.lines(value.args, f"{path}.bound")
            yield from self.lines(value.keywords, f"{path}.bound")
        elif inspect.ismethod(value):
            yield from self.lines(value.__func__, path)
            yield from self.lines(value.__self__, f"{path}.self")
        elif inspect.isfunction(value):
            yield from self._function(value, path)
        elif isinstance(value, type):
            yield f"{path}: class {value.__qualname__}"
            if _is_own(value):
                yield from self._source(value, path)
        elif self._is_part(value):
            yield from self._part(value, path)
        elif _is_array(value):
            self.arrays.append((path, value))
            trained = "".join(f" {n}={getattr(value, n)}" for n in TRAINED if hasattr(value, n))
            yield f"{path}: {type(value).__name__} {_shape(value)}{trained}"
        else:
            yield f"{path}: {_name(value)}"

    def _is_part(self, value: Any) -> bool:
        return not _is_array(value) and (
            (self._base is not None and isinstance(value, self._base)) or _is_own(type(value))
        )

    def _part(self, value: Any, path: str) -> Iterator[str]:
        settings: list[tuple[str, Any]] = []
        others: list[tuple[str, Any]] = []
        for name, held in _attributes(value).items():
            (settings if _is_plain(held) else others).append((name, held))
        shown = _shown(value)
        listed = "".join(
            f" {n}={v!r}" for n, v in sorted(settings) if v != [] and f"{n}=" not in shown
        )
        yield f"{path}: {shown}{listed}"
        for cls in type(value).__mro__[:-1]:
            if _is_own(cls) and id(cls) not in self._seen:
                self._seen[id(cls)] = cls
                yield from self._source(cls, path)
        yield from _config(value, path)
        for name, held in others:
            yield from self.lines(held, path if name in HOLDERS else f"{path}.{name}")

    def _source(self, cls: type, path: str) -> Iterator[str]:
        node = _class_node(cls)
        if node is not None:
            text = ast.unparse(node)
        else:
            text = "\n".join(
                f"{name}: {_code_digest(member.__code__)}"
                for name, member in vars(cls).items()
                if inspect.isfunction(member)
            )
        yield from (f"{path} | {line}" for line in text.splitlines())

    def _function(self, function: types.FunctionType, path: str) -> Iterator[str]:
        if not _is_own(function):
            yield f"{path}: {_name(function)}"
            return
        yield f"{path}: {function.__name__}"
        node = _node(function.__code__)
        text = ast.unparse(node) if node else f"compiled {_code_digest(function.__code__)}"
        yield from (f"{path} | {line}" for line in text.splitlines())
        for defaults in (function.__defaults__, function.__kwdefaults__):
            if defaults:
                yield from self.lines(defaults, f"{path}.defaults")
        names = function.__code__.co_freevars
        for name, cell in zip(names, function.__closure__ or (), strict=True):
            held = _cell(cell)
            if held is not function:
                yield from self.lines(held, f"{path}.{name}")
        for name in sorted(set(_globals(function.__code__))):
            if name in function.__globals__:
                yield from self.lines(function.__globals__[name], name)
            elif not hasattr(builtins, name):
                yield f"{name}: not there"


# --- single objects


def _is_plain(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return all(_is_plain(item) for item in value)
    return type(value) in PLAIN


def _is_own(value: Any) -> bool:
    """Whether a class or function is a person's: from no library, and not built in."""
    try:
        file = inspect.getsourcefile(value)
    except (TypeError, OSError):
        # a class of a notebook or of exec has no file; one of compiled code has a module with one
        module = getattr(value, "__module__", None)
        return inspect.isclass(value) and module in ("__main__", None)
    if file is None or file.startswith("<"):
        return True
    path = str(Path(file).resolve())
    return "-packages" not in path and not path.startswith(LIBRARIES)


def _is_array(value: Any) -> bool:
    return hasattr(value, "dtype") and not callable(getattr(value, "shape", callable))


def _shown(value: Any) -> str:
    """A part as its library shows it, if that is one line without a running number."""
    kind = type(value)
    if _is_own(kind) or hasattr(value, "get_config"):
        return f"{kind.__name__}()"
    text = ADDRESS.sub("", repr(value))
    return text if "\n" not in text and text.startswith(kind.__name__) else f"{kind.__name__}()"


def _name(value: Any) -> str:
    """Of what is not looked into: that of a library's function, or of its class."""
    if isinstance(value, types.ModuleType):
        return value.__name__
    named = value if hasattr(value, "__name__") else type(value)
    return f"{getattr(named, '__module__', '')}.{named.__name__}"


def _attributes(value: Any) -> dict[str, Any]:
    """Public attributes, the parts, and what the person's own classes assign to self.

    What has a config of its own says its settings there."""
    assigned = {name for cls in type(value).__mro__ if _is_own(cls) for name in _assigned(cls)}
    hides = hasattr(value, "get_config")
    return {
        name: held
        for name, held in getattr(value, "__dict__", {}).items()
        if (name in HOLDERS or name in assigned or not (hides or name.startswith("_")))
        and (name not in PASSING or name in assigned)
    }


def _assigned(cls: type) -> Iterator[str]:
    """Names of self that the methods of a class assign to."""
    for member in vars(cls).values():
        if inspect.isfunction(member):
            for step in dis.get_instructions(member):
                if step.opname == "STORE_ATTR":
                    yield step.argval


def _config(value: Any, path: str) -> Iterator[str]:
    """What a part says of itself, where it can: how its parts are joined, and their settings."""
    describe = getattr(value, "get_config", None)
    if not callable(describe):
        return
    try:
        config = describe()
    except (NotImplementedError, TypeError):  # it takes more than plain settings
        return
    numbers: dict[str, str] = {}  # names are numbered throughout a process: by their order here
    text = json.dumps(_renamed(config, numbers), indent=1, default=_name)
    for name, number in numbers.items():
        text = text.replace(json.dumps(name), json.dumps(number))
    yield from (f"{path} | {ADDRESS.sub('', line)}" for line in text.splitlines())


def _renamed(value: Any, numbers: dict[str, str]) -> Any:
    if isinstance(value, Mapping):
        if len(value) > 1 and isinstance(value.get("name"), str):  # a type's has nothing beside it
            numbers.setdefault(value["name"], f"#{len(numbers)}")
        return {str(key): _renamed(item, numbers) for key, item in value.items()}
    return [_renamed(v, numbers) for v in value] if isinstance(value, list | tuple) else value


def _shape(value: Any) -> str:
    shape = value.shape
    return str(tuple(shape)) if shape is not None else "of no shape yet"


def _numpy(value: Any) -> np.ndarray | None:
    """A framework's array, or parameter, as NumPy's; None of one that has no values yet."""
    try:
        if callable(getattr(value, "data", None)):  # a parameter around an array
            value = value.data()
        for step in ("detach", "cpu"):
            value = getattr(value, step)() if hasattr(value, step) else value
    except Exception:  # each framework has an error of its own for what has no values yet
        return None
    if "bfloat16" in str(getattr(value, "dtype", "")) and hasattr(value, "float"):
        value = value.float()  # NumPy has no such type
    for how in ("asnumpy", "numpy"):
        if hasattr(value, how):
            return np.asarray(getattr(value, how)())
    try:
        return np.asarray(value)
    except TypeError:  # the key of a generator is an array that only its framework reads
        return np.array(str(value))


# --- code


def _node(code: types.CodeType) -> ast.AST | None:
    """A function in its file, apart from others on the same line; None if it cannot be found."""
    try:
        lines, _ = inspect.findsource(code)
        tree = _parsed("".join(lines))
    except (OSError, SyntaxError, IndexError):
        return None
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    found = [n for n in ast.walk(tree) if isinstance(n, kinds) and _fits(n, code)]
    return min(found, key=_length, default=None)


_PARSING = threading.Lock()


def _parsed(source: str) -> ast.Module:
    """The syntax tree of a source. One thread at a time: Python 3.11 fails with a SystemError
    when two build trees in turns."""
    with _PARSING:
        return ast.parse(source)


def _class_node(cls: type) -> ast.AST | None:
    """A class in its file: the one of that name around its first method."""
    codes = [m.__code__ for m in vars(cls).values() if inspect.isfunction(m)]
    lines = [c.co_firstlineno for c in codes if c.co_qualname.startswith(cls.__qualname__ + ".")]
    try:
        source, _ = inspect.findsource(codes[0] if lines else cls)
        tree = _parsed("".join(source))
    except (OSError, TypeError, SyntaxError, IndexError):
        return None
    found = [
        n
        for n in ast.walk(tree)
        if isinstance(n, ast.ClassDef)
        and n.name == cls.__name__
        and all(n.lineno <= line <= (n.end_lineno or 0) for line in lines)
    ]
    return min(found, key=_length, default=None)


def _fits(node: Any, code: types.CodeType) -> bool:
    if isinstance(node, ast.Lambda):
        begin = node.lineno, node.col_offset
        end = node.end_lineno or 0, node.end_col_offset or 0
        if code.co_name != "<lambda>" or not begin[0] <= code.co_firstlineno <= end[0]:
            return False
        # (line, end line, column, end column) of each instruction, where it has a place
        places: list[Any] = [p for p in code.co_positions() if None not in p and p[3]]
        return all(begin <= (p[0], p[2]) and (p[1], p[3]) <= end for p in places)
    first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
    return bool(node.name == code.co_name and first == code.co_firstlineno)


def _length(node: Any) -> tuple[int, int]:
    return node.end_lineno - node.lineno, node.end_col_offset - node.col_offset


def _code_digest(code: types.CodeType) -> str:
    """Of code without source: of instructions and constants, in this version of Python."""
    inner = (_code_digest(c) if isinstance(c, types.CodeType) else repr(c) for c in code.co_consts)
    return digest_of([code.co_code.hex(), *inner, *code.co_names, *code.co_varnames])


def _globals(code: types.CodeType) -> Iterator[str]:
    """Names that a function, or one inside it, takes from its module."""
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield step.argval
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _globals(inner)


def _cell(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # assigned later
        return None
