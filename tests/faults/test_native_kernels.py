"""D-11, D-19, D-20 in the process of a real kernel: machine code that crashes, errs or writes astray.

The operator relu on 37 numbers, in LLVM's language: a kernel gets a row of addresses, of the input,
the output and a workspace, and does its act when its answer is written.
"""

from __future__ import annotations

import pytest

from tilewright.host.contexts import MeasureContext
from tilewright.host.plugin_host import PluginHost
from tilewright.roles import BuildResult
from tilewright.vocabulary.measure import Conditions, Failure, FailureKind, MeasureInput
from tilewright.vocabulary.target import Target
from tilewright_measure.local.building import artifact_to_json
from tilewright_measure.local.measuring import Measurer
from tilewright_pipeline.api.task_text import find_task
from tilewright_x86.kernel import jit
from tilewright_x86.kernel.artifact import artifact_of
from tilewright_x86.machine.isa import available

SIZE = 37
TARGET = Target("x86", {"threads": "1"})

ACTS = {
    "nothing": "",
    "segfault": "store i32 1, ptr inttoptr (i64 16 to ptr)",
    "abort": "call void @abort()",
    "illegal": "call void @llvm.trap()",
    "divide": "%zero = load volatile i32, ptr @zero\n%q = sdiv i32 1, %zero\nstore i32 %q, ptr %y",
    "overflow_stack": "%deep = call i32 @down(i32 0)\nstore i32 %deep, ptr %y",
    "exit": "call void @exit(i32 0)",
    "race": (  # one launch in twenty
        "%r = call i32 @rand()\n%m = srem i32 %r, 20\n%never = icmp ne i32 %m, 0\n"
        "%old = load float, ptr %y\n%new = select i1 %never, float %old, float 7.0\n"
        "store float %new, ptr %y"
    ),
}

_MODULE = """
@zero = global i32 0
declare void @abort()
declare void @exit(i32)
declare i32 @rand()
declare void @llvm.trap()

define i32 @down(i32 %n) {{
  %frame = alloca [4096 x i8]
  store volatile i8 1, ptr %frame
  %next = add i32 %n, 1
  %found = call i32 @down(i32 %next)
  %byte = load volatile i8, ptr %frame
  %wide = zext i8 %byte to i32
  %sum = add i32 %found, %wide
  ret i32 %sum
}}

define void @kernel(ptr %row) {{
entry:
  %x = load ptr, ptr %row
  %y.place = getelementptr ptr, ptr %row, i64 1
  %y = load ptr, ptr %y.place
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i.next, %next ]
  %more = icmp slt i64 %i, {count}
  br i1 %more, label %next, label %end
next:
  %x.i = getelementptr float, ptr %x, i64 %i
  %value = load float, ptr %x.i
  %positive = fcmp ogt float %value, 0.0
  %relu = select i1 %positive, float %value, float 0.0
  %y.i = getelementptr float, ptr %y, i64 %i
  store float %relu, ptr %y.i
  %i.next = add i64 %i, 1
  br label %loop
end:
  {act}
  ret void
}}
"""


def artifact(act="nothing", *, count=SIZE):
    """Of the kernel that gives the first `count` answers and then acts."""
    return _compiled(ACTS[act], count)


def overrun(element, operand, *, copied=False):
    """Of the kernel that answers right, and writes one element of an operand more.

    `copied` writes there what it finds at the same place of the input.
    """
    read = (
        f"%from = getelementptr float, ptr %x, i64 {element}\n%outside = load float, ptr %from"
        if copied
        else "%outside = fadd float 1.0, 0.0"
    )
    write = (
        f"%to = getelementptr float, ptr %{operand}, i64 {element}\nstore float %outside, ptr %to"
    )
    return _compiled(f"{read}\n{write}", SIZE)


def _compiled(act, count):
    isa = available()[-1]
    code = jit.compile_object(_MODULE.format(act=act, count=count), isa)
    return artifact_of(
        TARGET,
        isa,
        [code],
        symbol="kernel",
        operands=[((1, SIZE), "float32")] * 2,
        workspace_bytes=64,
    )


CONDITIONS = Conditions("warm", repeat=3, min_repeat_ms=0.01)


@pytest.fixture(scope="module")
def context():
    host = PluginHost.load()
    return MeasureContext(host, host.backend("x86").probe()[0])


@pytest.fixture(scope="module")
def asked(context):
    task = find_task(f"relu(1x{SIZE})", TARGET, context.host, None)
    config = context.host.fallback_config(task, context.host.space(task))
    return MeasureInput(task, config, CONDITIONS)


@pytest.fixture(scope="module")
def measure(context, asked):
    """measure(artifacts): results in order, of one worker as long as it lives."""
    runner = context.host.make("runner", "local", {"timeout_seconds": 5}, context)

    def run(artifacts):
        builds = [BuildResult(artifact) for artifact in artifacts]
        return [future.result(60) for future in runner.run([asked] * len(builds), builds)]

    yield run
    runner.close()


@pytest.fixture(scope="module")
def failure_here(context, asked, tmp_path_factory):
    """failure_here(artifact): what a worker would say of it, without one; None for success."""
    measurer, folder = Measurer(context.host), tmp_path_factory.mktemp("cases")

    def run(artifact):
        reply = measurer.measure(
            {
                "task": asked.task.to_json(),
                "config": asked.config.to_json(),
                "conditions": CONDITIONS.to_json(),
                "artifact": artifact_to_json(artifact),
                "device": context.device.to_json(),
                "seed": 0,
                "folder": str(folder),
                "hopeless_seconds": None,
                "launches": 1,
            }
        )
        return Failure.from_json(reply["failure"]) if "failure" in reply else None

    return run


@pytest.mark.parametrize(
    ("act", "signal_name"),
    [
        ("segfault", "SIGSEGV"),
        ("abort", "SIGABRT"),
        ("illegal", "SIGILL"),
        ("divide", "SIGFPE"),
        ("overflow_stack", "SIGSEGV"),
        ("exit", ""),
    ],
)
def test_d11_a_native_crash_keeps_its_signal_and_the_next_is_measured(measure, act, signal_name):
    crashed, good = measure([artifact(act), artifact()])
    assert (crashed.failure.kind, crashed.failure.signal) == (FailureKind.CRASH, signal_name)
    assert good.costs


@pytest.mark.parametrize("number", [10, pytest.param(100, marks=pytest.mark.full)])
def test_d11_native_crashes_in_a_row_cost_little_each(measure, number, soon):
    """0.16 s, where two cores start a worker and its spare."""
    measure([artifact()])
    with soon(0.2 * number):
        results = measure([artifact("segfault")] * number)
    assert {result.failure.signal for result in results} == {"SIGSEGV"}


def test_d19_a_skipped_tail_is_a_wrong_answer(failure_here):
    assert failure_here(artifact(count=SIZE)) is None
    for written in range(SIZE):
        failure = failure_here(artifact(count=written))
        assert failure.kind is FailureKind.WRONG_ANSWER
        assert f"{SIZE - written} of {SIZE} elements are wrong" in failure.text


@pytest.mark.parametrize(
    ("operand", "copied"), [("y", False), ("y", True), ("x", False)], ids=["y", "y copied", "x"]
)
@pytest.mark.parametrize("distance", range(1, 65))
def test_d19_an_element_written_outside_is_found(failure_here, operand, copied, distance):
    """Also by a kernel that copies, beyond its end, what stands beyond the end of its input."""
    behind = failure_here(overrun(SIZE - 1 + distance, operand, copied=copied))
    before = failure_here(overrun(-distance, operand, copied=copied))
    assert behind.kind is before.kind is FailureKind.WRONG_ANSWER
    name = f"operand {'xy'.index(operand)}"
    assert f"bytes behind {name}" in behind.text
    assert f"bytes before {name}" in before.text


def test_d19_an_overrun_is_found_in_a_worker_as_well(measure):
    good, astray = measure([artifact(), overrun(SIZE, "y")])
    assert good.costs
    assert astray.failure.text == "it wrote to 4 bytes behind operand 1"


@pytest.mark.full
def test_d19_a_race_of_five_percent_is_found_in_a_hundred_runs(measure):
    """Three looks a run: all hundred let it pass once in five million times."""
    results = measure([artifact("race")] * 100)
    found = [result for result in results if result.failure is not None]
    assert found
    assert {result.failure.kind for result in found} == {FailureKind.WRONG_ANSWER}


def test_d20_a_kernel_that_writes_nothing_has_no_answer_to_hide_behind(measure):
    """It gets the memory that a right one has just left."""
    right, nothing = measure([artifact(), artifact(count=0)])
    assert right.costs
    assert nothing.failure.kind is FailureKind.WRONG_ANSWER
