"""Baselines that fail on demand; a module of its own, so that a worker process can import them."""

import os
import time

from ml.baselines.base import Baseline, ExtractionFailedError


class Moody(Baseline):
    """Does to the worker what the page says."""

    name = "moody"
    package = "json"

    def extract(self, html: str, url: str) -> str:
        if html == "hang":
            time.sleep(60)
        if html == "crash":
            os._exit(7)
        if html == "bug":
            raise KeyError("nobody expected this")
        if html == "refuse":
            raise ExtractionFailedError("no article here")
        return f"{html} {url}"


class Absent(Baseline):
    """Needs a library that is not there."""

    name = "absent"
    package = "a_package_that_nobody_has"

    def extract(self, html: str, url: str) -> str:
        return html


class Unstartable(Baseline):
    """Ends its worker before the first page."""

    name = "unstartable"
    package = "json"

    def extract(self, html: str, url: str) -> str:
        raise SystemExit(3)
