"""From a schedule to a loop program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tilewright_tensor.expressions.affine import Affine, Var, divided, mod, multiples
from tilewright_tensor.expressions.buffer import Buffer, Scope
from tilewright_tensor.expressions.expr import Load, Read, Value, cast, leaves
from tilewright_tensor.ir.facts import Facts
from tilewright_tensor.ir.loop_ir import (
    Allocate,
    Barrier,
    CopyGroup,
    CopyWait,
    Guard,
    Loop,
    LoopKind,
    LoopProgram,
    Prefetch,
    Statement,
    Store,
    block,
    guarded,
)
from tilewright_tensor.lowering.neutral_terms import without_neutral_terms
from tilewright_tensor.lowering.peel import peeled, ranges, renamed
from tilewright_tensor.lowering.placement import PlacedLoop, Placement, place
from tilewright_tensor.lowering.tensorized import tensorized
from tilewright_tensor.lowering.zero_padding import zero_padding
from tilewright_tensor.schedule.compute_stage import ComputeStage
from tilewright_tensor.schedule.schedule import Schedule


def lower(schedule: Schedule, name: str) -> LoopProgram:
    """The loop program of a schedule; operands are the DAG's, in physical layout.

    Loops of extent 1 are gone. A stage with a nest of its own that is no output becomes workspace,
    one attached inside another is allocated there, as large as what is computed there. ValueError
    where a stage is read outside its place.
    """
    return _Lowering(schedule).program(name)


class _Lowering:
    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.placed = place(schedule)
        self.facts = next(iter(self.placed.values())).facts
        self.buffers: dict[str, Buffer] = {}
        self.fresh: dict[Var, tuple[int, int]] = {}
        self.lanes: dict[str, tuple[int, int] | None] = {}
        self.tiles = {name: _tiles(one, self.placed) for name, one in self.placed.items()}
        for tensor in schedule.dag.inputs:
            self.buffers[tensor.name] = self._buffer(tensor.name, tensor.shape, tensor.dtype)
        for placement in self.placed.values():
            stage = placement.stage
            if stage.attach and stage.name not in self.schedule.layouts:
                self.lanes[stage.name] = _lanes(placement)
            buffer = self._buffer(
                stage.name, placement.region, stage.dtype, stage.scope if stage.attach else "global"
            )
            buffer = _aligned(buffer, stage) if stage.attach else buffer
            if tiles := self.tiles[stage.name]:
                buffer = replace(buffer, shape=(tiles[1], *buffer.shape))
            self.buffers[stage.name] = buffer

    def _buffer(
        self, name: str, shape: tuple[int, ...], dtype: str, scope: Scope = "global"
    ) -> Buffer:
        if layout := self.schedule.layouts.get(name):
            shape, dtype = layout.physical_shape(shape), layout.storage(dtype)
        elif lanes := self.lanes.get(name):
            axis, width = lanes
            shape = (*shape[:axis], -(-shape[axis] // width), *shape[axis + 1 :], width)
        return Buffer(name, shape, dtype, scope)

    def program(self, name: str) -> LoopProgram:
        dag = self.schedule.dag
        outputs = [tensor.name for tensor in dag.outputs]
        own = [stage for stage in self.schedule.stages.values() if not stage.attach]
        body = block([self._nest(self.placed[stage.name]) for stage in own])
        if any(placement.guards for placement in self.placed.values()):
            body = peeled(body, Facts({**self.facts.bounds, **self.fresh}))
        return LoopProgram(
            name,
            tuple(self.buffers[tensor.name] for tensor in dag.inputs),
            tuple(self.buffers[one] for one in outputs),
            block([*self._padding(), body]),
            tuple(self.buffers[stage.name] for stage in own if stage.name not in outputs),
        )

    def _padding(self) -> Iterator[Statement]:
        """Zeros where blocks of the outputs' formats are partly filled: a product may read them."""
        kinds = {loop.kind for placement in self.placed.values() for loop in placement.loops}
        around: LoopKind = "blockIdx.x" if "blockIdx.x" in kinds else "parallel"
        for tensor in self.schedule.dag.outputs:
            if layout := self.schedule.layouts.get(tensor.name):
                yield from zero_padding(self.buffers[tensor.name], layout, tensor.shape, around)

    def _nest(self, placement: Placement) -> Statement:
        """All loops of a stage, from the inside out."""
        stage, loops, first = placement.stage, placement.loops, placement.first_reduction
        guards = placement.guards
        indices = self._element(placement)
        buffer = self.buffers[stage.name]
        value = placement.value(self._loaded)
        if stage.overhangs:
            self._check_overhang(placement)
        # a reduction over one element is that element
        reduces = stage.combiner is not None and first < len(loops)
        if stage.combiner is not None and reduces:
            if buffer.dtype != stage.dtype:
                raise ValueError(
                    f"{stage.name} would add up in {buffer.dtype}: sum in a cache_write of it, "
                    "which has no format"
                )
            value = stage.combiner.operation(Load(buffer, indices), value)
        store = Store(buffer, indices, cast(value, buffer.dtype))
        statement = without_neutral_terms(store) if stage.instruction else store
        for depth in range(len(loops) - 1, -1, -1):
            loop = loops[depth]
            statement = guarded(guards.get((depth, True), ()), statement)
            guests = placement.guests.get(loop.name, ())
            if guests and any(self.tiles[guest] for guest in guests):
                statement = self._pipelined(placement, depth, statement)
            else:
                statement = self._with_guests(guests, statement)
                statement = self._with_prefetches(placement, depth, statement)
                statement = guarded(guards.get((depth, False), ()), statement)
                statement = _looped(loop, loop.var, statement)
            if stage.instruction and stage.instruction[0] == loop.name:
                statement = tensorized(stage.instruction[1], statement)
            if depth == first and reduces:
                statement = block([self._initial(placement, indices), statement])
        return guarded(guards.get((-1, False), ()), statement)

    def _check_overhang(self, placement: Placement) -> None:
        """Raise ValueError where what overhangs reads elements that no format has."""
        stage = placement.stage
        facts = placement.facts.with_conditions(
            [condition for found in placement.guards.values() for condition in found]
        )
        beyond = {
            axis.var
            for axis in stage.axes + stage.reduce_axes
            if not stage.overhangs.isdisjoint(stage.descendants([axis.name]))
        }
        for own in leaves(stage.body):
            read = placement.reads.get(id(own))
            if not isinstance(own, Read) or read is None:
                continue
            # what does not overhang is where it always is
            moving = [
                Affine() if beyond.isdisjoint(index.variables()) else at
                for index, at in zip(own.indices, read.indices, strict=True)
            ]
            load = self._load(Read(read.tensor, tuple(moving)))
            for index, extent in zip(load.indices, load.buffer.shape, strict=True):
                if not facts.holds((index, extent)):
                    raise ValueError(
                        f"overhang of {stage.name}: {load.buffer.name} has no element "
                        f"at {index}, expected below {extent}: choose a format in blocks"
                    )

    def _element(self, placement: Placement) -> tuple[Affine, ...]:
        """Where the stage's element lies in its buffer."""
        stage = placement.stage
        logical = [
            (local if stage.attach else start + local)
            if extent > 1 or axis.name in stage.overhangs
            else Affine()
            for axis, start, local, extent in zip(
                stage.axes, placement.start, placement.local, placement.region, strict=True
            )
        ]
        return self._physical(stage.name, logical)

    def _physical(self, name: str, logical: Sequence[Affine]) -> tuple[Affine, ...]:
        place, tiles = self._place(name, logical), self.tiles.get(name)
        return (tiles[0], *place) if tiles else place

    def _place(self, name: str, logical: Sequence[Affine]) -> tuple[Affine, ...]:
        bounds = self.facts.bounds
        if layout := self.schedule.layouts.get(name):
            return layout.physical_index(logical, bounds)
        if lanes := self.lanes.get(name):
            axis, width = lanes
            block, lane = divided(logical[axis], width, bounds)
            return (*logical[:axis], block, *logical[axis + 1 :], lane)
        return tuple(logical)

    def _load(self, read: Read) -> Load:
        """The element in memory, as it is stored."""
        name = read.tensor.name
        logical: Sequence[Affine] = read.indices
        placement = self.placed.get(name)
        if placement and placement.stage.attach:
            logical = placement.local_index(logical)
        return Load(self.buffers[name], self._physical(name, logical))

    def _loaded(self, read: Read) -> Value:
        """The element in memory, as the tensor has it."""
        return cast(self._load(read), read.tensor.dtype)

    def _initial(self, placement: Placement, indices: tuple[Affine, ...]) -> Statement:
        """The nest that writes the identity: the spatial loops from the first reduction on."""
        stage, first = placement.stage, placement.first_reduction
        assert stage.combiner is not None
        inner = [loop for loop in placement.loops[first:] if not loop.reduction]
        fresh = {
            loop.var: Var(f"{loop.var.name}.init")
            for loop in inner
            if not loop.shares and loop.extent > 1
        }
        self.fresh.update((new, self.facts.bounds[old]) for old, new in fresh.items())
        rename = {old: Affine(((new, 1),)) for old, new in fresh.items()}
        reduced = {loop.var for loop in placement.loops if loop.reduction}
        pending = [
            condition
            for (depth, _), conditions in placement.guards.items()
            if depth >= first
            for condition in conditions
            if reduced.isdisjoint(condition[0].variables())
        ]
        statement: Statement = Store(
            self.buffers[stage.name],
            tuple(index.substitute(rename) for index in indices),
            stage.combiner.identity(stage.dtype),
        )
        clears = stage.instruction and stage.instruction[1].clears
        for position in range(len(inner) - 1, -1, -1):
            loop = inner[position]
            here = [c for c in pending if loop.var in c[0].variables()]
            pending = [c for c in pending if c not in here]
            statement = guarded(
                [(index.substitute(rename), limit) for index, limit in here], statement
            )
            statement = _looped(loop, fresh.get(loop.var, loop.var), statement)
            if clears and len(inner) - position == len(clears.meaning.axes):
                statement = tensorized(clears, statement)
        return guarded(pending, statement)

    def _with_guests(self, guests: Sequence[str], statement: Statement) -> Statement:
        """The attached stages, then the statement.

        Scratch lives around both; barriers stand around the writing of shared memory.
        """
        if not guests:
            return statement
        scopes = [self.schedule.stages[guest].scope for guest in guests]
        # the first barrier waits for readers of the iteration before, the others for the writers
        # of shared memory
        parts: list[Statement] = [Barrier()] if "shared" in scopes else []
        written: list[str] = []
        for guest, scope in zip(guests, scopes, strict=True):
            if written and (scope != "shared" or self._reads_inside(guest, written)):
                parts.append(Barrier())
                written = []
            parts.append(self._nest(self.placed[guest]))
            if scope == "shared":
                written.append(guest)
        if written:
            parts.append(Barrier())
        statement = block([*parts, statement])
        for guest in reversed(guests):
            statement = Allocate(self.buffers[guest], statement)
        return statement

    def _pipelined(self, placement: Placement, depth: int, statement: Statement) -> Statement:
        """The loop with what is attached there copied some turns ahead, tile after tile.

        One barrier a turn does: behind it, the copies of all threads for this turn are seen, and
        the tile that the new copies go to was last read in the turn before.
        """
        loop, guests = placement.loops[depth], placement.guests[placement.loops[depth].name]
        where = f"{placement.stage.name}.{loop.name}"
        if (depth, False) in placement.guards:
            raise ValueError(f"pipeline of {where}: the loop has a tail, choose a factor of it")
        for guest in guests:
            if self.schedule.stages[guest].scope != "shared" or self._reads_inside(guest, guests):
                raise ValueError(
                    f"pipeline of {where}: {guest} is computed there, "
                    "expected copies in shared memory that read none of each other"
                )
        fill = block([self._nest(self.placed[guest]) for guest in guests])
        count = next(tiles[1] for guest in guests if (tiles := self.tiles[guest]))
        ahead, turn = count - 1, Affine(((loop.var, 1),))

        def copies(at: Affine, suffix: str) -> Statement:
            copy = renamed(fill, {loop.var: at}, suffix)
            self.fresh.update(ranges(copy))
            return copy

        first = [CopyGroup(copies(Affine((), turn), f".{turn}")) for turn in range(ahead)]
        rest = Guard(((turn, loop.extent - ahead),), copies(turn + ahead, ".ahead"))
        statement = self._with_prefetches(placement, depth, statement)
        body = block([CopyWait(ahead - 1), Barrier(), CopyGroup(rest), statement])
        statement = block([Barrier(), *first, _looped(loop, loop.var, body)])
        for guest in reversed(guests):
            statement = Allocate(self.buffers[guest], statement)
        return statement

    def _reads_inside(self, stage: str, names: Sequence[str]) -> bool:
        """Whether the stage, or one computed inside of it, reads any of the tensors."""
        inside = (name for guests in self.placed[stage].guests.values() for name in guests)
        return any(map(self.schedule.stages[stage].reads, names)) or any(
            self._reads_inside(guest, names) for guest in inside
        )

    def _with_prefetches(self, placement: Placement, depth: int, statement: Statement) -> Statement:
        found: list[Statement] = []
        for note in placement.stage.prefetches:
            if note.loop != placement.loops[depth].name:
                continue
            here = depth + (note.step is None)
            inner = {loop.var: Affine() for loop in placement.loops[here:]}
            reads = placement.reads.values()
            read = next(one for one in reads if one.tensor.name == note.tensor)
            load = self._load(read)
            indices = [index.substitute(inner, self.facts.bounds) for index in load.indices]
            if note.step is not None and placement.loops[depth].extent > 1:
                indices[-1] += placement.loops[depth].var * note.step
            found.append(Prefetch(load.buffer, tuple(indices), note.offset_bytes))
        return block([*found, statement]) if found else statement


def _aligned(buffer: Buffer, stage: ComputeStage) -> Buffer:
    """The scratch with its rows as far apart as the stage wants them."""
    factor, offset = stage.row_align
    if factor == 1 or not buffer.shape:
        return buffer
    *around, row = buffer.shape
    return replace(buffer, shape=(*around, row + (offset - row) % factor))


def _tiles(placement: Placement, placed: Mapping[str, Placement]) -> tuple[Affine, int] | None:
    """(number, count) where the stage has several tiles of shared memory, filled in turns."""
    if placement.stage.attach is None:
        return None
    consumer, at = placement.stage.attach
    host = placed[consumer]
    loop = host.loops[host.depth(at)]
    count = min(host.stage.pipelines.get(at, 1), loop.extent)
    if count == 1 or loop.shares:
        return None
    return mod(loop.var.affine(), count, placement.facts.bounds), count


def _lanes(placement: Placement) -> tuple[int, int] | None:
    """(axis, width) where vectors run along an axis that is not the last of the scratch.

    The scratch then has the lanes as a dimension of their own, innermost, so that vectors lie
    together.
    """
    vector = next(
        (loop for loop in placement.loops if loop.kind == "vectorized" and loop.extent > 1), None
    )
    if vector is None:
        return None
    axis = next(
        (d for d, local in enumerate(placement.local) if (vector.var, 1) in local.terms), None
    )
    if axis is None or all(extent == 1 for extent in placement.region[axis + 1 :]):
        return None
    _, lanes = multiples(placement.local[axis], vector.extent)
    # vectors that start anywhere would straddle two rows of lanes
    return (axis, vector.extent) if lanes == Affine(((vector.var, 1),)) else None


def _looped(loop: PlacedLoop, var: Var, statement: Statement) -> Statement:
    return (
        statement
        if loop.shares or loop.extent == 1
        else Loop(var, loop.extent, loop.kind, statement)
    )
