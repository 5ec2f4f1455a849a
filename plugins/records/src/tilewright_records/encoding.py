"""What a line says of a record. Member names are promises to other people's files."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from tilewright.canonical import thaw
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.record import AnyRecord, GraphRecord, Record, WonInNetwork
from tilewright.vocabulary.task import Task
from tilewright.vocabulary.workload import Workload

VERSION = 1


def record_json(record: AnyRecord) -> dict[str, Any]:
    """The JSON object of a record, its kind and sequence number included."""
    head = {
        "version": VERSION,
        "kind": record.kind,
        "sequence": record.sequence,
        "device": {"name": record.device, "fingerprint": record.fingerprint},
    }
    if isinstance(record, Record):
        return head | _trial(record)
    if isinstance(record, GraphRecord):
        bound, won = record.bound, record.won
        kept = {} if bound is None else {"most": bound.most, "alone": thaw(bound.alone)}
        return head | {
            "node": record.node,
            **_choice(record.task, record.config, record.revision),
            **({"bound": kept} if kept else {}),
            **({} if won is None else {"won": _won(won)}),
        }
    return head | {
        "stage": record.stage,
        "finished": record.finished,
        "seconds": record.seconds,
        "trials": record.trials,
    }


def _trial(record: Record) -> dict[str, Any]:
    result, charge = record.trial.result, record.charge
    paid = () if charge is None else ("stage", "seconds", "trials")
    return {
        **_choice(record.task, record.config, record.revision),
        "conditions": record.trial.input.conditions.to_json(),
        **result.outcome_json(),
        "timings": dict(result.timings),
        **({"budget": {name: getattr(charge, name) for name in paid}} if paid else {}),
    }


def _won(won: WonInNetwork) -> dict[str, Any]:
    over = {"strategy": won.over.strategy, "config": thaw(won.over.values)}
    return {"network": won.network, "node": won.node, "over": over}


def _choice(task: Task, config: ConfigEntity, revision: int) -> dict[str, Any]:
    return {
        "key": task.workload.key,
        "workload": _workload(task.workload),
        "target": str(task.target),
        "strategy": config.strategy,
        "revision": revision,
        "config": thaw(config.values),
    }


@lru_cache(256)
def _workload(workload: Workload) -> dict[str, Any]:
    """Its JSON, of which all records of a run's tasks need a few again and again."""
    return workload.to_json()
