"""The command `meshfold`, also as `python -m meshfold`: the program, which also knows methods that are written in Python.

    python -m meshfold --import my_methods run sweep.yaml

imports a module first, or a file such as `my_methods.py`, so that configurations may name its methods.
"""

import os
import signal
import sys

from meshfold._meshfold import program

# Annotations are in quotation marks: the command starts without `typing` and without what the package offers.


def main() -> None:
    """Does what the arguments of this process ask for, and ends the process."""
    # The program hears Ctrl-C itself, or is ended by it. Where it was started with Ctrl-C ignored, this stays so.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    modules, arguments = _separated(sys.argv[1:])
    for module in modules:
        _import(module)
    script = os.path.abspath(sys.argv[0])
    command = [script] if os.access(script, os.X_OK) else [sys.executable, "-m", "meshfold"]
    command += [word for module in modules for word in ("--import", module)]
    program(arguments, command, _methods() if modules or any(map(_may_name_methods, arguments)) else [])


def _separated(arguments: "list[str]") -> "tuple[list[str], list[str]]":
    """The modules that are to be imported, files by their whole path, and the program's own arguments."""
    modules, others, left = [], [], iter(arguments)
    for argument in left:
        name, is_given, module = argument.partition("=")
        if name != "--import":
            others.append(argument)
            continue
        module = module if is_given else next(left, "")
        if not module:
            _refuse("--import needs a module of Python, or a file")
        modules.append(os.path.abspath(module) if module.endswith(".py") else module)
    return modules, others


def _import(module: str) -> None:
    """Imports a module by its name, from the current folder or where Python finds it, or from its file."""
    if os.path.split(module)[0]:
        return _load(module)
    from importlib import import_module

    sys.path.insert(0, os.getcwd())
    try:
        import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        _refuse(f"--import {module}: there is no such module")


def _load(path: str) -> None:
    """Loads a file, unless that was done before. Modules beside it can be imported, but none in place of one of Python's own."""
    from importlib.util import module_from_spec, spec_from_file_location

    if not os.path.isfile(path):
        _refuse(f"--import {path}: there is no such file")
    if any(_is_file(known, path) for known in list(sys.modules.values())):
        return
    _open(os.path.dirname(path))
    name = _free_name(os.path.basename(path).removesuffix(".py"), path)
    spec = spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None, "its name ends in .py"
    module = module_from_spec(spec)
    # Where pickle finds classes of the file.
    sys.modules[name] = module
    _LOADED.add(name)
    spec.loader.exec_module(module)


#: The folders of the files that were loaded, and the names of their modules.
_FOLDERS: "list[str]" = []
_LOADED: "set[str]" = set()


def _open(folder: str) -> None:
    """Lets modules of a folder be imported: after those of Python's own, and before all others, also those of the same name."""
    if folder not in sys.path:
        later = [os.path.basename(entry) in ("site-packages", "dist-packages") or entry in _FOLDERS for entry in sys.path]
        sys.path.insert(later.index(True) if True in later else len(later), folder)
    for name, module in list(sys.modules.items()):
        file, top = getattr(module, "__file__", None) or "", name.partition(".")[0]
        beside = (os.path.join(folder, f"{top}.py"), os.path.join(folder, top, "__init__.py"))
        # The files that imported it keep it.
        is_other = name not in _LOADED and any(file.startswith(other + os.sep) for other in _FOLDERS if other != folder)
        if is_other and any(map(os.path.isfile, beside)):
            del sys.modules[name]
    _FOLDERS.append(folder)


def _is_file(module: object, path: str) -> bool:
    file = getattr(module, "__file__", None)
    return isinstance(file, str) and os.path.basename(file) == os.path.basename(path) and os.path.exists(file) and os.path.samefile(file, path)


def _free_name(stem: str, path: str) -> str:
    """What the module of a file is called: by its stem, by which processes that are begun find it, too, unless that means another module."""
    from importlib.util import find_spec

    def is_free(name: str) -> bool:
        if name in sys.modules or name in sys.stdlib_module_names or "." in name:
            return False
        found = find_spec(name)
        return found is None or found.origin is None or os.path.realpath(found.origin) == os.path.realpath(path)

    names = [stem, *(f"{stem.replace('.', '_')}_{number}" for number in range(2, 1000))]
    return next(name for name in names if is_free(name))


def _refuse(why: str) -> None:
    print(f"error: {why}", file=sys.stderr)
    sys.exit(2)


def _may_name_methods(argument: str) -> bool:
    """Whether an argument, or the file that it names, may be of an experiment with a method of one's own."""
    if not os.path.isfile(argument):
        # A pipe can be read only once, by the program.
        return "own" in argument or (os.path.exists(argument) and not os.path.isdir(argument))
    if os.path.getsize(argument) > 1 << 20:
        return False
    with open(argument, "rb") as file:
        return b"own" in file.read()


def _methods() -> "list[dict[str, object]]":
    from meshfold import _own

    return _own.classes()


if __name__ == "__main__":
    main()
