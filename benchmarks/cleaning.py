"""How faithful, short and fast the compact page is, and how well blocks can carry an article.

Reads the CC-NEWS pages under --data, takes Fundus' extraction as the reference and prints two tables. The peer
is the cleaning that the paper's public code states, measured on the same pages in the same run. Words count as
kept wherever a model would read them, in JSON-LD and in attributes too.

    python benchmarks/cleaning.py --data ../shared/data/ccnews --json cleaning.json
"""

import argparse
import json
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import mean, median

from rapidfuzz.distance import LCSseq
from rich.console import Console
from rich.table import Table
from selectolax.lexbor import LexborHTMLParser, LexborNode

from ml.alignment import Role, align, target_coverage, words
from ml.archives import read_warc
from ml.article import Article
from ml.page import decode, parse_page, render_compact
from ml.tokens import count_tokens
from resources.fundus.extraction import article_of

DEFAULT_DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "ccnews"
MAX_INPUT_TOKENS = 24_000
ROUNDS = 3  # the fastest counts: the others measure what else the machine was doing


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A real page and what Fundus extracts from it."""

    url: str
    publisher: str
    html: str
    article: Article


@dataclass(frozen=True, kw_only=True)
class Cleaning:
    """What one way of cleaning does to the samples."""

    recall: list[float]
    tokens: list[int]
    pages_per_s: float

    def figures(self, prefix: str = "") -> dict[str, float]:
        return {
            f"{prefix}recall_mean": mean(self.recall),
            f"{prefix}recall_share_090": mean(value >= 0.9 for value in self.recall),
            f"{prefix}tokens_median": median(self.tokens),
            f"{prefix}share_within_24k": mean(count <= MAX_INPUT_TOKENS for count in self.tokens),
            f"{prefix}pages_per_s": self.pages_per_s,
        }


def samples(data: Path) -> Iterator[Sample]:
    """Every distinct page of the folder from which Fundus extracts a body."""
    from fundus import PublisherCollection

    rows = [json.loads(line) for line in (data / "manifest.jsonl").read_text().splitlines()]
    wanted: defaultdict[tuple[str, str], list[dict[str, str]]] = defaultdict(list)  # one URL may come twice
    for row in rows:
        if not row["duplicate"]:
            wanted[row["warc"], row["url"]].append(row)
    publishers = {publisher.__name__: publisher for publisher in PublisherCollection}
    for warc in sorted({row["warc"] for row in rows}):
        for page in read_warc(data / warc):
            if wanted[warc, page.url or ""]:
                row = wanted[warc, page.url or ""].pop(0)
                html = decode(page.data, charset=page.charset)
                crawled = datetime.fromisoformat(row["crawl_date"])
                fields = publishers[row["publisher"]].parser(crawled).parse(html, "suppress")
                article = article_of(fields)
                if article.body.lines():
                    yield Sample(url=row["url"], publisher=row["publisher"], html=html, article=article)


def compact(html: str) -> str:
    return render_compact(parse_page(html))


# The peer, rule by rule as the paper's public code states them (stolzenp/news-crawler-slm, step_03_clean_html).
_PEER_DROPPED = (
    "link",
    "style",
    "svg",
    "a",
    "nav",
    "img",
    "figure",
    "ins",
    "iframe",
    "tickaroo-liveblog",
    "astro-island",
)
_PEER_AD_CLASSES = ("ad", "sponsored")  # "advertisement", which the code also names, contains "ad"
_PEER_COMMENT_TAGS = re.compile(
    rf"<(?P<tag>{'|'.join(_PEER_DROPPED)})\b[^>]*>.*?</(?P=tag)>|<(?:{'|'.join(_PEER_DROPPED)})[^>]*>",
    re.DOTALL,
)


def peer(html: str) -> str:
    """The page after the public code's cleaning, which parses with a slower library than this copy of its rules."""
    tree = LexborHTMLParser(html)
    for node in tree.css(",".join(_PEER_DROPPED)):
        node.decompose()
    for node in tree.css("script"):
        if "application/ld+json" not in (node.attributes.get("type") or "").lower():
            node.decompose()
    for node in tree.css("div, section"):
        names = ((node.attributes.get(key) or "").lower() for key in ("class", "id"))
        if any(ad in name for name in names for ad in _PEER_AD_CLASSES):
            node.decompose()
    for node in tree.css("[style]"):
        del node.attrs["style"]
    for comment in _comments(tree):
        comment.replace_with(_PEER_COMMENT_TAGS.sub("", comment.comment_content or ""))
    return (tree.html or "").strip()


def _comments(tree: LexborHTMLParser) -> list[LexborNode]:
    return (
        [node for node in tree.root.traverse(include_text=True) if node.is_comment_node] if tree.root else []
    )


def measure(clean: Callable[[str], str], pages: list[Sample]) -> Cleaning:
    cleaned = [clean(page.html) for page in pages]
    return Cleaning(
        recall=[target_coverage(text, page.article) for text, page in zip(cleaned, pages, strict=True)],
        tokens=[count_tokens(text) for text in cleaned],
        pages_per_s=len(pages) / min(_seconds(clean, pages) for _ in range(ROUNDS)),
    )


def _seconds(clean: Callable[[str], str], pages: list[Sample]) -> float:
    """Processor time, so that other programs on the machine count as little as they can."""
    started = time.process_time()
    for page in pages:
        clean(page.html)
    return time.process_time() - started


def oracle_rouge_l(page: Sample) -> float:
    """ROUGE-L (F1 on words) of the text of all labelled blocks: what a perfect block model would reach."""
    parsed = parse_page(page.html)
    roles = align(parsed, page.article).roles
    chosen = [block.text for block, role in zip(parsed.blocks, roles, strict=True) if role is not Role.NONE]
    found, wanted = words("\n\n".join(chosen)), words(page.article.plaintext)
    return 2 * LCSseq.similarity(found, wanted) / (len(found) + len(wanted))


def report(pages: list[Sample]) -> dict[str, float]:
    oracle = [oracle_rouge_l(page) for page in pages]
    return {
        **measure(compact, pages).figures(),
        **measure(peer, pages).figures("peer_"),
        "oracle_rouge_l_mean": mean(oracle),
        "oracle_share_under_09": mean(value < 0.9 for value in oracle),
        "pages": len(pages),
    }


_ROWS = {
    "recall_mean": ("target words kept, mean", "at least 0.99", "{:.4f}"),
    "recall_share_090": ("pages with at least 0.9 of them", "at least 0.98", "{:.4f}"),
    "tokens_median": ("SmolLM2 tokens, median", "at most 4,000", "{:,.0f}"),
    "share_within_24k": ("pages within 24,000 tokens", "at least 0.99", "{:.4f}"),
    "pages_per_s": ("pages a second, one core", "at least 150", "{:.0f}"),
}


def show(figures: dict[str, float], console: Console) -> None:
    cleaning = Table(title=f"Cleaning {figures['pages']:.0f} real pages")
    for heading in ("", "compact page", "the paper's cleaning", "aim"):
        cleaning.add_column(heading, justify="left" if heading in ("", "aim") else "right")
    for key, (label, aim, layout) in _ROWS.items():
        cleaning.add_row(label, layout.format(figures[key]), layout.format(figures[f"peer_{key}"]), aim)
    blocks = Table(title="The same articles rebuilt from perfectly labelled blocks")
    for heading in ("ROUGE-L, mean", "pages under 0.9", "aim"):
        blocks.add_column(heading)
    blocks.add_row(
        f"{figures['oracle_rouge_l_mean']:.4f}", f"{figures['oracle_share_under_09']:.4f}", "at least 0.97"
    )
    console.print(cleaning, blocks)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, default=DEFAULT_DATA, help="folder with manifest.jsonl and crawl-data/"
    )
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    arguments = parser.parse_args()
    if not (arguments.data / "manifest.jsonl").is_file():
        parser.error(f"found no manifest.jsonl in {arguments.data}; expected a folder packed as CC-NEWS is")
    figures = report(list(samples(arguments.data)))
    show(figures, Console())
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
