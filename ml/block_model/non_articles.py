"""Pages that hold no article, made of pages that do: what a model must learn to refuse.

Belongs here: walls, front pages and video pages in the template of a labelled page. Does not belong here: how sure
a model is of a page (`confidence.py`), or training (`training.py`).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ml.alignment import Role
from ml.blocks import Block
from ml.metadata import Fact, Metadata
from ml.page import Page

_MAX_TEASERS = 16
_SAYING_ARTICLE = {"bare": 0.1, "wall": 1.0, "front": 0.1, "video": 0.5}
"""The share of each kind that states what an article's page does. A wall stands before an article; a front page, a
section or an error page says that it is one, with few exceptions."""

KINDS = tuple(_SAYING_ARTICLE)
_LEFT_CHARACTERS = 250  # of a line above a wall or under a video
_OFFER = (  # written in one language: features do not read words
    ("h2", "Read on with a subscription"),
    (
        "p",
        "You have read all free articles of this month. Choose an offer and read everything, on all devices.",
    ),
    ("li", "Four weeks for 1.00, then 9.99 a month"),
    ("li", "Cancel at any time"),
    ("p", "Already a subscriber? Log in here."),
)


class Teaser(NamedTuple):
    """How another page is announced."""

    title: str
    text: str


def teaser_of(page: Page, roles: Sequence[Role]) -> Teaser:
    """The title that a page states first, and the first block of its article; "" for what it lacks."""
    text = (block.text for block, role in zip(page.blocks, roles, strict=True) if role is not Role.NONE)
    return Teaser(next(iter(page.metadata.values(Fact.TITLE)), ""), next(text, ""))


def non_articles(
    page: Page, roles: Sequence[Role], teasers: Sequence[Teaser], rng: np.random.Generator
) -> tuple[Page, ...]:
    """The page as it would be without its article, one of each of `KINDS`; none for a page that is all article.

    `teasers` are of other pages; some of them stand in its place on the front page and beside the video.
    """
    template = _Template.of(page, roles)
    if not template.before and not template.after:
        return ()
    drawn = [teasers[at] for at in rng.permutation(len(teasers))[:_MAX_TEASERS]]
    titles = [each._replace(text="") for each in drawn]
    texts: dict[str, Iterable[Block]] = {
        "bare": (),
        "wall": (*template.first_lines(int(rng.integers(0, 3))), *template.offer()),
        "front": template.mosaic(drawn, rng),
        "video": (*template.first_lines(1), *template.mosaic(titles, rng)),
    }
    pages = {kind: template.with_text(text) for kind, text in texts.items()}
    return tuple(
        page if rng.random() < _SAYING_ARTICLE[kind] else replace(page, metadata=Metadata())
        for kind, page in pages.items()
    )


@dataclass(frozen=True, kw_only=True)
class _Template:
    """A page taken apart: the blocks of its article, and those before and after it.

    What stands inside is left out: often it is of the article, though the labels do not have it.
    """

    page: Page
    before: tuple[Block, ...]
    text: tuple[Block, ...]
    after: tuple[Block, ...]

    @classmethod
    def of(cls, page: Page, roles: Sequence[Role]) -> "_Template":
        held = [at for at, role in enumerate(roles) if role is not Role.NONE]
        first, last = (held[0], held[-1]) if held else (len(roles), len(roles))
        return cls(
            page=page,
            before=page.blocks[:first],
            text=tuple(page.blocks[at] for at in held),
            after=page.blocks[last + 1 :],
        )

    def first_lines(self, count: int) -> Iterator[Block]:
        """So much of the article as a wall or a video leaves."""
        return (block._replace(text=block.text[:_LEFT_CHARACTERS]) for block in self.text[:count])

    def with_text(self, text: Iterable[Block]) -> Page:
        blocks = (*self.before, *text, *self.after)
        return replace(self.page, blocks=tuple(block._replace(id=at) for at, block in enumerate(blocks)))

    def offer(self) -> Iterator[Block]:
        return (self._block(tag, text, "div.paywall") for tag, text in _OFFER)

    def mosaic(self, teasers: Sequence[Teaser], rng: np.random.Generator) -> Iterator[Block]:
        """Teasers of one make: with or without a telling class, text, and links around it."""
        inside = "article.teaser" if rng.random() < 0.5 else "div"
        heading = f"h{rng.integers(2, 4)}"
        length = int(rng.choice([0, 150, 400]))
        linked = float(rng.random() < 0.3)
        for teaser in teasers:
            if teaser.title:
                yield self._block(heading, teaser.title, inside, 1.0)
            if text := teaser.text[:length]:
                yield self._block("p", text, inside, linked)

    def _block(self, tag: str, text: str, inside: str, link_density: float = 0.0) -> Block:
        """A block beside where the article's text was."""
        like = (*self.text, *self.before, *self.after)[0]
        around = like.path.removesuffix("/b").rpartition("/")[0]
        free = 1 + max(block.place for block in self.page.blocks)
        return Block(
            id=0,
            tag=tag,
            hint=inside.partition(".")[2],
            path=f"{around}/{inside}/{tag}",
            text=text,
            link_density=link_density,
            place=free + 1 + (tag == "p"),
            around=free,
        )
