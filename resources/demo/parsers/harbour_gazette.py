"""Harbour Gazette: the Northline template, unchanged."""
# mypy: allow-untyped-calls

from resources.demo.parsers.northline import NorthlineParser


class HarbourGazetteParser(NorthlineParser):
    class V1(NorthlineParser.V1):
        pass
