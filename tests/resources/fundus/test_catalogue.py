"""Publishers and their families: those of the installed Fundus and those of the demo newsroom."""

from collections import defaultdict

import pytest

from resources.fundus.catalogue import Catalogue, demo_catalogue, fundus_catalogue, parser_modules

SHARED_TEMPLATES = {
    "daily_news_tz": {"DailyNewsTZ", "HabariLeo"},
    "euronews": {"EuronewsDE", "EuronewsEN", "EuronewsFR"},
    "funke": {"BSZ", "BerlinerMorgenpost", "HamburgerAbendblatt", "WAZ"},
    "independent_online": {"DurbanLocal", "Isolezwe", "IsolezweLesiXhosa"},
    "postmedia": {"CanadaCom", "FinancialPost", "NationalPost", "OttawaCitizen", "TheProvince"},
    "tokyo_chunichi_shimbun": {"ChunichiShimbun", "TokyoShimbun"},
}
"""The publishers of Fundus 0.5.7 that are printed by one template: 19 of them in 6 families."""

CATALOGUES = pytest.mark.parametrize("catalogue", [fundus_catalogue, demo_catalogue], ids=["fundus", "demo"])


def families(catalogue: Catalogue) -> dict[str, set[str]]:
    """The families of more than one publisher."""
    members = defaultdict(set)
    for key in catalogue:
        members[catalogue.family(key)].add(key)
    return {family: keys for family, keys in members.items() if len(keys) > 1}


def test_publishers_of_one_template_are_one_family() -> None:
    assert families(fundus_catalogue()) == SHARED_TEMPLATES


def test_the_demo_has_a_family_too() -> None:
    assert families(demo_catalogue()) == {"northline": {"HarbourGazette", "FenwickEcho"}}


def test_a_publisher_that_shares_no_template_is_a_family_of_its_own() -> None:
    catalogue = fundus_catalogue()
    shared = set().union(*SHARED_TEMPLATES.values())
    assert all(catalogue.family(key) == key for key in catalogue if key not in shared)


def test_parser_modules_lead_from_the_own_one_to_the_root_of_the_family() -> None:
    modules = parser_modules(fundus_catalogue()["FinancialPost"])
    assert modules[0] == "fundus.publishers.ca.financial_post"
    assert modules[-1] == "fundus.publishers.shared.postmedia"


@CATALOGUES
def test_every_publisher_has_facts_and_is_found_by_the_name_that_fundus_reports(catalogue) -> None:
    known = catalogue()
    facts = [known.facts(key) for key in known]
    assert [each.key for each in facts] == list(known)
    assert len({each.name for each in facts}) == len(known), "a name stands for one publisher"
    for each in facts:
        assert known.key_of(each.name) == each.key
        assert each.domain.startswith(("http://", "https://"))
        assert each.languages
        assert each.country


def test_facts_hold_fundus_flags() -> None:
    facts = {key: fundus_catalogue().facts(key) for key in fundus_catalogue()}
    assert {key for key, each in facts.items() if each.deprecated} >= {"Stern", "Reuters", "Nikkei"}
    assert not facts["DieZeit"].deprecated
    demo = {key: demo_catalogue().facts(key) for key in demo_catalogue()}
    assert [key for key, each in demo.items() if each.disallows_training] == ["NadiSamachar"]


@CATALOGUES
def test_a_catalogue_is_made_once_and_keeps_its_order(catalogue) -> None:
    assert catalogue() is catalogue()
    assert list(catalogue()) == list(catalogue())


def test_an_unknown_publisher_is_answered_with_similar_keys_and_where_to_list_them() -> None:
    catalogue = fundus_catalogue()
    with pytest.raises(
        ValueError, match=r"unknown publisher 'DieZiet': 180 are known.*DieZeit.*newslm publishers"
    ):
        catalogue["DieZiet"]
    with pytest.raises(ValueError, match="unknown publisher 'DieZiet'"):
        catalogue.facts("DieZiet")
    assert "DieZiet" not in catalogue


def test_a_key_like_none_other_gets_no_suggestion() -> None:
    with pytest.raises(ValueError, match="unknown publisher '潮'") as caught:
        demo_catalogue()["潮"]
    assert "did you mean" not in str(caught.value)
