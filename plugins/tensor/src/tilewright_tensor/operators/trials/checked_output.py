"""What an operator gives for operands, where its definition keeps what it declares."""

from __future__ import annotations

from tilewright.errors import UsageError
from tilewright.vocabulary.workload import TensorSpec
from tilewright_tensor.operators.definition.attribute import Attributes
from tilewright_tensor.operators.definition.operator_def import Inputs, OperatorDef


def checked_output(
    definition: OperatorDef,
    inputs: Inputs,
    attributes: Attributes,
    where: str = "",
    *,
    empty: bool = False,
) -> TensorSpec:
    """`OperatorDef.output`, its traits tried once for operands of each shape.

    Raises UsageError for operands that do not fit, and for a trait that the definition does not
    have.
    """
    output = definition.output(inputs, attributes, where, empty=empty)
    try:
        _try_traits(definition, inputs, attributes)
    except UsageError as error:
        name = definition.name
        raise error.within(f"{where}: {name}" if where else name) from None
    return output


def _try_traits(definition: OperatorDef, inputs: Inputs, attributes: Attributes) -> None:
    """Raise UsageError for a trait that the definition does not have; a revision is trusted."""
    given = (*inputs, repr(sorted(attributes.items())))
    is_empty = any(0 in spec.shape for spec in inputs)
    trusted = definition.revision or is_empty or not definition.has_traits()
    if trusted or given in definition.tried:
        return
    from tilewright_tensor.operators.trials.trait_trial import try_traits

    if problem := try_traits(definition, inputs, attributes):
        raise UsageError(
            f"{definition.place}{problem}", remedy="mend the definition, or leave the trait out"
        )
    definition.tried.add(given)
