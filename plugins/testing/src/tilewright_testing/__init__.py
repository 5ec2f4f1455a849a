"""Contract suites: tests that every implementation of a role passes.

A plugin's tests subclass them, give what an abstract fixture or attribute asks for, and inherit the
tests:

>>> from tilewright_testing.tuner import BatchTunerContract, TunerContract
>>> class TestClimber(TunerContract, BatchTunerContract):
...     name = "acme-climber"

A plugin that is one file and not installed is named by `plugin_files = ("mine.py",)`, from the
folder of the test's file.

Capabilities are separate classes, so that an implementation opts in by inheriting. There is a
module for each role: `tuner`, `scheduler`, `store`, `builder`, `runner`, `backend` (of a target)
and `strategy`; each begins with its three lines of use. Beside them stand what they are tested on:
the made-up task of `landscape`, the played-back one of `recording`, and `imaginary_target`, whose
kernels do harm when told to.

The modules import pytest; call `pytest.register_assert_rewrite("tilewright_testing")` in a conftest
to see values in failures.
"""
