"""Records: what was measured and chosen, one checksummed JSON object a line."""

from tilewright.records.checks import LogReport, Merged, merge_logs, verify_log
from tilewright.records.compact import Compacted, compact_log
from tilewright.records.readers import (
    JsonlReader,
    expect_log,
    find_reader,
    read_log,
    recognised_format,
)
from tilewright.records.store import JsonlRecordStore

__all__ = [
    "Compacted",
    "JsonlReader",
    "JsonlRecordStore",
    "LogReport",
    "Merged",
    "compact_log",
    "expect_log",
    "find_reader",
    "merge_logs",
    "read_log",
    "recognised_format",
    "verify_log",
]
