"""Records: what was measured and chosen, one checksummed JSON object a line."""

from tilewright.records.checks import LogReport, merge_logs, verify_log
from tilewright.records.line import BadLineError
from tilewright.records.readers import JsonlReader, find_reader
from tilewright.records.record import AnyRecord, BudgetRecord, GraphRecord, Record
from tilewright.records.store import JsonlRecordStore, Spent

__all__ = [
    "AnyRecord",
    "BadLineError",
    "BudgetRecord",
    "GraphRecord",
    "JsonlReader",
    "JsonlRecordStore",
    "LogReport",
    "Record",
    "Spent",
    "find_reader",
    "merge_logs",
    "verify_log",
]
