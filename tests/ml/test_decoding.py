"""Decoding with adapters that learnt two pages by heart, so that what they write is known."""

import json
import math
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch  # noqa: TID253
from hypothesis import given
from hypothesis import strategies as st

from ml.article import Article, Body, Section
from ml.datasets import encode_example
from ml.decoding import (
    Generation,
    LoadedModel,
    generate,
    load_adapter,
    predict,
    read_answer,
    target_nll,
    to_article,
)
from ml.experiments import EXPERIMENTS
from ml.model_card import CardFacts
from ml.records import Example, Prediction
from ml.training import train
from ml.training_sets import Task

CARD = CardFacts(
    source="demo",
    corpus_version="c",
    split_version="s",
    fundus_version="f",
    test_publishers=0,
    git_commit=None,
)
ARTICLE = Article(title="Rain", body=Body(sections=(Section(paragraphs=("Rain fell.", "It stopped.")),)))
PAGES = {
    Task.PLAINTEXT: ("Rain fell on Köln.", "The match ended."),
    Task.JSON: (ARTICLE.to_json(), '{"title":"Cut'),
}


@pytest.fixture(autouse=True, scope="module")
def _one_thread() -> Iterator[None]:
    """Layers this small wait for each other on two busy cores, five times as long as they compute."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def example(number: int, page: str, target: str) -> Example:
    return Example(
        page_id=f"{number:016x}",
        url=f"https://gazette.example/{number}",
        publisher="gazette",
        language="en",
        split="test",
        input=page,
        target=target,
    )


def pages(task: Task) -> list[Example]:
    rain, match = PAGES[task]
    return [example(1, "<h1>Rain</h1><p>Rain</p>", rain), example(2, "<h1>Match</h1>", match)]


def learn_by_heart(task: Task, folder: Path) -> LoadedModel:
    experiment = EXPERIMENTS[f"tiny-{task}"].model_copy(
        update={
            "batch_size": 2,
            "learning_rate": 2e-2,
            "max_steps": 120,
            "eval_every": 120,
            "save_every": 120,
            "max_output_tokens": 96,
            "contrastive_weight": 0.0,
        }
    )
    result = train(
        experiment,
        train=pages(task),
        validation=pages(task),
        output_dir=folder / "run",
        cache_dir=folder,
        card=CARD,
    )
    assert result.best_validation_perplexity < 1.2
    return load_adapter(result.adapter_dir, folder)


@pytest.fixture(scope="module")
def plaintext(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    return learn_by_heart(Task.PLAINTEXT, tmp_path_factory.mktemp("plaintext"))


@pytest.fixture(scope="module")
def structured(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    return learn_by_heart(Task.JSON, tmp_path_factory.mktemp("json"))


def predictions(model: LoadedModel, examples: list[Example], **settings: object) -> list[Prediction]:
    experiment = model.experiment.model_copy(update=settings)
    return list(predict(model, examples, experiment, extractor="tiny", max_new_tokens=96))


def written(generation: Generation) -> tuple[str, bool, int]:
    return generation.text, generation.truncated, generation.new_tokens


def test_the_model_writes_what_it_learnt_and_stops(plaintext: LoadedModel) -> None:
    for page in pages(Task.PLAINTEXT):
        generation = generate(plaintext, page.input, plaintext.experiment, max_new_tokens=50)
        assert generation.text == page.target
        assert not generation.truncated
        assert 3 < generation.new_tokens < 10
        assert generation.seconds > 0


def test_the_length_limit_cuts_and_is_flagged(plaintext: LoadedModel) -> None:
    generation = generate(plaintext, pages(Task.PLAINTEXT)[0].input, plaintext.experiment, max_new_tokens=2)
    assert written(generation) == ("Rain fell", True, 2)


def test_decoding_is_greedy_hence_repeatable(plaintext: LoadedModel) -> None:
    page = "<p>Something unseen: teams, rivers, laws.</p>"
    first = generate(plaintext, page, plaintext.experiment, max_new_tokens=12)
    torch.manual_seed(1)
    assert written(first) == written(generate(plaintext, page, plaintext.experiment, max_new_tokens=12))


@pytest.mark.parametrize(
    "page", [*(page.input for page in pages(Task.PLAINTEXT)), "<p>unseen rain, rain</p>"]
)
def test_prompt_lookup_writes_the_same(page: str, plaintext: LoadedModel) -> None:
    looking_up = plaintext.experiment.model_copy(update={"prompt_lookup_tokens": 4, "decode_batch_size": 1})
    for limit in (3, 40):
        plain = generate(plaintext, page, plaintext.experiment, max_new_tokens=limit)
        assert written(generate(plaintext, page, looking_up, max_new_tokens=limit)) == written(plain)


def test_predictions_come_in_order_with_the_pages_names(plaintext: LoadedModel) -> None:
    found = predictions(plaintext, pages(Task.PLAINTEXT))
    assert [prediction.text for prediction in found] == list(PAGES[Task.PLAINTEXT])
    assert [prediction.url for prediction in found] == [page.url for page in pages(Task.PLAINTEXT)]
    for prediction in found:
        assert (prediction.extractor, prediction.json, prediction.error) == ("tiny", None, None)
        assert not prediction.truncated


@pytest.mark.parametrize("size", [1, 2, 3, 16])
def test_batches_write_what_single_pages_write(size: int, plaintext: LoadedModel) -> None:
    examples = [*pages(Task.PLAINTEXT), example(3, "<p>unseen</p>" * 20, ""), *pages(Task.PLAINTEXT)]
    alone = [generate(plaintext, page.input, plaintext.experiment, max_new_tokens=96) for page in examples]
    found = predictions(plaintext, examples, decode_batch_size=size)
    assert [prediction.text for prediction in found] == [generation.text.strip() for generation in alone]
    assert [prediction.truncated for prediction in found] == [generation.truncated for generation in alone]


def test_predictions_are_made_as_they_are_asked_for(plaintext: LoadedModel) -> None:
    taken = []

    def source() -> Iterator[Example]:
        for page in pages(Task.PLAINTEXT) * 50:
            taken.append(page)
            yield page

    experiment = plaintext.experiment.model_copy(update={"decode_batch_size": 2})
    next(predict(plaintext, source(), experiment, extractor="tiny", max_new_tokens=4))
    assert len(taken) == 2


def test_a_page_that_is_refused_is_a_recorded_failure_and_the_others_go_on(plaintext: LoadedModel) -> None:
    rain, match = pages(Task.PLAINTEXT)
    examples = [rain, example(3, "word " * 40, ""), match]
    found = predictions(plaintext, examples, overlong="refuse", max_input_tokens=20)
    assert [prediction.text for prediction in found] == [rain.target, "", match.target]
    assert found[1].error is not None
    assert "the page has 41 tokens, tiny-plaintext takes at most 20" in found[1].error
    assert found[1].url == "https://gazette.example/3"


def test_valid_json_becomes_the_articles_text(structured: LoadedModel) -> None:
    prediction, _ = predictions(structured, pages(Task.JSON))
    assert prediction.json == ARTICLE.to_json()
    assert prediction.text == "Rain fell.\n\nIt stopped."
    assert prediction.error is None


def test_invalid_json_is_kept_as_written_beside_its_error(structured: LoadedModel) -> None:
    _, prediction = predictions(structured, pages(Task.JSON))
    assert prediction.json == '{"title":"Cut'
    assert prediction.text == ""
    assert prediction.error is not None
    assert prediction.error.startswith("not a JSON article")


def naive_nll(model: LoadedModel, page: Example) -> tuple[float, int]:
    """From the logits of every position, in float64."""
    encoded = encode_example(page, model.tokenizer, model.experiment)
    ids = torch.as_tensor(encoded.input_ids).long()
    with torch.no_grad():
        log_probabilities = model.model(input_ids=ids[None]).logits[0].double().log_softmax(dim=-1)
    places = range(encoded.prompt_tokens, len(ids))
    return -sum(log_probabilities[place - 1, ids[place]].item() for place in places), len(places)


@pytest.mark.parametrize("chunk", [1, 3, 1_024])
@pytest.mark.parametrize("target", ["Rain fell on Köln.", "Something that nobody taught it. " * 5])
def test_the_nll_is_that_of_all_logits(chunk: int, target: str, plaintext: LoadedModel) -> None:
    page = example(1, "<h1>Rain</h1><p>Rain</p>", target)
    experiment = plaintext.experiment.model_copy(update={"loss_chunk_tokens": chunk})
    nll, tokens = target_nll(plaintext, page, experiment)
    expected, count = naive_nll(plaintext, page)
    assert tokens == count
    # float32 loses what the other 49,151 words add to a probability near 1: up to 6e-5 a token.
    assert nll == pytest.approx(expected, rel=1e-4, abs=1e-4 * count)


def test_the_nll_leaves_the_model_and_the_random_numbers_alone(plaintext: LoadedModel) -> None:
    page = pages(Task.PLAINTEXT)[0]
    state = torch.get_rng_state()
    first = target_nll(plaintext, page, plaintext.experiment)
    assert torch.equal(torch.get_rng_state(), state)
    assert first == target_nll(plaintext, page, plaintext.experiment)
    assert not plaintext.model.training
    assert all(parameter.grad is None for parameter in plaintext.model.parameters())


def test_a_prediction_says_how_likely_the_reference_was_and_what_it_cost(plaintext: LoadedModel) -> None:
    known, unknown = pages(Task.PLAINTEXT)[0], example(3, "<h1>Match</h1>", "Never read.")
    first, second = predictions(plaintext, [known, unknown])
    nll, tokens = naive_nll(plaintext, known)
    assert first.target_perplexity == pytest.approx(math.exp(nll / tokens), rel=1e-4)
    assert first.target_perplexity < 1.2 < second.target_perplexity
    assert first.target_tokens == tokens == first.output_tokens
    assert (
        first.input_tokens == encode_example(known, plaintext.tokenizer, plaintext.experiment).prompt_tokens
    )
    assert first.device == "cpu"


def test_an_empty_target_has_no_perplexity(plaintext: LoadedModel) -> None:
    [found] = predictions(plaintext, [example(3, "<h1>Match</h1>", "")])
    assert found.error is None
    assert (found.target_perplexity, found.target_tokens) == (None, None)


@pytest.mark.parametrize(
    ("page", "target", "failed"),
    [("word " * 40, "Rain.", True), ("<h1>Match</h1>", "word " * 40, False)],
)
def test_a_refused_page_or_target_has_no_perplexity(
    page: str, target: str, failed: bool, plaintext: LoadedModel
) -> None:
    limits = {"overlong": "refuse", "max_input_tokens": 20, "max_output_tokens": 20}
    [found] = predictions(plaintext, [example(3, page, target)], **limits)
    assert (found.error is not None) is failed
    assert (found.target_perplexity, found.target_tokens, found.device) == (None, None, "cpu")


def test_a_perplexity_beyond_all_numbers_is_infinite(
    plaintext: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ml.decoding.target_nll", lambda *_: (1e6, 1))
    [found] = predictions(plaintext, pages(Task.PLAINTEXT)[:1])
    assert found.target_perplexity == math.inf


def test_an_answer_is_text_and_for_json_both() -> None:
    assert read_answer(" Rain. ", Task.PLAINTEXT) == ("Rain.", None, None)
    assert read_answer(" ", Task.PLAINTEXT) == ("", None, "the model wrote no text")
    assert read_answer(ARTICLE.to_json(), Task.JSON) == ("Rain fell.\n\nIt stopped.", ARTICLE.to_json(), None)
    assert read_answer(Article().to_json(), Task.JSON) == ("", Article().to_json(), "the model wrote no text")


def test_no_pages_no_predictions(plaintext: LoadedModel) -> None:
    assert predictions(plaintext, []) == []


def test_a_folder_without_an_adapter_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"{tmp_path} is no adapter of ours: expected experiment.json"):
        load_adapter(tmp_path, tmp_path)


def test_canonical_json_is_an_article() -> None:
    assert to_article(ARTICLE.to_json()) == ARTICLE
    assert to_article(Article().to_json()) == Article()


def changed(**fields: object) -> str:
    return json.dumps(json.loads(ARTICLE.to_json()) | fields)


@pytest.mark.parametrize(
    ("text", "mismatch"),
    [
        ("", "text: Invalid JSON"),
        ("{}", "found no title, authors, publishing_date"),
        ("null", "text: "),
        (ARTICLE.to_json()[:-1], "text: Invalid JSON"),
        (ARTICLE.to_json() + "}", "text: Invalid JSON"),
        (str(json.loads(ARTICLE.to_json())), "text: Invalid JSON"),  # a Python repr is no JSON
        (changed(free_access="yes"), "free_access: "),
        (changed(title=7), "title: "),
        (changed(title=""), "title: "),
        (changed(extra=1), "extra: "),
        (changed(publishing_date="yesterday"), "publishing_date"),
        (changed(body={"summary": []}), "body: Value error, found no sections"),
        (
            changed(body={"summary": [], "sections": [{"headline": []}]}),
            "body.sections.0: Value error, found no paragraphs",
        ),
    ],
)
def test_what_is_not_an_article_says_where(text: str, mismatch: str) -> None:
    with pytest.raises(ValueError, match="not a JSON article") as error:
        to_article(text)
    assert mismatch in str(error.value)


def test_many_mismatches_fit_one_line() -> None:
    with pytest.raises(ValueError, match=r"; and 2 more$") as error:
        to_article(changed(title=7, authors=1, topics=2, free_access=3, body=4))
    assert "\n" not in str(error.value)


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(lambda text: text.strip())


@given(title=st.none() | TEXTS, paragraphs=st.lists(TEXTS))
def test_every_canonical_article_is_read_back(title: str | None, paragraphs: list[str]) -> None:
    article = Article(title=title, body=Body(sections=(Section(paragraphs=tuple(paragraphs)),)))
    assert to_article(article.to_json()) == article
