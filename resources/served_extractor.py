"""The block model behind MLflow: HTML in, articles out, by `mlflow models serve` or as a pyfunc anywhere.

Belongs here: the model's folder as MLflow reads it, and its signature. Does not belong here: extracting
(`ml/extractor.py`) or the registry (`tracking.py`). The code travels with the model, as `ml`; `serving_code.py` is
what MLflow runs.
"""

import shutil
import tempfile
from importlib import metadata
from pathlib import Path

import ml
from ml.extractor import Extractor
from resources.registered import TREES

REQUIREMENTS = (
    "charset-normalizer",
    "lightgbm",
    "numpy",
    "pandas",
    "pyarrow",
    "pydantic",
    "rapidfuzz",
    "selectolax",
)
"""What `ml.extractor` needs, beside mlflow itself."""

EXAMPLE = "<html lang=en><h1>Storm over the harbour</h1><p>All boats stayed in port on Friday.</p></html>"


def save_served(extractor: Extractor, card: str, folder: Path) -> Path:
    """Write a folder that MLflow serves, and return it; an older one there is replaced when the new one is whole."""
    import mlflow.pyfunc

    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        model, made = Path(scratch) / Path(TREES.weights).name, Path(scratch) / "made"
        extractor.save(model)
        mlflow.pyfunc.save_model(
            path=str(made),
            python_model=str(Path(__file__).with_name("serving_code.py")),
            artifacts={"model": str(model)},
            code_paths=[str(Path(ml.__path__[0]))],
            pip_requirements=[f"{name}=={metadata.version(name)}" for name in ("mlflow", *REQUIREMENTS)],
            input_example=[{"html": EXAMPLE}],
        )
        (made / "README.md").write_text(card, encoding="utf-8")
        shutil.rmtree(folder, ignore_errors=True)
        made.rename(folder)
    return folder
