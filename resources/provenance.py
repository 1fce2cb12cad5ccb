"""What a result was made from, beyond the data itself.

Belongs here: the code's version. Does not belong here: versions of datasets (`store.py`).
"""

import shutil
import subprocess
from functools import cache
from pathlib import Path


@cache
def git_commit() -> str | None:
    """The commit of the code, with `-dirty` where files differ from it; None outside a git checkout."""
    git = shutil.which("git")
    if git is None:
        return None
    command = [
        git,
        "-C",
        str(Path(__file__).parent),
        "describe",
        "--always",
        "--dirty",
        "--abbrev=12",
        "--exclude=*",
    ]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    return answer.stdout.strip() or None
