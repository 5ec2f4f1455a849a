"""Which tests need which plugins: those of what is not installed are left out.

A folder of `tests/` needs the plugin of its name; NEEDS says what differs. A single test says it by
`@pytest.mark.needs("search")`.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import pytest

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # some tests import onnxruntime by themselves

TESTS = Path(__file__).parent / "tests"
HOUSE = ("cli", "pipeline", "records", "testing")
ALL = (*HOUSE, "cuda", "graph", "measure", "onnx", "recordings", "search", "tensor", "x86")
NEEDS = {
    "architecture": ALL,
    "benchmarks": ALL,
    "contracts": ALL,
    "cli": ("cli", "pipeline", "records"),
    "contracts/broken": (),
    "contracts/test_cost_model_contracts.py": (*HOUSE, "search"),
    "contracts/test_dask_contracts.py": (*HOUSE, "dask", "measure"),
    "contracts/test_graph_tuner_contracts.py": (*HOUSE, "graph"),
    "contracts/test_scheduler_contracts.py": (*HOUSE, "search"),
    "contracts/test_store_contracts.py": HOUSE,
    "contracts/test_tuner_contracts.py": (*HOUSE, "search", "tensor"),
    "core": (),
    "core/test_host_laziness.py": ("cli", "pipeline"),
    "core/test_host_plugin_host.py": ("pipeline", "records"),
    "cuda/runtime/test_emulation_from_the_command_line.py": ("cuda", "measure", "search"),
    "cuda/runtime/test_emulation_in_workers.py": ("cuda", "measure", "search"),
    "cuda/test_examples_cuda.py": ALL,
    "cuda/test_same_tasks.py": ("cuda", "graph", "x86"),
    "dask": (*HOUSE, "dask", "measure", "search", "tensor", "x86"),
    "docs": ALL,
    "end_to_end": ALL,
    "faults": ALL,
    "faults/test_clock.py": HOUSE,
    "faults/test_input_records.py": HOUSE,
    "faults/test_input_yaml.py": HOUSE,
    "faults/test_log_damage.py": HOUSE,
    "faults/test_log_paths.py": HOUSE,
    "faults/test_log_size.py": HOUSE,
    "faults/test_log_writers.py": HOUSE,
    "faults/test_plugins.py": (*HOUSE, "search"),
    "faults/test_worker_answers.py": ("measure",),
    "faults/test_worker_crashes.py": ("measure",),
    "faults/test_worker_limits.py": ("measure",),
    "golden": ("tensor",),
    "golden/test_records_of_before.py": ("records", "tensor"),
    "measure/test_bench_trial.py": ("measure", "search", "x86"),
    "models": (*HOUSE, "models", "tensor"),
    "pipeline": HOUSE,
    "search/test_bench_schedulers.py": (*HOUSE, "search"),
    "search/test_bench_tuners.py": (*HOUSE, "search"),
    "search/test_peers.py": (*HOUSE, "search"),
    "recordings": (*HOUSE, "recordings", "search"),
    "report": (*ALL, "report"),
    "records": HOUSE,
    "openvino": ("cli", "onnx", "openvino", "pipeline", "x86"),
    "third_party": ALL,
}


QUICK = (
    "architecture/test_core_words.py", "architecture/test_file_shape.py",
    "architecture/test_hook_rules.py",
    "benchmarks/test_page.py",
    "cli/test_cli_tune.py",
    "contracts/test_cost_model_contracts.py", "contracts/test_scheduler_contracts.py",
    "contracts/test_store_contracts.py",
    "core/test_space_config_space.py", "core/test_space_knobs.py",
    "dask/test_words.py",
    "cuda/test_codegen_text.py", "cuda/test_codegen_limits.py",
    "docs/test_hooks_page.py", "docs/test_protocols_page.py",
    "end_to_end/test_third_party.py",
    "faults/test_input_records.py", "faults/test_left_behind.py", "faults/test_log_paths.py",
    "golden/test_records_of_before.py",
    "graph/test_aliasing.py", "graph/test_extraction.py", "graph/test_graph_passes.py",
    "graph/test_network_builder.py", "graph/test_solvers_defects.py",
    "graph/test_solvers_greedy.py", "graph/test_solvers_published.py", "graph/test_verification.py",
    "measure/test_answer.py", "measure/test_local_runner.py", "measure/test_replay.py",
    "models/test_advice.py",
    "onnx/test_onnx_branches.py", "onnx/test_onnx_conditions.py", "onnx/test_onnx_definitions.py",
    "openvino/test_openvino.py",
    "pipeline/test_host_api.py", "pipeline/test_pipeline_run.py",
    "pipeline/test_significance.py", "pipeline/test_tuning_loop.py",
    "recordings/test_spaces_of_the_package.py",
    "records/test_records_readers.py",
    "report/test_regress.py",
    "search/test_gradient_scheduler.py", "search/test_round_robin.py",
    "search/test_simple_tuners.py", "search/test_trees.py",
    "tensor/test_dag.py", "tensor/test_golden_keys.py", "tensor/test_interpret.py",
    "tensor/test_layout.py", "tensor/test_lower.py", "tensor/test_reference.py",
    "tensor/test_schedule.py", "tensor/test_text_form.py", "tensor/test_verify.py",
    "third_party/test_seams.py",
    "x86/test_codegen_accesses.py", "x86/test_codegen_programs.py", "x86/test_link.py",
    "x86/test_strategy_spaces.py",
)  # fmt: skip
"""What `-m quick` runs: of every part its shortest files that say most, a minute on two cores."""


def needs(path: Path) -> tuple[str, ...]:
    """Plugins that the tests of a file or folder of `tests/` need."""
    if path == TESTS or TESTS not in path.parents:
        return ()
    name = str(path.relative_to(TESTS))
    if name in NEEDS:
        return NEEDS[name]
    return needs(path.parent) if path.parent != TESTS else (name,) if name in ALL else ()


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--soak-seconds`, how long the soak with the marker `full` takes; and what is written."""
    text = "how long tests/faults/test_soak.py measures under -m full"
    parser.addoption("--soak-seconds", type=float, default=600, help=text)
    text = "write the hashes of generated text that tests/golden compares anew"
    parser.addoption("--write-golden", action="store_true", help=text)
    text = "a folder for pictures of what tests/report sees in a browser"
    parser.addoption("--pictures", help=text)


def _missing(plugins: tuple[str, ...]) -> bool:
    return any(find_spec(f"tilewright_{plugin}") is None for plugin in plugins)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """True for a file whose needs are not met, and for a folder with none that could run.

    And, under `-m quick`, for a file that has nothing quick: reading all takes as long as they run.
    """
    only = config.option.markexpr == "quick" and collection_path.suffix == ".py"
    if only and collection_path not in {TESTS / name for name in QUICK}:
        return True
    inside = [TESTS / name for name in NEEDS if collection_path in (TESTS / name).parents]
    return all(_missing(needs(path)) for path in (collection_path, *inside)) or None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Which tensor instructions were themselves tested, and which only what they mean."""
    if _missing(("x86",)):
        return
    from tilewright_x86.instructions import INSTRUCTIONS
    from tilewright_x86.machine.isa import features

    here, emulated = [], []
    for one in INSTRUCTIONS:
        (here if one.feature in features() else emulated).append(one.name)
    for names, how in ((here, "as they are"), (emulated, "emulated")):
        if names:
            terminalreporter.write_line(f"instructions of x86, {how}: {', '.join(names)}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skips single tests whose needs are not met; marks those that are quick."""
    quick = {TESTS / name for name in QUICK}
    for item in items:
        if item.path in quick and not item.get_closest_marker("full"):
            item.add_marker("quick")
        for mark in item.iter_markers("needs"):
            if _missing(mark.args):
                item.add_marker(pytest.mark.skip(reason=f"needs {', '.join(mark.args)}"))
