"""Registers what tilewright-records offers."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

from tilewright.plugins.plugin import Component, hookimpl

OWN_FORMAT = "jsonl"
"""The name of the store and of the reader: the format of all that inherit `JsonlRecordStore`."""

_SUMMARY = "append-only JSON lines with checksums"


@hookimpl
def tilewright_hookspecs() -> Sequence[ModuleType]:
    from tilewright_records import hookspecs

    return [hookspecs]


@hookimpl
def tilewright_record_stores() -> Sequence[Component[Any]]:
    return [Component(OWN_FORMAT, _SUMMARY, _jsonl_store, default=True)]


@hookimpl
def tilewright_record_readers() -> Sequence[Component[Any]]:
    return [
        Component(OWN_FORMAT, _SUMMARY, _jsonl_reader),
        Component("kernel-tuner", "Kernel Tuner's caches, results in format T4", _kernel_tuner),
    ]


def _jsonl_store() -> Any:
    from tilewright_records.store.store import JsonlRecordStore

    return lambda _options, path: JsonlRecordStore(path, create_parents=True)


def _jsonl_reader() -> Any:
    from tilewright_records.readers import JsonlReader

    return lambda _options, _host: JsonlReader()


def _kernel_tuner() -> Any:
    from tilewright_records.spaces.kernel_tuner_reader import KernelTunerReader

    return lambda _options, _host: KernelTunerReader()
