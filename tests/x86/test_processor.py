"""What the processor tells is what LLVM finds, so that code is generated for the same levels."""

from __future__ import annotations

import llvmlite.binding as llvm
import pytest

from tilewright_x86.machine.isa import ISAS
from tilewright_x86.machine.processor import FEATURES, processor_features


def test_the_processor_has_what_llvm_finds() -> None:
    found = {name for name, has in llvm.get_host_cpu_features().items() if has}
    assert processor_features() == found & FEATURES


def test_every_feature_of_every_level_is_asked_for() -> None:
    assert FEATURES.issuperset(name for isa in ISAS for name in isa.features)


def test_llvm_knows_every_name() -> None:
    assert FEATURES.issubset(llvm.get_host_cpu_features())


def test_another_architecture_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    assert processor_features() == frozenset()
