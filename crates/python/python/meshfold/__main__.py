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
    from importlib import import_module

    folder, name = os.path.split(module)
    name = name.removesuffix(".py") if folder else name
    sys.path.insert(0, folder or os.getcwd())
    try:
        import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        _refuse(f"--import {module}: there is no such module")


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
