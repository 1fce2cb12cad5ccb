"""How assets are cut: by publisher, by experiment, by extractor to compare with.

A leaf: assets may import it, and it imports only names. Publishers come and go, so they are dynamic;
experiments, baselines and zero-shot models are data of the code.
"""

import warnings

import dagster as dg

from ml.baselines.registry import BASELINES
from ml.experiments import TASKS
from ml.zero_shot.registry import ZERO_SHOT

# What this pipeline is about, in the pinned release: partitioned checks and partitioned observable sources.
warnings.filterwarnings("ignore", category=dg.BetaWarning)
warnings.filterwarnings("ignore", category=dg.PreviewWarning)

publishers = dg.DynamicPartitionsDefinition(name="publishers")
experiments = dg.StaticPartitionsDefinition(list(TASKS))
baselines = dg.StaticPartitionsDefinition(list(BASELINES))
zero_shot = dg.StaticPartitionsDefinition(list(ZERO_SHOT))
