"""What the text of a kernel asks of its surroundings."""

from __future__ import annotations

from tilewright_x86.machine.isa import Isa


class Needs:
    """What functions of a kernel, written for a level, call and use.

    declarations   functions of other modules
    features       of the processor, but for those of its vectors
    """

    def __init__(self, isa: Isa) -> None:
        self.isa = isa
        self.declarations: set[str] = set()
        self.features: set[str] = set()

    def declare(self, line: str) -> None:
        """Note a function that is called."""
        self.declarations.add(line)

    def uses(self, feature: str) -> bool:
        """Whether the level has a feature, which the text then needs."""
        if feature not in self.isa.features:
            return False
        self.features.add(feature)
        return True
