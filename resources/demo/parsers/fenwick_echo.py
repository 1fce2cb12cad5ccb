"""Fenwick Echo: the Northline template, unchanged."""
# mypy: allow-untyped-calls

from resources.demo.parsers.northline import NorthlineParser


class FenwickEchoParser(NorthlineParser):
    class V1(NorthlineParser.V1):
        pass
