"""Every metric by its stored name: what it compares on one page, and how the pages of a set are averaged.

Belongs here: the table of metrics and the few ways of applying one to a page. Does not belong here: how a
metric is computed (its own module) or what a set of values says (`ml/intervals.py`).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from ml.metrics import (
    bleu,
    fields,
    fields_paper,
    groundedness,
    jaro_winkler,
    json_validity,
    levenshtein,
    meteor,
    repetition,
    rouge_l,
    rouge_lsum,
    schema_validity,
    shingles,
)
from ml.records import Prediction


class Direction(StrEnum):
    """Which way a metric improves."""

    HIGHER = "higher"
    LOWER = "lower"


class Protocol(StrEnum):
    """`paper`: as the paper's code computes it; `unicode`: ours, fair to every script; `both`: equal."""

    PAPER = "paper"
    UNICODE = "unicode"
    BOTH = "both"


class Average(StrEnum):
    """How a set's value comes from the values of its pages, weighted."""

    ARITHMETIC = "arithmetic"
    GEOMETRIC = "geometric"  # of perplexities: the perplexity over all tokens


ALL = frozenset(fields.FIELDS)
"""Every key that is compared: a reference that states them all can be compared with as a whole."""


@dataclass(frozen=True, kw_only=True)
class Reference:
    """What is right for one page: Fundus' extraction or a person's annotation; and the page itself."""

    page_id: str
    url: str
    publisher: str
    language: str | None
    plaintext: str
    json: str
    compact: str  # the page as text, for groundedness; empty where it is not at hand
    fields: frozenset[str] = ALL  # those that `json` really states


@dataclass(frozen=True)
class Measured:
    """A metric's value on one page, and what the page weighs in the mean of a set."""

    value: float
    weight: float = 1.0


Measure = Callable[[Prediction, Reference], Measured | None]
"""A metric applied to one page; None where it does not apply."""


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A metric: what it is shown as, and how it is measured on a page or derived for a set."""

    label: str
    description: str
    protocol: Protocol
    measure: Measure | None = None  # None for `harmonic_of`, which only sets have
    better: Direction = Direction.HIGHER
    average: Average = Average.ARITHMETIC
    harmonic_of: tuple[str, str] | None = None  # precision and recall, for an F1 of the set
    ranks: bool = True  # whether extractors can be compared by it
    unavailable: Callable[[], str | None] = lambda: None  # why it cannot be computed here, and what to do


Compare = Callable[[str, str], float | None]


def _on_text(compare: Compare) -> Measure:
    return lambda prediction, reference: _measured(compare(prediction.text, reference.plaintext))


def _on_json(compare: Compare) -> Measure:
    """Of extractors that write JSON, against references that state all of it."""

    def measure(prediction: Prediction, reference: Reference) -> Measured | None:
        if prediction.json is None or reference.fields != ALL:
            return None
        return _measured(compare(prediction.json, reference.json))

    return measure


def _on_output(check: Callable[[str], float]) -> Measure:
    """Of extractors that write JSON, whatever is right."""
    return lambda prediction, _: None if prediction.json is None else Measured(check(prediction.json))


def _on_page(compare: Compare) -> Measure:
    def measure(prediction: Prediction, reference: Reference) -> Measured | None:
        return _measured(compare(prediction.text, reference.compact)) if reference.compact else None

    return measure


def _measured(value: float | None) -> Measured | None:
    return None if value is None else Measured(value)


def _ratio(shared: float, total: float) -> Measured | None:
    """A share that counts over all pages together; None where the page has nothing to count."""
    return Measured(shared / total, total) if total else None


Count = Callable[[Prediction, Reference], fields.Counts | None]
"""What a page has of something countable: found, wanted, shared; None where the comparison does not apply."""


def _precision(count: Count) -> Measure:
    def measure(prediction: Prediction, reference: Reference) -> Measured | None:
        counts = count(prediction, reference)
        return None if counts is None else _ratio(counts.shared, counts.found)

    return measure


def _recall(count: Count) -> Measure:
    def measure(prediction: Prediction, reference: Reference) -> Measured | None:
        counts = count(prediction, reference)
        return None if counts is None else _ratio(counts.shared, counts.wanted)

    return measure


def _values_of(names: frozenset[str]) -> Count:
    """The values of some keys together, as far as the reference states them."""

    def count(prediction: Prediction, reference: Reference) -> fields.Counts | None:
        known = names & reference.fields
        if prediction.json is None or not known:
            return None
        found, wanted = fields.read(prediction.json), fields.read(reference.json)
        if wanted is None:
            raise ValueError(
                f"the reference of page {reference.page_id} is no JSON object: {reference.json[:60]!r}"
            )
        parts = [fields.FIELDS[name](found, wanted) for name in sorted(known)]
        return fields.Counts(
            found=sum(part.found for part in parts),
            wanted=sum(part.wanted for part in parts),
            shared=sum(part.shared for part in parts),
        )

    return count


def _paper_keys(prediction: Prediction, reference: Reference) -> fields.Counts | None:
    """Keys as the paper's code counts them, in terms of its true and false positives and false negatives."""
    if prediction.json is None or reference.fields != ALL:
        return None
    counts = fields_paper.counts(prediction.json, reference.json)
    if counts is None:
        return None
    right, extra, missed = counts
    return fields.Counts(found=right + extra, wanted=right + missed, shared=right)


def _perplexity(prediction: Prediction, _: Reference) -> Measured | None:
    if prediction.target_perplexity is None or not prediction.target_tokens:
        return None
    return Measured(prediction.target_perplexity, prediction.target_tokens)


FIELD_LABELS: Mapping[str, str] = {
    "title": "Title",
    "authors": "Authors",
    "date_instant": "Date and time",
    "date_day": "Date",
    "topics": "Topics",
    "body": "Body structure",
}
"""The keys of an article as they are compared one by one."""

ALL_FIELDS = "fields"
"""Prefix of the metrics over all keys together; `date_day` is left out, or dates would count twice."""


def _field_metrics() -> Iterator[tuple[str, Metric]]:
    rows = {name: (label, frozenset({name})) for name, label in FIELD_LABELS.items()}
    rows[ALL_FIELDS] = ("All keys", frozenset(FIELD_LABELS) - {"date_day"})
    for name, (label, names) in rows.items():
        yield from _prf(
            name,
            label,
            Protocol.UNICODE,
            precision=_precision(_values_of(names)),
            recall=_recall(_values_of(names)),
            of="values, over all pages; an invalid output misses all of its page",
        )


def _prf(
    name: str, label: str, protocol: Protocol, *, precision: Measure, recall: Measure, of: str
) -> Iterator[tuple[str, Metric]]:
    """Precision, recall and their harmonic mean."""
    suffix = "_paper" if protocol is Protocol.PAPER else ""
    named = f"{label} (paper)" if suffix else label
    names = (f"{name}_precision{suffix}", f"{name}_recall{suffix}")
    yield (
        f"{name}_f1{suffix}",
        Metric(
            label=f"{named} F1",
            description=f"harmonic mean of precision and recall of {of}",
            protocol=protocol,
            harmonic_of=names,
        ),
    )
    yield (
        names[0],
        Metric(
            label=f"{named} precision",
            description=f"share of the output's {of}",
            protocol=protocol,
            measure=precision,
        ),
    )
    yield (
        names[1],
        Metric(
            label=f"{named} recall",
            description=f"share of the reference's {of}",
            protocol=protocol,
            measure=recall,
        ),
    )


METRICS: Mapping[str, Metric] = {
    "rouge_l": Metric(
        label="ROUGE-L",
        description="F1 of the longest common word sequence; words of every script",
        protocol=Protocol.UNICODE,
        measure=_on_text(rouge_l.score),
    ),
    "rouge_lsum": Metric(
        label="ROUGE-Lsum",
        description="ROUGE-L line by line, so that the order of lines does not count",
        protocol=Protocol.UNICODE,
        measure=_on_text(rouge_lsum.score),
    ),
    "bleu": Metric(
        label="BLEU",
        description="precision of 1- to 4-word sequences per article, unsmoothed; words of every script",
        protocol=Protocol.UNICODE,
        measure=_on_text(bleu.score),
    ),
    "meteor": Metric(
        label="METEOR",
        description="words matched as they are, by stem or by WordNet, with a penalty for scattered matches",
        protocol=Protocol.UNICODE,
        measure=_on_text(meteor.score),
        unavailable=meteor.unavailable,
    ),
    **dict(
        _prf(
            "shingle",
            "Shingles",
            Protocol.UNICODE,
            precision=_on_text(shingles.precision),
            recall=_on_text(shingles.recall),
            of="4-word sequences, as the article-extraction benchmark counts them",
        )
    ),
    "groundedness": Metric(
        label="Groundedness",
        description="share of the output's 5-word sequences that the page contains",
        protocol=Protocol.UNICODE,
        measure=_on_page(groundedness.score),
    ),
    "repetition": Metric(
        label="Repetition",
        description="share of the output's 5-word sequences that it already used",
        protocol=Protocol.UNICODE,
        better=Direction.LOWER,
        measure=_on_text(repetition.score),
    ),
    "json_validity": Metric(
        label="Valid JSON",
        description="share of outputs that are one strict JSON object",
        protocol=Protocol.UNICODE,
        measure=_on_output(json_validity.score),
    ),
    "schema_validity": Metric(
        label="Valid article",
        description="share of outputs that also have exactly an article's keys and types",
        protocol=Protocol.UNICODE,
        measure=_on_output(schema_validity.score),
    ),
    **dict(_field_metrics()),
    "rouge_l_paper": Metric(
        label="ROUGE-L (paper)",
        description="ROUGE-L on rouge_score's tokens, which lack every letter outside ASCII",
        protocol=Protocol.PAPER,
        measure=_on_text(rouge_l.score_paper),
    ),
    "rouge_lsum_paper": Metric(
        label="ROUGE-Lsum (paper)",
        description="ROUGE-Lsum on rouge_score's tokens",
        protocol=Protocol.PAPER,
        measure=_on_text(rouge_lsum.score_paper),
    ),
    "bleu_paper": Metric(
        label="BLEU (paper)",
        description="BLEU on 13a tokens",
        protocol=Protocol.PAPER,
        measure=_on_text(bleu.score_paper),
    ),
    "meteor_paper": Metric(
        label="METEOR (paper)",
        description="METEOR as NLTK computes it, on its tokens",
        protocol=Protocol.PAPER,
        measure=_on_text(meteor.score_paper),
        unavailable=meteor.unavailable,
    ),
    "repetition_paper": Metric(
        label="Repetition (paper)",
        description="share of 5-grams, between spaces, that repeat an earlier one, as the paper's code counts them",
        protocol=Protocol.PAPER,
        better=Direction.LOWER,
        measure=_on_text(repetition.score_paper),
    ),
    "repetition_paper_words": Metric(
        label="Repeated n-grams (paper)",
        description="share of distinct 5-grams, between spaces, that occur more than once: how the paper words it",
        protocol=Protocol.PAPER,
        better=Direction.LOWER,
        measure=_on_text(repetition.score_paper_words),
    ),
    "levenshtein": Metric(
        label="Levenshtein distance",
        description="characters to edit, divided by the longer text's length",
        protocol=Protocol.BOTH,
        better=Direction.LOWER,
        measure=_on_text(levenshtein.score),
    ),
    "jaro_winkler": Metric(
        label="Jaro-Winkler",
        description="characters matched nearby, with a bonus for the same first four",
        protocol=Protocol.BOTH,
        measure=_on_text(jaro_winkler.score),
    ),
    "json_rouge_l_paper": Metric(
        label="JSON ROUGE-L (paper)",
        description="ROUGE-L of the JSON as written",
        protocol=Protocol.PAPER,
        measure=_on_json(rouge_l.score_paper),
    ),
    "json_bleu_paper": Metric(
        label="JSON BLEU (paper)",
        description="BLEU of the JSON as written, on 13a tokens",
        protocol=Protocol.PAPER,
        measure=_on_json(bleu.score_paper),
    ),
    "json_meteor_paper": Metric(
        label="JSON METEOR (paper)",
        description="METEOR of the JSON as written",
        protocol=Protocol.PAPER,
        measure=_on_json(meteor.score_paper),
        unavailable=meteor.unavailable,
    ),
    "json_levenshtein": Metric(
        label="JSON Levenshtein distance",
        description="characters of the JSON to edit, divided by the longer one's length",
        protocol=Protocol.BOTH,
        better=Direction.LOWER,
        measure=_on_json(levenshtein.score),
    ),
    "json_jaro_winkler": Metric(
        label="JSON Jaro-Winkler",
        description="Jaro-Winkler of the JSON as written",
        protocol=Protocol.BOTH,
        measure=_on_json(jaro_winkler.score),
    ),
    "json_validity_paper": Metric(
        label="Valid JSON (paper)",
        description="share of outputs that read as a Python or JSON literal",
        protocol=Protocol.PAPER,
        measure=_on_output(fields_paper.is_valid),
    ),
    **dict(
        _prf(
            "fields",
            "Keys",
            Protocol.PAPER,
            precision=_precision(_paper_keys),
            recall=_recall(_paper_keys),
            of="keys, as the paper's code counts them, over valid outputs alone",
        )
    ),
    "perplexity": Metric(
        label="Perplexity",
        description="of the reference as the model's own output: exp of the mean loss over target tokens",
        protocol=Protocol.BOTH,
        better=Direction.LOWER,
        average=Average.GEOMETRIC,
        ranks=False,  # each model has tokens and a target of its own
        measure=_perplexity,
    ),
}
"""Every metric by its stored name. A new one is a module and an entry."""


def missing() -> dict[str, str]:
    """Metrics that cannot be computed on this machine, and why."""
    reasons = {name: metric.unavailable() for name, metric in METRICS.items()}
    return {name: reason for name, reason in reasons.items() if reason}
