"""What others may have put in a place is opened by `tilewright.reading`, which waits for no pipe."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

# Who opens files otherwise, and whose files these are.
THEIR_OWN = {
    "core/src/tilewright/reading.py": "all",
    "core/src/tilewright/plugins/loading/distributions.py": "in this distribution",
    "plugins/cli/src/tilewright_cli/new/new_plugin.py": "templates of distributions",
    "plugins/cli/src/tilewright_cli/progress/event_file.py": "to be written, and may be a pipe",
    "plugins/cli/src/tilewright_cli/progress/machine_watch.py": "the kernel's",
    "plugins/cli/src/tilewright_cli/verbs/schema.py": "the schema in this distribution",
    "plugins/cli/src/tilewright_cli/terminal/verb_summary.py": "modules of distributions",
    "plugins/pipeline/src/tilewright_pipeline/context/device_peaks.py": "in the user's cache",
    "plugins/records/src/tilewright_records/store/log_file.py": "seen to be a file before",
    "plugins/pipeline/src/tilewright_pipeline/writing.py": "to be written, seen to be a file before",
    "plugins/cuda/src/tilewright_cuda/compile/code_cache.py": "in the user's cache",
    "plugins/cuda/src/tilewright_cuda/emulation/compile.py": "what a compiler has made",
    "plugins/cuda/src/tilewright_cuda/compile/nvcc.py": "what a compiler has made",
    "plugins/graph/src/tilewright_graph/compiled/saved/saved_folder.py": "written, in a folder of its own",
    "plugins/measure/src/tilewright_measure/worker/confine.py": "the kernel's",
    "plugins/measure/src/tilewright_measure/local/device_lease.py": "a process's own, and the kernel's",
    "plugins/measure/src/tilewright_measure/worker/process.py": "the kernel's",
    "plugins/measure/src/tilewright_measure/worker/scratch.py": "a worker's own, and the kernel's",
    "plugins/x86/src/tilewright_x86/device/cpu.py": "the kernel's",
    "plugins/x86/src/tilewright_x86/kernel/kernel.py": "in this distribution",
    "plugins/x86/src/tilewright_x86/kernel/parallel.py": "in this distribution",
}
OPENING = {"read_text", "read_bytes", "open"}


def _opened(tree: ast.Module) -> Iterator[int]:
    """Lines that open a file by name: not an archive that is made of an open file."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        by_method = isinstance(node.func, ast.Attribute) and node.func.attr in OPENING
        by_name = isinstance(node.func, ast.Name) and node.func.id == "open"
        if by_name or (by_method and _is_pathlike(node)):
            yield node.lineno


def _is_pathlike(call: ast.Call) -> bool:
    """`path.open()`, `path.open("rb")`: no first argument, or a mode."""
    first = next(iter(call.args), None)
    mode = isinstance(first, ast.Constant) and isinstance(first.value, str)
    return (
        first is None or mode or (isinstance(call.func, ast.Attribute) and call.func.attr != "open")
    )


def test_files_of_others_are_opened_by_one_function(sources: Sequence[Any]) -> None:
    """Use `tilewright.reading.open_file` or `read_file`; what is nobody else's is listed above."""
    offenders = [
        f"{source.place}:{line}"
        for source in sources
        if source.place not in THEIR_OWN and "/testing/" not in source.place
        for line in _opened(source.tree)
    ]
    assert offenders == []
