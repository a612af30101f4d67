"""Meshfold simulates decentralized federated learning with the models of all clients stacked in one array.

`run` carries out an experiment, a YAML file or a dict. `read` reads earlier runs from disk, made by Python or by the program.
Both return `Runs`, whose `metrics()` and `clients()` are Arrow tables.
"""

# What the package offers is imported when it is first asked for: the command `meshfold` starts without NumPy.

#: Type checkers take it for true, as that of `typing`, which is not imported as it takes long.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from meshfold._public import *
    from meshfold._public import __all__ as __all__
else:

    def __getattr__(name):
        if name in ("__all__", "__version__") or not name.startswith("_"):
            from importlib import import_module

            public = import_module("meshfold._public")
            globals().update({known: getattr(public, known) for known in public.__all__}, __all__=public.__all__)
            if name in globals():
                return globals()[name]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__():
        return sorted({*globals(), *__getattr__("__all__")})
