"""The baselines by name. Importing this imports none of their libraries; a new one is a file and a line."""

from ml.baselines.base import Baseline
from ml.baselines.boilerpipe import Boilerpipe
from ml.baselines.justext import JusText
from ml.baselines.news_please import NewsPlease
from ml.baselines.newspaper4k import Newspaper4k
from ml.baselines.readability import Readability
from ml.baselines.resiliparse import Resiliparse
from ml.baselines.trafilatura import Trafilatura

BASELINES: dict[str, Baseline] = {
    baseline.name: baseline
    for baseline in (
        Trafilatura(),
        NewsPlease(),
        Boilerpipe(),
        Resiliparse(),
        Readability(),
        JusText(),
        Newspaper4k(),
    )
}
