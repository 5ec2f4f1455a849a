"""The tables that a run shows at its end, each from the plugin whose stage fills its member."""

from __future__ import annotations

from types import SimpleNamespace

from tilewright.host.plugin_host import PluginHost
from tilewright_graph.reports.summary import sections

TIMES = {
    "precision": "float32",
    "median_ms": 2.0,
    "mean_ms": 2.5,
    "min_ms": 1.0,
    "max_ms": 4.0,
    "std_ms": 0.5,
}
REPORT = {
    "tasks": [
        {
            "name": "t",
            "operator": "o",
            "weight": 1.0,
            "strategy": None,
            "trials": 0,
            "failures": 0,
            "best_seconds": None,
            "gflops": None,
            "peak_share": None,
        }
    ],
    "graph": {
        "predicted_ms": {"fallback": 3.0, "history_best": 2.0},
        "transforms_history_best": 1,
        "optimal": True,
        "note": "",
        "gap": None,
        "kept": "solver",
        "cost_ms": 1.0,
        "transforms": 0,
        "tuner": "pbqp",
        "solver_seconds": 0.1,
    },
    "compile": {"configs": {"records": 2}, "transforms": 0},
    "verify": {"oracle": "one", "max_abs_error": 1e-6, "max_rel_error": None, "passed": True},
    "benchmark": [
        {"threads": 1, "tilewright": TIMES, "peers": {"peer": {**TIMES, "median_ms": 3.0}}}
    ],
}


def tables():
    host, summary = PluginHost.load(), SimpleNamespace(run=None, report=REPORT)
    return host.hook_values("tilewright_summary_sections", summary=summary)


def test_agreement_is_shown_where_it_was_told():
    shares = {"samples": 200, "top1": 0.995, "top1_decided": None, "top5": 1.0}
    verify = {**REPORT["verify"], "agreement": shares}
    (table,) = sections({"verify": verify})
    assert table.columns[4:] == ("samples", "top 1", "where decided", "top 5")
    assert table.rows[0][4:] == ("200", "99.5 %", "-", "100.0 %")


def test_the_tables_come_in_the_order_of_the_questions():
    titles = [table.title for table in tables()]
    assert titles == ["tasks", "verification", "latency", "layouts", "compiled"]


def test_answers_and_latency_are_shown_as_run_json_has_them():
    made = {table.title: table.rows for table in tables()}
    assert made["verification"] == (("one", "1e-06", "-", "passed"),)
    (ours, peer) = made["latency"]
    assert ours[:2] == ("1", "tilewright") and ours[-1] == "1.000"
    assert peer[:2] == ("1", "peer") and peer[-1] == "1.500"


def test_without_this_plugin_only_the_tasks_are_shown(monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_BLOCK_PLUGINS", "graph,onnx,openvino")
    assert [table.title for table in tables()] == ["tasks"]


def test_buckets_whose_configs_are_from_unlike_places_share_the_columns():
    sizes = {"network_ms": 1.0, "sum_of_kernels_ms": 1.0, "code_bytes": 8, "arena_bytes": 64}
    each = [
        {"sizes": {"batch": 1}, "configs": {"fallback": 2}, **sizes},
        {"sizes": {"batch": 3}, "configs": {"fallback": 0, "advice": 2}, **sizes},
    ]
    buckets = {"dimensions": {"batch": "1..3"}, "table": [], "each": each, "constant_bytes": 4}
    _, table = sections({"buckets": buckets})
    assert table.columns[3:5] == ("by fallback", "by advice")
    assert [row[3:5] for row in table.rows] == [("2", "0"), ("0", "2"), ("", "")]
