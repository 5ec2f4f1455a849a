"""A loaded artefact: machine code in this process, timed and flushed in native code."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from tilewright.errors import UsageError
from tilewright.roles import Artifact
from tilewright.vocabulary.target import Target
from tilewright_tensor.kernels.host_kernel import HostKernel
from tilewright_x86.kernel.artifact import CALLS, ROWS, Code, code_of
from tilewright_x86.kernel.loader import Loaded
from tilewright_x86.kernel.parallel import hold_pool, parallel_for
from tilewright_x86.machine.isa import ISAS, features, isa_of
from tilewright_x86.machine.tile_permission import permit_tiles

_LINE_BYTES = 64
_APART_BYTES = 16 << 20
"""Of copies together: more than the TLB reaches, so that a launch meets its constants as the first
run of a network does."""


class X86Kernel(HostKernel):
    """`HostKernel` of object code."""

    def __init__(self, code: Code, metadata: Mapping[str, Any]) -> None:
        super().__init__(metadata["operands"], metadata["workspace_bytes"])
        self._threads: int = metadata["threads"]
        self._release_pool: Callable[[], object] | None = None
        symbols: Mapping[str, int] = {}
        if self._threads > 1:
            symbols, self._release_pool = hold_pool(self, code.pool)
        self._code = Loaded(code.objects, symbols)
        self._address = self._code.address(metadata["symbol"])
        self._function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self._address)
        self._programs: Sequence[Sequence[int]] = metadata.get("programs", ())
        self._handed: Collection[int] = ()
        self._most_rows = tuple(metadata.get("rows", ()))
        kind = ctypes.c_int64 * len(self._most_rows)
        self._rows = kind.from_address(self._code.address(ROWS)) if self._most_rows else None

    def run(self, row: int) -> None:
        """Call the code."""
        self._function(row)

    def swap(self, call: int, program: int) -> None:
        """Let a call of a network launch another of its programs."""
        address = self._code.address(f"kernel{self._programs[call][program]}")
        table = (ctypes.c_void_p * len(self._programs)).from_address(self._code.address(CALLS))
        table[call] = address

    def take_rows(self, rows: Sequence[int] | None) -> None:
        """As `RunsParts` says. Loops end by themselves where more is asked for than they reach."""
        if self._rows is not None:
            self._rows[:] = list(self._most_rows if rows is None else rows)

    def bind(self, arrays: Sequence[Any], copies: Mapping[int, int]) -> None:
        """As `HostKernel`, with fewer copies where that many are not needed: they are evicted."""
        once = sum(arrays[position].nbytes for position in copies)
        enough = max(2, -(-_APART_BYTES // max(1, once)))
        super().bind(arrays, {place: min(count, enough) for place, count in copies.items()})

    def hand_over(self, operands: Collection[int]) -> None:
        """As `HandsOver` says. On one thread they are where they would be anyway."""
        self._handed = operands if self._threads > 1 else ()

    def time(self, number: int) -> float:
        """Seconds that `number` launches take together; the loop around them is native code.

        Of what is in several places, each launch finds a copy that is in no cache: the clock stops
        when all were used and is started again when they are evicted. So it does where operands are
        handed over, after each launch.
        """
        counts = [len(operand.places) for operand in self._operands if len(operand.places) > 1]
        seconds = 0.0
        while number > 0:
            round_ = min([number, *(count - self.turn % count for count in counts)])
            self._evict(round_)
            if self._handed:
                for _ in range(round_):
                    self._rewrite()
                    seconds += self._timed(1)
            else:
                seconds += self._timed(round_)
            number -= round_
        return seconds

    def flush(self) -> None:
        """Evict every copy of every operand, and the workspace, from all caches."""
        for address, size in self.memory():
            _clock().flush(address, size, self._threads)

    def _timed(self, number: int) -> float:
        rows, columns = self.table.shape
        nanoseconds: int = _clock().time(
            self._address, self.table.ctypes.data, rows, 8 * columns, self.turn, number
        )
        self.turn = (self.turn + number) % rows
        return nanoseconds * 1e-9

    def _rewrite(self) -> None:
        for position in self._handed:
            place = self.operand(position)
            _clock().rewrite(place.ctypes.data, place.nbytes, self._threads)

    def _evict(self, number: int) -> None:
        """The copies that so many launches will meet."""
        for operand in self._operands:
            count = len(operand.places)
            if count > 1:
                first = self.turn % count
                operand.have(first + number)
                met = operand.places[first : first + number]
                _clock().flush(met.ctypes.data, number * met.strides[0], self._threads)

    def close(self) -> None:
        """Give memory and code back."""
        if self._release_pool:
            self._release_pool()
        self._code.close()
        super().close()


def load_kernel(artifact: Artifact) -> X86Kernel:
    """The artefact's code in this process.

    Raises UsageError for code that this machine cannot run or did not make.
    """
    code = code_of(artifact)
    if "amx-tile" in isa_of(Target("x86", {"isa": artifact.metadata["isa"]})).features:
        permit_tiles()
    try:
        return X86Kernel(code, artifact.metadata)
    except ValueError as error:
        raise UsageError(
            f"artefact of {len(artifact.data)} bytes: {error}",
            remedy="compile it again: it is damaged, or made in a way that is not known here",
        ) from error


class _Clock:
    """The timing loop and the cache flush, compiled once a process."""

    def __init__(self) -> None:
        from tilewright_x86.kernel import jit

        text = files("tilewright_x86").joinpath("clock.ll").read_text(encoding="utf-8")
        if "clflushopt" not in features():  # one line after the other
            text = text.replace("llvm.x86.clflushopt", "llvm.x86.sse2.clflush")
        self._code = Loaded([jit.compile_object(text, ISAS[-1])])
        long = ctypes.c_int64
        self.time = ctypes.CFUNCTYPE(long, long, long, long, long, long, long)(
            self._code.address("time_launches")
        )
        self._flush_address = self._code.address("flush")
        self._flush = ctypes.CFUNCTYPE(None, long, long, long)(self._flush_address)
        self._rewrite_address = self._code.address("rewrite")

    def flush(self, address: int, size: int, threads: int) -> None:
        """Threads of the pool help, and are awake afterwards, as behind another kernel."""
        lines = -(-size // _LINE_BYTES)
        if threads == 1:
            self._flush(address, 0, lines)
        else:
            parallel_for(self._flush_address, address, lines, threads)

    def rewrite(self, address: int, size: int, threads: int) -> None:
        """Every thread of the pool writes a part, the same at each time."""
        parallel_for(self._rewrite_address, address, -(-size // _LINE_BYTES), threads)


@cache
def _clock() -> _Clock:
    return _Clock()
