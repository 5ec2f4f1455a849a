"""An operator of your own: the distances between all points of two sets.

tilewright tune "distances(256x64, 512x64)" --plugin examples/own_operator.py --budget 5s
"""

from tilewright import hookimpl
from tilewright_tensor.expressions.expr import absolute
from tilewright_tensor.ir.dag import compute, reduce_axis, reduce_sum
from tilewright_tensor.operators.operator import Operand, operator


@operator(Operand("points", role="constant"))
def distances(data, points, *, squared=False):
    def distance(i, j):
        k = reduce_axis(data.shape[1], "k")
        difference = data[i, k] - points[j, k]
        return reduce_sum(difference * difference if squared else absolute(difference), k)

    return compute("distances", (data.shape[0], points.shape[0]), distance)


@hookimpl
def tilewright_operators():
    return [distances]
