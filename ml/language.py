"""The language of an article, from its text.

Belongs here: detection that gives the same answer every time. Does not belong here: what the page
declares (`ml/page.py` keeps that as a fallback).
"""

from functools import cache
from typing import Any

ENOUGH_CHARACTERS = 3_000
"""Detection reads only this much: the rest of an article changes nothing and costs time."""


def detect_language(text: str) -> str | None:
    """The ISO 639-1 code of the language a text is written in, None where nothing can be told.

    Scripts of Chinese (`zh-cn`, `zh-tw`) count as one language, as in Fundus' publisher list.
    """
    from langdetect.lang_detect_exception import LangDetectException

    detector = _factory().create()
    detector.append(text[:ENOUGH_CHARACTERS])
    try:
        code = str(detector.detect())
    except LangDetectException:  # no letters at all
        return None
    return None if code == "unknown" else code.partition("-")[0]


@cache
def _factory() -> Any:
    """langdetect's profiles; its sampling is seeded, otherwise short texts change language between runs."""
    from langdetect import DetectorFactory
    from langdetect.detector_factory import PROFILES_DIRECTORY

    DetectorFactory.seed = 0
    factory = DetectorFactory()
    factory.load_profile(PROFILES_DIRECTORY)
    return factory
