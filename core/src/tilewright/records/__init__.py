"""Records: what was measured and chosen, one checksummed JSON object a line."""

from tilewright.records.checks import LogReport, Merged, merge_logs, verify_log
from tilewright.records.compact import Compacted, compact_log
from tilewright.records.line import BadLineError
from tilewright.records.query import Query
from tilewright.records.readers import (
    JsonlReader,
    expect_log,
    find_reader,
    read_log,
    recognised_format,
)
from tilewright.records.record import AnyRecord, BudgetRecord, Charge, GraphRecord, Record
from tilewright.records.store import Count, JsonlRecordStore, Ranked, Spent

__all__ = [
    "AnyRecord",
    "BadLineError",
    "BudgetRecord",
    "Charge",
    "Compacted",
    "Count",
    "GraphRecord",
    "JsonlReader",
    "JsonlRecordStore",
    "LogReport",
    "Merged",
    "Query",
    "Ranked",
    "Record",
    "Spent",
    "compact_log",
    "expect_log",
    "find_reader",
    "merge_logs",
    "read_log",
    "recognised_format",
    "verify_log",
]
