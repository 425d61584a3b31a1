"""Commands of the module, which the program starts, too: python3 -m voltmill COMMAND ARGUMENT...

A failure is one line that begins with "error: "; the exit status is one of the program's.
"""

import importlib
import sys

from ._job import Error

# Name: (module with a function of that name, its arguments).
COMMANDS = {
    "coefficients": ("_coefficients", "IN.mat[:NAME] OUT.h5"),
    "fetch": ("_candidates", "CANDIDATES"),
    "heimdall": ("_candidates", "CANDIDATES"),
    "kerchunk": ("_kerchunk", "PRODUCT URL"),
    "provenance": ("_provenance", "PRODUCT FOLDER"),
}


def main(words):
    """Run the command that some words name; return its exit status."""
    try:
        name, *arguments = words or [""]
        module, usage = COMMANDS.get(name, (None, ""))
        if not module or len(arguments) != len(usage.split()):
            names = [name] if module else COMMANDS
            usages = "; ".join(f"{key} {COMMANDS[key][1]}" for key in names)
            raise Error(f"expected python3 -m voltmill {usages}", 2)
        getattr(importlib.import_module(f".{module}", __package__), name)(*arguments)
    except Error as error:
        print(f"error: {error}", file=sys.stderr)
        return error.status
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        print(f"error: {sys.executable} has no {missing}, which {name} needs (Debian, Ubuntu: apt-get install "
              f"python3-{missing}; VOLTMILL_PYTHON names another Python)", file=sys.stderr)
        return 5
    except (KeyError, OSError, RuntimeError, ValueError) as error:
        path, why = getattr(error, "filename", None), getattr(error, "strerror", None)
        print(f"error: {path}: {why}" if path and why else f"error: {arguments[0]}: {error}", file=sys.stderr)
        return 4
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
