"""The command `meshfold`, also as `python -m meshfold`: the program."""

import os
import signal
import sys

from meshfold._meshfold import program


def main() -> None:
    """Does what the arguments of this process ask for, and ends the process."""
    # The program hears Ctrl-C itself, or is ended by it. Where it was started with Ctrl-C ignored, this stays so.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    script = os.path.abspath(sys.argv[0])
    command = [script] if os.access(script, os.X_OK) else [sys.executable, "-m", "meshfold"]
    program(sys.argv[1:], command)


if __name__ == "__main__":
    main()
