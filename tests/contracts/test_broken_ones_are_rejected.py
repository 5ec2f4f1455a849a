"""Every check of every suite can fail: there is a broken implementation that it rejects.

The files in broken/ hold a good implementation of a role and broken ones, and say of each which checks it fails.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import tilewright_graph.testing
import tilewright_search.testing
import tilewright_testing

FILES = sorted(Path(__file__).with_name("broken").glob("*.py"))


class Outcomes:
    """A plugin of a pytest run inside this one: by variant, the checks that it should fail and did fail."""

    def __init__(self) -> None:
        self.named: dict[str, set[str]] = {}
        self.failed: dict[str, set[str]] = {}
        self.checks: set[str] = set()
        self.suites: set[type] = set()
        self._checks: dict[str, tuple[str, str]] = {}

    def pytest_collection_modifyitems(self, items: list[pytest.Function]) -> None:
        for item in items:
            variant = item.callspec.params["variant"]
            self.named[variant.__name__] = set(variant.fails)
            self.failed[variant.__name__] = set()
            self.checks.add(item.originalname)
            self.suites.update(item.cls.__mro__)
            self._checks[item.nodeid] = variant.__name__, item.originalname

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        variant, check = self._checks[report.nodeid]
        # What a check that fails leaves undone may fail behind it as well, or not.
        if report.failed and not (report.when == "teardown" and check in self.named[variant]):
            self.failed[variant].add(
                check if report.when == "call" else f"{report.when} of {check}"
            )
        assert not report.skipped, report.nodeid


@cache
def outcomes_of(file: Path) -> Outcomes:
    outcomes = Outcomes()
    options = [
        "-q",
        "-n0",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:faulthandler",
        "--no-summary",
        "--tb=no",
    ]
    code = pytest.main([str(file), *options], plugins=[outcomes])
    assert code is pytest.ExitCode.TESTS_FAILED
    return outcomes


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_broken_ones_fail_the_checks_that_they_name_and_no_other(file: Path) -> None:
    outcomes = outcomes_of(file)
    unexpected = {name: outcomes.failed[name] ^ named for name, named in outcomes.named.items()}
    assert {name: checks for name, checks in unexpected.items() if checks} == {}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_good_one_passes(file: Path) -> None:
    assert outcomes_of(file).failed["Good"] == set()


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_check_is_failed_by_a_broken_one(file: Path) -> None:
    outcomes = outcomes_of(file)
    assert outcomes.checks - set().union(*outcomes.failed.values()) == set()


def test_no_suite_is_left_out() -> None:
    shipped = (tilewright_testing, tilewright_graph.testing, tilewright_search.testing)
    suites = {suite for package in shipped for suite in _suites(package)}
    assert len(suites) > 10
    assert suites - set().union(*(outcomes_of(file).suites for file in FILES)) == set()


def _suites(package: ModuleType) -> Iterator[type]:
    """The classes with checks of their own that a package ships."""
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        for value in vars(import_module(module.name)).values():
            if isinstance(value, type) and any(name.startswith("test_") for name in vars(value)):
                yield value
