"""Optional dependencies: a clear message in place of an ImportError.

Belongs here: naming the extra that brings a module, and the noise of importing one. Does not belong here:
importing it.
"""

import logging
from importlib.util import find_spec


def install_command(extra: str = "") -> str:
    """What to type, in the folder of the repository, to install an extra in versions that work together."""
    return f"pip install -c constraints.txt '.[{extra}]'" if extra else "pip install -c constraints.txt ."


def require_extra(extra: str, *modules: str) -> None:
    """Raise `RuntimeError` with the command to run where a module of an extra is missing."""
    missing = [name for name in modules if find_spec(name) is None]
    if missing:
        raise RuntimeError(
            f"not installed: {', '.join(missing)}, of the extra [{extra}]. In the folder of the repository: "
            f"{install_command(extra)}"
        )


def quieten_bitsandbytes() -> None:
    """Keep its import from announcing an optional CPU kernel that nothing here uses; call before importing peft."""
    logging.getLogger("bitsandbytes.backends.cpu.ops").setLevel(logging.ERROR)
