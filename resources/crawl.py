"""The configured source of pages, as Dagster hands it to assets.

Belongs here: the settings of a crawl and the source they name. Does not belong here: what the sources do
(`sources.py`) or where pages go (`harvest.py`).
"""

from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Literal

import dagster as dg

from resources.fundus.catalogue import Catalogue
from resources.fundus.rules import rules_version
from resources.harvest import CrawlCount, harvest
from resources.sources import CCNEWS_SERVER, ArchiveSource, CCNewsSource, DemoSource, Source, WebSource
from resources.store import Store

SourceName = Literal["demo", "ccnews", "web", "archive"]

MAX_PAGES = 1_000
"""Pages kept of a publisher by default, as in the paper."""


class Crawl(dg.ConfigurableResource):  # type: ignore[type-arg]
    """Where pages come from and how many are wanted. Robots rules and crawl delays are always kept."""

    source: SourceName = "demo"
    max_pages: int = MAX_PAGES
    crawl_disallowing_training: bool = False
    ccnews_server: str = CCNEWS_SERVER
    ccnews_start: str | None = None  # ISO 8601, of the WARC files, in UTC where it names no offset
    ccnews_end: str | None = None  # likewise; a day (or its midnight) is included to its end
    archive_path: str | None = None
    demo_proxy: str | None = None  # a demo newsroom that is already served

    def opened(self) -> Source:
        """The source that the settings name; raises `ValueError` where one that it needs is missing."""
        if self.source == "web":
            return WebSource()
        if self.source == "demo":
            return DemoSource(proxy_url=self.demo_proxy)
        if self.source == "archive":
            return ArchiveSource(
                path=_existing(_needed(self.archive_path, "archive", "--archive PATH", "NEWSLM_ARCHIVE"))
            )
        start = _needed(self.ccnews_start, "ccnews", "--start YYYY-MM-DD", "NEWSLM_CCNEWS_START")
        return CCNewsSource(
            start=_date(start),
            end=_last_moment(_date(self.ccnews_end)) if self.ccnews_end else None,
            server_address=self.ccnews_server,
        )

    @property
    def catalogue(self) -> Catalogue:
        """The publishers of the source."""
        return self.opened().catalogue

    def rules_versions(self) -> dict[str, str]:
        """The version of every publisher's extraction rules."""
        catalogue = self.catalogue
        return {key: rules_version(catalogue, key) for key in catalogue}

    def harvest(self, store: Store, key: str) -> dict[str, CrawlCount]:
        """Crawl a publisher into the store; an archive brings everyone's pages, so counts are by publisher."""
        return harvest(
            store,
            self.opened(),
            key,
            max_pages=self.max_pages,
            crawl_disallowing_training=self.crawl_disallowing_training,
        )


def _needed(value: str | None, source: str, option: str, variable: str) -> str:
    if not value:
        raise ValueError(
            f"the source {source!r} needs a setting that is missing: give {option} or set {variable}"
        )
    return value


def _existing(path: str) -> Path:
    if not Path(path).exists():
        raise ValueError(
            f"no such file or folder: {path}; expected a WARC file, or a folder of WARC or HTML files"
        )
    return Path(path)


def _date(text: str) -> datetime:
    """A time in UTC without saying so: Fundus compares with naive times."""
    try:
        date = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"{text!r} is no date; expected ISO 8601, such as 2024-03-31") from error
    return date.astimezone(UTC).replace(tzinfo=None) if date.tzinfo else date


def _last_moment(end: datetime) -> datetime:
    """The last second of a day that is given without a time; other times as they are."""
    return end + timedelta(days=1, seconds=-1) if end.time() == time.min else end
