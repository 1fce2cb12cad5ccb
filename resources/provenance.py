"""What a result was made from, beyond the data itself.

Belongs here: the code's version, and what a model rests on. Does not belong here: versions of datasets (`store.py`).
"""

import shutil
import subprocess
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict


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


class MadeFrom(BaseModel):
    """What a model is made from, beside its training set."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: str
    corpus_version: str
    split_version: str
    fundus_version: str
    git_commit: str | None  # None outside a git checkout

    @property
    def tags(self) -> dict[str, str]:
        """The same as tags, whose values are text."""
        return {name: value or "unknown" for name, value in self}
