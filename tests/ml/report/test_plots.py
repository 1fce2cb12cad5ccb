"""Figures inside the report: part of the page, told apart, and honest about their numbers."""

from xml.etree import ElementTree

from ml.report.plots import inline, per_article, repetition_strips


def test_the_share_of_degenerate_outputs_stands_beside_each_extractor() -> None:
    svg = repetition_strips({"one": [0.0, 0.05, 0.1, 0.9], "two": [0.0, 0.099]}, 0.1)
    found = " ".join(ElementTree.fromstring(svg).itertext())
    assert "50.0%" in found  # the threshold itself counts
    assert "0.0%" in found


def test_figures_are_the_same_bytes_each_time_and_survive_having_nothing() -> None:
    assert per_article({"one": [0.5, 1.0]}) == per_article({"one": [0.5, 1.0]})
    assert repetition_strips({"one": [0.5]}, 0.1) == repetition_strips({"one": [0.5]}, 0.1)
    assert b"<svg" in repetition_strips({}, 0.1)
    assert b"<svg" in per_article({})


def test_an_inlined_figure_is_named_and_follows_the_colours_of_the_page() -> None:
    figure = inline(per_article({"a<b": [0.5]}), name="articles", title="Scores of <all>")
    assert figure.startswith('<svg role="img" aria-labelledby="articles"')
    assert '<title id="articles">Scores of &lt;all&gt;</title>' in figure
    assert "var(--ink)" in figure
    assert "<metadata>" not in figure
