"""What runs language models that are asked zero-shot: an OpenAI-compatible server, or this process.

Belongs here: choosing the engine from the settings. Does not belong here: the engines, prompts and models
(`ml/zero_shot/`), or trained adapters (`ml/decoding.py`).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dagster as dg

from ml.zero_shot.engine import Engine
from ml.zero_shot.models import ZeroShotModel


class LanguageModels(dg.ConfigurableResource):  # type: ignore[type-arg]
    """A server such as vLLM where `server` is set, else transformers on this machine."""

    cache_dir: str
    server: str | None = None  # such as http://localhost:8000/v1
    api_key: str | None = None
    concurrency: int = 8  # requests at the same time

    @contextmanager
    def engine(self, model: ZeroShotModel) -> Iterator[Engine]:
        """An engine that runs `model`, closed in the end; loading weights can take minutes."""
        if self.server is None:
            from ml.zero_shot.transformers_engine import TransformersEngine

            yield TransformersEngine.load(model, cache_dir=Path(self.cache_dir))
            return
        from ml.zero_shot.server_engine import ServerEngine

        with ServerEngine(
            self.server, model.source, api_key=self.api_key, concurrency=self.concurrency
        ) as engine:
            yield engine
