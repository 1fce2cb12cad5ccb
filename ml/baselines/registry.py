"""The baselines by name. Importing this imports none of their libraries; a new one is a file and a line."""

from ml.baselines.base import Baseline
from ml.baselines.boilerpipe import Boilerpipe
from ml.baselines.trafilatura import Trafilatura

BASELINES: dict[str, Baseline] = {baseline.name: baseline for baseline in (Trafilatura(), Boilerpipe())}
