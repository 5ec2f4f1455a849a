"""The steps of an Ansor record as a schedule of ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, ClassVar, cast, get_args

from tilewright.json_object import BadLineError, UnknownLineError, sensible
from tilewright.vocabulary.workload import Workload
from tilewright_tensor.expressions.buffer import Scope
from tilewright_tensor.ir.loop_ir import LoopKind
from tilewright_tensor.logs.ansor_stages import Stages, Steps, renumber
from tilewright_tensor.logs.ansor_workloads import FORMS, Form, with_stand_ins
from tilewright_tensor.operators.operators import Operators
from tilewright_tensor.schedule.schedule import Schedule

_BINDINGS: Mapping[int, LoopKind] = {
    4: "vthread", 5: "blockIdx.x", 6: "threadIdx.x", 7: "blockIdx.y", 8: "threadIdx.y",
    9: "blockIdx.z", 10: "threadIdx.z",
}  # fmt: skip
_UNROLL, _VECTORIZE, _PARALLEL = 1, 2, 3


def replayed(form: str, anchor: Workload, steps: Steps, operators: Operators) -> Schedule:
    """What the steps make of the anchor and of stand-ins for what follows it.

    Hints that change no loop (`PR`, `SA`) are passed over. Raises UnknownLineError for a step that
    has no counterpart here, with its number and code.
    """
    workload = with_stand_ins(anchor, Stages.of(steps), operators)
    replay = _Replay(FORMS[form], Schedule.of(operators.compute_dag(workload)), steps)
    for number, step in enumerate(steps):
        try:
            sensible(replay.step, step)
        except BadLineError as error:
            raise UnknownLineError(f"step {number}, {step[0]}: {error}"[:200]) from None
    try:
        return replay.finished()
    except ValueError as error:
        raise UnknownLineError(str(error)[:200]) from None


class _Replay:
    """The schedule so far, and the tensors by Ansor's numbers of their stages."""

    def __init__(self, form: Form, schedule: Schedule, steps: Steps) -> None:
        self._form = form
        self._steps = steps
        self._guests: dict[str, tuple[str, str]] = {}
        self._s = schedule
        dag, names = schedule.dag, list(schedule.stages)
        known = {tensor.name for tensor in dag.tensors}
        # TVM pads by nothing, too; what reads that reads the image here
        self._absent = set(form.stages) - known
        self._stages = list(form.stages)
        operands = [tensor.name for tensor in dag.inputs if tensor.name not in form.stages]
        behind = names[names.index(form.stages[-1]) + 1 :]
        for count, name in zip(Stages.of(steps).operands, behind, strict=True):
            own = [operands.pop(0)] if count else []
            self._stages += [*own * count, name]
        for name in names:
            self._arrange(name)

    def step(self, step: Sequence[Any]) -> None:
        """Raises ValueError, LookupError or TypeError for one that cannot be done."""
        code, stage, *arguments = step
        if code not in self._codes:
            raise ValueError("there is no such step here")
        if self._stages[stage] not in self._absent or code == "CHR":
            self._codes[code](self, stage, *arguments)

    def finished(self) -> Schedule:
        """The schedule, every stage where it is computed.

        Ansor lets a loop be fused with those around it after something was placed there.
        """
        s = self._s
        for stage, (consumer, loop) in self._guests.items():
            s = s.compute_at(stage, consumer, loop)
        return s

    # --- loops ------------------------------------------------------------------------------------

    def _split(
        self, stage: int, at: int, extent: Any, lengths: list[int], inner_first: int
    ) -> None:
        del extent
        self._split_in(stage, at, lengths, inner_first=bool(inner_first))

    def _follow(self, stage: int, at: int, source: int, parts: int) -> None:
        lengths = self._lengths(source)
        outer, inner = lengths[: parts - 1], lengths[parts - 1 :]
        self._split_in(stage, at, [*outer, prod(inner)], inner_first=True)

    def _follow_fused(
        self, stage: int, at: int, sources: list[int], level: int, by_factor: int
    ) -> None:
        length = prod(self._lengths(source)[level] for source in sources)
        self._split_in(stage, at, [length], inner_first=bool(by_factor))

    def _split_in(self, stage: int, at: int, lengths: list[int], *, inner_first: bool) -> None:
        name, loop = self._stages[stage], self._loop(stage, at)
        if not inner_first:  # all lengths but the innermost
            extent = self._s.stages[name].full_extents()[loop]
            lengths = [*lengths[1:], -(-extent // prod(lengths))]
        self._s = self._s.split(name, loop, lengths)

    def _lengths(self, source: int) -> list[int]:
        code, *_, lengths, _ = self._steps[source]
        if code != "SP" or source < 0:
            raise ValueError(f"step {source} is no split")
        return cast("list[int]", lengths)

    def _fuse(self, stage: int, places: list[int]) -> None:
        if len(places) > 1:
            self._fused(self._stages[stage], [self._loop(stage, at) for at in places])

    def _fused(self, name: str, loops: Sequence[str]) -> None:
        self._s = self._s.fuse(name, loops)
        for guest, (consumer, loop) in self._guests.items():
            if consumer == name and loop in loops:
                self._guests[guest] = name, "@".join(loops)

    def _reorder(self, stage: int, order: list[int]) -> None:
        self._s = self._s.reorder(self._stages[stage], [self._loop(stage, at) for at in order])

    def _annotate(self, stage: int, at: int, annotation: int) -> None:
        name, loop, s = self._stages[stage], self._loop(stage, at), self._s
        if annotation == _UNROLL:
            self._s = s.unroll(name, loop)
        elif annotation == _VECTORIZE:
            self._s = s.vectorize(name, loop)
        elif annotation == _PARALLEL:
            self._s = s.parallel(name, loop)
        elif annotation:
            self._s = s.bind(name, loop, _BINDINGS[annotation])

    def _hint(self, stage: int, *arguments: Any) -> None:
        del stage, arguments

    # --- stages -----------------------------------------------------------------------------------

    def _compute_at(self, stage: int, consumer: int, at: int) -> None:
        self._guests[self._stages[stage]] = self._stages[consumer], self._loop(consumer, at)

    def _compute_root(self, stage: int) -> None:
        self._guests.pop(self._stages[stage], None)

    def _inline(self, stage: int) -> None:
        self._s = self._s.inline(self._stages[stage])

    def _cache_read(self, stage: int, scope: str, readers: list[int]) -> None:
        name = self._stages[stage]
        source = self._form.stages[0] if name in self._absent else name
        read_by = [self._stages[reader] for reader in readers]
        self._added(["CHR", stage], self._s.cache_read(source, _scope(scope), read_by))
        second = source == self._form.stages[-2]
        self._arrange(self._stages[stage + 1], self._form.second if second else ())

    def _cache_write(self, stage: int, scope: str) -> None:
        self._added(["CHW", stage], self._s.cache_write(self._stages[stage], _scope(scope)))
        self._arrange(self._stages[stage + 1])

    def _factor(self, stage: int, at: int, place: int) -> None:
        loop = self._loop(stage, at)
        self._added(["RF", stage], self._s.rfactor(self._stages[stage], loop))
        made, axes = self._stages[stage], self._form.image
        rest = [one for one in self._s.loops(made) if one != loop]
        order = [rest[axis] for axis in axes] + rest[len(axes) :]
        self._s = self._s.reorder(made, [*order[:place], loop, *order[place:]])

    def _added(self, step: Sequence[Any], after: Schedule) -> None:
        (made,) = after.stages.keys() - self._s.stages.keys()
        self._s = after
        renumber(self._stages, step, made)

    def _arrange(self, name: str, order: Sequence[int] = ()) -> None:
        """The loops of a stage in the order of TVM's definition."""
        loops = self._s.loops(name)
        is_product = len(loops) == len(self._form.loops)
        order = order or (self._form.loops if is_product else self._form.image)
        arranged = [loops[place] for place in order]
        self._s = self._s.reorder(name, arranged)
        if is_product and self._form.fused > 1:
            self._fused(name, arranged[-self._form.fused :])

    def _loop(self, stage: int, at: int) -> str:
        name, loops = self._stages[stage], self._s.loops(self._stages[stage])
        if type(at) is not int or not 0 <= at < len(loops):
            raise ValueError(f"{name} has {len(loops)} loops, none is number {at!r}"[:80])
        return loops[at]

    _codes: ClassVar[Mapping[str, Callable[..., None]]] = {
        "SP": _split,
        "FSP": _follow,
        "FFSP": _follow_fused,
        "FU": _fuse,
        "RE": _reorder,
        "AN": _annotate,
        "PR": _hint,
        "SA": _hint,
        "CA": _compute_at,
        "CR": _compute_root,
        "CI": _inline,
        "CHR": _cache_read,
        "CHW": _cache_write,
        "RF": _factor,
    }


def _scope(text: str) -> Scope:
    if text not in get_args(Scope):
        raise ValueError(f"there is no memory {text!r}"[:80])
    return cast("Scope", text)
