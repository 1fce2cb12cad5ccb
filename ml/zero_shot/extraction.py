"""One prediction a page from a language model that was never trained on our pages.

Belongs here: from a page to a prompt, from an answer to a prediction, order and failures. Does not belong here:
what runs the model (the engines), or which model is asked what (`ml/zero_shot/models.py`).
"""

import re
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from ml.baselines.base import PageInput
from ml.decoding import Generation, read_answer
from ml.records import Prediction
from ml.training_sets import Task
from ml.zero_shot.engine import Engine, GenerationFailedError
from ml.zero_shot.models import ZeroShotModel

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

_AHEAD_PER_WORKER = 4  # pages, so that the others have work while the next answer in order is a long one

_CONTROL_TOKEN = re.compile(r"<\|(?=\w+\|>)")


def extract(
    model: ZeroShotModel, engine: Engine, task: Task, pages: Iterable[PageInput]
) -> Iterator[Prediction]:
    """One prediction a page, in order; a page that fails yields an empty text with its error.

    Pages are taken as they are needed, a few ahead where the engine answers several at a time. A JSON answer is
    taken out of its fence, a Markdown answer turned into plain text; nothing else is repaired. Raises `ValueError`
    at once for a task that the model is not asked, and `RuntimeError` on the way where the engine cannot answer any
    page.
    """
    if task not in model.prompts:
        raise ValueError(f"{model.name} is asked for {', '.join(model.prompts)}, not for {task}")
    return _in_order(partial(_predict, model, engine, task), pages, engine.concurrency)


def _predict(model: ZeroShotModel, engine: Engine, task: Task, page: PageInput) -> Prediction:
    started = time.perf_counter()
    try:
        messages = model.prompts[task].messages(_as_content(_rendered(model, page)))
        generation = engine.generate(messages, model.decoding)
    except GenerationFailedError as error:
        return Prediction.failed(
            page,
            extractor=model.extractor(task),
            error=error,
            seconds=time.perf_counter() - started,
            device=engine.device,
        )
    return _prediction(page, model, task, engine, generation)


def _rendered(model: ZeroShotModel, page: PageInput) -> str:
    try:
        return model.render(page.html)
    except ValueError as error:  # what `parse_page` says of input that is no page
        raise GenerationFailedError(str(error)) from error


def _as_content(text: str) -> str:
    """Text that is nothing but text in a prompt: a lone surrogate cannot be sent, and the letters "<|im_end|>" in a
    page would be taken for the end of a turn."""
    return _CONTROL_TOKEN.sub("< |", text.encode("utf-8", "replace").decode("utf-8"))


def _prediction(
    page: PageInput, model: ZeroShotModel, task: Task, engine: Engine, generation: Generation
) -> Prediction:
    answer = read_answer(model.readers[task](generation.text), task)
    return Prediction(
        page_id=page.page_id,
        url=page.url,
        publisher=page.publisher,
        language=page.language,
        extractor=model.extractor(task),
        text=answer.text,
        json=answer.json,
        truncated=generation.truncated,
        seconds=generation.seconds,
        error=answer.error,
        device=engine.device,
        input_tokens=generation.input_tokens,
        output_tokens=generation.new_tokens,
    )


def _in_order(
    function: Callable[[_Item], _Result], items: Iterable[_Item], workers: int
) -> Iterator[_Result]:
    """`map` with `workers` threads; the first exception ends it. One worker is the calling thread."""
    if workers == 1:
        yield from map(function, items)
        return
    waiting: deque[Future[_Result]] = deque()
    pool = ThreadPoolExecutor(workers)
    try:
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) == workers * _AHEAD_PER_WORKER:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
