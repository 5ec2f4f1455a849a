"""What the emitter asks of a statement again and again, worked out once."""

from __future__ import annotations

from tilewright_tensor.expressions.affine import Affine, Var
from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.expressions.elements import elements
from tilewright_tensor.expressions.expr import Load, leaves
from tilewright_tensor.ir.loop_ir import Loop, Statement, Store, stores
from tilewright_x86.llvm_ir.index_text import Lanes
from tilewright_x86.machine.isa import Isa


class LoopFacts:
    """Facts of the statements of one program, kept by identity.

    The program keeps its nodes alive.
    """

    def __init__(self, isa: Isa) -> None:
        self._isa = isa
        self._stored: dict[int, frozenset[Buffer]] = {}
        self._pieces: dict[int, tuple[Lanes, ...]] = {}
        self._vectorisable: dict[int, bool] = {}

    def stored_buffers(self, statement: Statement) -> frozenset[Buffer]:
        """Every buffer that a statement stores to."""
        known = self._stored.get(id(statement))
        if known is None:
            found = frozenset(store.buffer for store in stores(statement))
            known = self._stored[id(statement)] = found
        return known

    def pieces(self, node: Loop) -> tuple[Lanes, ...]:
        """A vectorised loop cut into vectors, the last one masked where it is not whole."""
        known = self._pieces.get(id(node))
        if known is None:
            item_bytes = max((s.buffer.item_bytes for s in stores(node.body)), default=4)
            width = self._isa.lanes(item_bytes)
            whole, rest = divmod(node.extent, width)
            last = [Lanes(node.var, 1 << (rest - 1).bit_length(), rest)] if rest else []
            known = (*[Lanes(node.var, width, width)] * whole, *last)
            self._pieces[id(node)] = known
        return known

    def is_vectorisable(self, node: Loop) -> bool:
        """Whether every store goes to another element in each lane.

        Else lanes depend on each other.
        """
        known = self._vectorisable.get(id(node))
        if known is None:
            known = self._vectorisable[id(node)] = all(
                _is_spread(store, node) for store in stores(node.body)
            )
        return known

    def buffers(self, node: Statement) -> set[str]:
        """Names of all buffers that a statement reads or writes."""
        found: set[str] = set()
        for store in stores(node):
            found.add(store.buffer.name)
            found |= {leaf.buffer.name for leaf in leaves(store.value) if isinstance(leaf, Load)}
        return found


def _is_spread(store: Store, loop: Loop) -> bool:
    """Whether a store's indices differ in all iterations, the other loops at their start.

    What is found in memory may move all lanes alike, and not each on its own.
    """
    moving = [
        Affine(tuple([term for term in one.terms if loop.var in Affine((term,)).variables()]))
        for one in store.indices
    ]
    atoms = [atom for one in moving for atom, _ in one.terms]
    if not atoms or any(elements(atom) for atom in atoms):
        return False
    if all(isinstance(atom, Var) for atom in atoms):
        return True
    point = dict.fromkeys(frozenset[Var]().union(*(one.variables() for one in moving)), 0)
    places = set()
    for number in range(loop.extent):
        point[loop.var] = number
        places.add(tuple(one.evaluate(point) for one in moving))
    return len(places) == loop.extent
