"""Starting `newslm` as a person does."""

import os
import subprocess
import sys
from pathlib import Path

from resources.store import Store

NEWSLM = str(Path(sys.executable).with_name("newslm"))


def newslm(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, its output as text."""
    return subprocess.run(
        [NEWSLM, *arguments], capture_output=True, text=True, check=False, env={**os.environ, **variables}
    )


def store_of(home: Path) -> Store:
    """The store of a home."""
    return Store(uri=str(home / "store"))
