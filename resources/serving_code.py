"""What MLflow runs to serve a block model; read by `served_extractor.py` as code, never imported.

MLflow takes the signature from the types of `predict`, and checks what comes in against it.
"""

from pathlib import Path
from typing import Any

from mlflow.models import set_model  # noqa: TID253 - runs inside MLflow alone
from mlflow.pyfunc.model import PythonModel  # noqa: TID253
from pydantic import BaseModel

from ml.extractor import Extractor
from ml.page import PageError


class Question(BaseModel):
    """A page as it was received."""

    html: str


class Answer(BaseModel):
    """What the page holds: `text` and, as canonical JSON, `article` are None where it is probably no article."""

    is_article: bool
    confidence: float  # 0 to 1, that the page is an article
    language: str | None = None
    text: str | None = None
    article: str | None = None
    error: str | None = None  # why the page could not be read


class ServedExtractor(PythonModel):
    """One answer a page, in their order."""

    def load_context(self, context: Any) -> None:
        self._extractor = Extractor.load(Path(context.artifacts["model"]))

    def predict(self, model_input: list[Question]) -> list[Answer]:  # type: ignore[override]
        return [self._answer(question.html) for question in model_input]

    def _answer(self, html: str) -> Answer:
        try:
            found = self._extractor.extract(html)
        except PageError as error:
            return Answer(is_article=False, confidence=0, error=str(error))
        return Answer(
            is_article=found.article is not None,
            confidence=found.confidence,
            language=found.language,
            text=found.article.plaintext if found.article else None,
            article=found.article.to_json() if found.article else None,
        )


set_model(ServedExtractor())
