"""Which articles are nearly the same text: agency copy, reprints, live pages crawled twice.

Belongs here: shingles, candidate search and the exact check of candidates. Does not belong here: what
follows from a near-duplicate (`ml/corpus.py` marks it, `ml/splits.py` keeps it out of training).

MinHash: Broder, "On the resemblance and containment of documents", 1997.
"""

from collections.abc import Mapping
from hashlib import blake2b
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ml.metrics.tokens import words

Shingles: TypeAlias = NDArray[np.uint64]

SHINGLE_WORDS = 5
"""Words in a row; characters in scripts that put no space between words."""

PERMUTATIONS = 64
MISSED_SHARE = 1e-3
"""The most that candidate search may miss of pairs whose similarity is just the threshold."""

_BASE = 0x9E3779B97F4A7C15  # odd, so that no word's hash is multiplied away modulo 2^64


def near_duplicates(texts: Mapping[str, str], *, threshold: float) -> dict[str, str]:
    """Map each near-duplicate to the representative of its cluster, the earliest page of `texts`.

    Two texts are near-duplicates when the Jaccard similarity of their shingle sets reaches `threshold`;
    clusters are the transitive closure. Representatives and lone pages are not in the result. MinHash
    proposes candidates, the shingles themselves decide, so there are no false positives (shingles are
    compared as 64-bit hashes). A pair just at the threshold is missed with a probability below
    `MISSED_SHARE`. Texts without a single word resemble nothing.

    Publishers play no part: a pair within one publisher can link two clusters across publishers, so
    leaving such pairs out would lose links that matter.
    """
    from datasketch import MinHash, MinHashLSH

    if not 0 < threshold <= 1:
        raise ValueError(f"the similarity threshold is {threshold}; expected a share above 0, at most 1")
    shingler = _Shingler()
    shingles = {page: found for page, text in texts.items() if (found := shingler(text)).size}
    index = MinHashLSH(num_perm=PERMUTATIONS, params=bands(threshold))
    clusters = _Clusters(shingles)
    signatures = MinHash.generator(
        (found.tolist() for found in shingles.values()),
        num_perm=PERMUTATIONS,
        scheme="affine64",
        hashfunc=int,
    )
    for page, signature in zip(shingles, signatures, strict=True):
        for candidate in index.query(signature):
            # Pages already in one cluster need no proof: a thousand copies cost a thousand checks.
            if clusters.joined(page, candidate):
                continue
            if jaccard(shingles[page], shingles[candidate]) >= threshold:
                clusters.join(page, candidate)
        index.insert(page, signature)
    return clusters.copies()


def bands(threshold: float) -> tuple[int, int]:
    """The (bands, rows) of the index: as many rows as recall at the threshold allows.

    A pair of similarity s becomes a candidate with probability 1 - (1 - s^rows)^bands. More rows mean
    fewer candidates that fail the exact check, and more missed pairs.
    """
    for rows in range(PERMUTATIONS // 2, 1, -1):
        if (1 - threshold**rows) ** (PERMUTATIONS // rows) <= MISSED_SHARE:
            return PERMUTATIONS // rows, rows
    return PERMUTATIONS, 1


def jaccard(left: Shingles, right: Shingles) -> float:
    """The shared part of two sorted shingle sets, 0 to 1."""
    shared = np.intersect1d(left, right, assume_unique=True).size
    return float(shared / (left.size + right.size - shared))


class _Shingler:
    """Turns texts into sorted arrays of distinct 64-bit shingle hashes, hashing every word once."""

    def __init__(self) -> None:
        self._hashes: dict[str, int] = {}

    def __call__(self, text: str) -> Shingles:
        hashes = np.array([self._hash(word) for word in words(text)], dtype=np.uint64)
        width = min(SHINGLE_WORDS, hashes.size)  # a text shorter than one shingle is one shingle
        if not width:
            return hashes
        windows = np.lib.stride_tricks.sliding_window_view(hashes, width)  # (shingles, width)
        weights = np.array([pow(_BASE, power, 1 << 64) for power in range(width)], dtype=np.uint64)
        return np.unique((windows * weights).sum(axis=1, dtype=np.uint64))

    def _hash(self, word: str) -> int:
        found = self._hashes.get(word)
        if found is None:
            digest = blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()
            found = self._hashes[word] = int.from_bytes(digest, "little")
        return found


class _Clusters:
    """Union-find over pages whose root is always the earliest page of the cluster."""

    def __init__(self, pages: Mapping[str, object]) -> None:
        self._rank = {page: rank for rank, page in enumerate(pages)}
        self._parent = {page: page for page in pages}

    def root(self, page: str) -> str:
        while (parent := self._parent[page]) != page:
            self._parent[page] = self._parent[parent]
            page = parent
        return page

    def joined(self, left: str, right: str) -> bool:
        return self.root(left) == self.root(right)

    def join(self, left: str, right: str) -> None:
        first, second = sorted((self.root(left), self.root(right)), key=self._rank.__getitem__)
        self._parent[second] = first

    def copies(self) -> dict[str, str]:
        return {page: root for page in self._parent if (root := self.root(page)) != page}
