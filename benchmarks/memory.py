"""What memory the extractor takes while it streams many pages, in a process that does nothing else.

Extracts the HTML files of a folder over and over, each to JSON, and prints the resident memory in MiB: at a fifth
of the way, at the end, and the highest. Reads /proc, so it needs Linux.

    python benchmarks/memory.py ml/default_model/model.json pages/ --pages 100000
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory

from ml.charset import encode
from ml.extractor import Extractor
from ml.page import PageError

_STATUS = Path("/proc/self/status")


def memory_of(extractor: Extractor, htmls: Iterable[str], pages: int) -> dict[str, float]:
    """What `stream` measures in a process of its own; raises `CalledProcessError` if that fails."""
    with TemporaryDirectory() as folder:
        model, numbered = Path(folder) / "model.json", enumerate(htmls)
        extractor.save(model)
        for number, html in numbered:
            (Path(folder) / f"{number:06}.html").write_bytes(encode(html))
        command = [sys.executable, __file__, str(model), folder, "--pages", str(pages)]
        printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    figures: dict[str, float] = json.loads(printed)
    return {**figures, "streamed_pages": pages}


def stream(extractor: Extractor, files: Iterable[Path], pages: int) -> dict[str, float]:
    """Memory in MiB while `pages` pages are read from `files`, from the first again after the last."""
    early = 0.0
    for number, file in enumerate(islice(cycle(files), pages), start=1):
        _extract(extractor, file)
        if number == max(1, pages // 5):
            early = _mib("VmRSS")
    return {"early_mib": early, "end_mib": _mib("VmRSS"), "peak_mib": _mib("VmHWM")}


def _extract(extractor: Extractor, file: Path) -> str:
    with suppress(PageError):
        article = extractor.extract(file.read_bytes()).article
        return article.to_json() if article else ""
    return ""


def _mib(key: str) -> float:
    """Of this process; not `ru_maxrss`, with which a child process begins where its parent was."""
    lines = dict(line.split(":", 1) for line in _STATUS.read_text().splitlines())
    return int(lines[key].split()[0]) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path, help="a saved extractor")
    parser.add_argument("folder", type=Path, help="of HTML files")
    parser.add_argument("--pages", type=int, default=5_000, help="how many to stream")
    arguments = parser.parse_args()
    files = sorted(arguments.folder.glob("*.html"))
    if not files:
        parser.error(f"found no .html file in {arguments.folder}, expected at least one")
    print(json.dumps(stream(Extractor.load(arguments.model), files, arguments.pages)))


if __name__ == "__main__":
    main()
