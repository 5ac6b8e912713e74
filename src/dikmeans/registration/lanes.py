"""Vectors of sixteen numbers in compiled code, as the vector units of a processor hold them.

The loops over pixels are written in these, not left to the compiler's own vectorization: it cannot
keep the sums of a short stretch of pixels in vectors, nor fetch two neighboring pixels at once, and
it needs seconds to try. A vector is one register of AVX-512, two of AVX2, four of SSE or NEON: LLVM
divides it, nothing here asks which processor it is. Sums are added up in the order that is written
here, so the result does not depend on what surrounds a loop; processors that cannot multiply and
add at once (`fma`) round differently.

`load`, `store` and `gather` do not check their indices, and want arrays that are C contiguous; an
index counts from the first element of the array.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.imputils import lower_builtin
from numba.core.typing.templates import ConcreteTemplate, infer_global
from numba.extending import intrinsic, models, register_model
from numba.np.arrayobj import make_array

if TYPE_CHECKING:
    from numba.core.base import BaseContext
    from numba.core.datamodel import DataModelManager
    from numba.core.typing import Signature

N_LANES = 16

_FLOAT, _INT, _INDEX = ir.FloatType(), ir.IntType(32), ir.IntType(64)
_FLOATS, _INTS = ir.VectorType(_FLOAT, N_LANES), ir.VectorType(_INT, N_LANES)
_ZEROS = ir.Constant(_FLOATS, [0.0] * N_LANES)


class LanesType(types.Type):
    """The type of a vector of `N_LANES` single-precision numbers."""

    def __init__(self) -> None:
        super().__init__("Lanes")


LANES = LanesType()


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: DataModelManager, numba_type: types.Type):
        super().__init__(manager, numba_type, _FLOATS)


def _register(symbol: Callable[..., object], instruction: str) -> None:
    """Let an operator of Python stand for an instruction on two vectors."""

    @infer_global(symbol)
    class _Operator(ConcreteTemplate):
        cases = (LANES(LANES, LANES),)

    @lower_builtin(symbol, LANES, LANES)
    def lower(
        context: BaseContext, builder: ir.IRBuilder, signature: Signature, args: Sequence[ir.Value]
    ) -> ir.Value:
        return getattr(builder, instruction)(*args)


for _symbol, _instruction in (
    (operator.add, "fadd"),
    (operator.sub, "fsub"),
    (operator.mul, "fmul"),
):
    _register(_symbol, _instruction)


@intrinsic
def load(typing, array, index):
    """The numbers of a float32 array from `index` on."""

    def generate(context, builder, signature, args):
        address = _address(context, builder, signature.args[0], *args)
        return builder.load(builder.bitcast(address, _FLOATS.as_pointer()), align=4)

    return LANES(_contiguous(array, types.float32), types.intp), generate


@intrinsic
def store(typing, values, array, index):
    """Write a vector into a float32 array from `index` on."""

    def generate(context, builder, signature, args):
        address = _address(context, builder, signature.args[1], *args[1:])
        builder.store(args[0], builder.bitcast(address, _FLOATS.as_pointer()), align=4)
        return context.get_dummy_value()

    return types.void(LANES, _contiguous(array, types.float32), types.intp), generate


@intrinsic
def splat(typing, number):
    """A vector of one number."""

    def generate(context, builder, signature, args):
        return _splat(builder, *args)

    return LANES(types.float32), generate


@intrinsic
def fma(typing, a, b, c):
    """``a * b + c``, rounded once where the processor can."""

    def generate(context, builder, signature, args):
        return _call(builder, "fmuladd", _FLOATS, args)

    return LANES(LANES, LANES, LANES), generate


@intrinsic
def total(typing, values):
    """Sum of the numbers of a vector."""

    def generate(context, builder, signature, args):
        halves = args[0]
        while halves.type.count > 1:
            n = halves.type.count // 2
            low, high = (_shuffle(builder, halves, halves, range(i, i + n)) for i in (0, n))
            halves = builder.fadd(low, high)
        return builder.extract_element(halves, _INT(0))

    return types.float32(LANES), generate


@intrinsic
def clamp(typing, values, top):
    """Numbers below zero become zero, NaN as well; those above `top` become `top`."""

    def generate(context, builder, signature, args):
        values, limits = args[0], _splat(builder, args[1])
        values = builder.select(builder.fcmp_ordered(">", values, _ZEROS), values, _ZEROS)
        return builder.select(builder.fcmp_ordered("<", values, limits), values, limits)

    return LANES(LANES, types.float32), generate


@intrinsic
def truncate(typing, values):
    """Numbers without what is behind the point."""

    def generate(context, builder, signature, args):
        return builder.sitofp(builder.fptosi(args[0], _INTS), _FLOATS)

    return LANES(LANES), generate


@intrinsic
def store_cells(typing, rows, columns, width, cells, index):
    """Write ``row * width + column`` of whole numbers into a uint32 array, from `index` on."""

    def generate(context, builder, signature, args):
        rows, columns = (builder.fptosi(values, _INTS) for values in args[:2])
        width = _splat(builder, builder.trunc(args[2], _INT))
        address = _address(context, builder, signature.args[3], *args[3:])
        values = builder.add(builder.mul(rows, width), columns)
        builder.store(values, builder.bitcast(address, _INTS.as_pointer()), align=4)
        return context.get_dummy_value()

    cells = _contiguous(cells, types.uint32)
    return types.void(LANES, LANES, types.intp, cells, types.intp), generate


@intrinsic
def gather(typing, picture, start, width, cells, index):
    """The four neighbors of the cells from `index` on: upper left and right, lower left and right.

    `start` is where the picture of rows of `width` pixels begins.
    """

    def generate(context, builder, signature, args):
        picture, start, width, cells, index = args
        upper = _address(context, builder, signature.args[0], picture, start)
        lower = builder.gep(upper, [width])
        first_cell = _address(context, builder, signature.args[3], cells, index)
        two = ir.VectorType(_FLOAT, 2)
        corners = []
        for lane in range(N_LANES):
            cell = builder.load(builder.gep(first_cell, [_INDEX(lane)]))
            cell = builder.zext(cell, _INDEX)
            above, below = (
                builder.load(builder.bitcast(builder.gep(row, [cell]), two.as_pointer()), align=4)
                for row in (upper, lower)
            )
            corners.append(_shuffle(builder, above, below, range(4)))
        values = _transpose(builder, [_concatenate(builder, corners[i::4]) for i in range(4)])
        return context.make_tuple(builder, signature.return_type, values)

    picture, cells = _contiguous(picture, types.float32), _contiguous(cells, types.uint32)
    corners = types.containers.UniTuple(LANES, 4)
    return corners(picture, types.intp, types.intp, cells, types.intp), generate


@intrinsic
def any_nonzero(typing, a, b):
    """One if any number of either vector is not zero, otherwise zero."""

    def generate(context, builder, signature, args):
        bits = builder.or_(*(builder.fcmp_unordered("!=", values, _ZEROS) for values in args))
        word = builder.bitcast(bits, ir.IntType(N_LANES))
        return builder.zext(builder.icmp_unsigned("!=", word, word.type(0)), _INDEX)

    return types.intp(LANES, LANES), generate


# -- what the intrinsics are made of ---------------------------------------------------------------


def _contiguous(array: types.Type, dtype: types.Type) -> types.Array:
    """The type of an array argument, if it is one that can be addressed by a plain index."""
    if not isinstance(array, types.Array) or array.layout != "C" or array.dtype != dtype:
        raise TypeError(f"expected a C contiguous array of {dtype}, got {array}")
    return array


def _address(
    context: BaseContext,
    builder: ir.IRBuilder,
    array_type: types.Array,
    array: ir.Value,
    index: ir.Value,
) -> ir.Value:
    """Where the element of an array with this index lies in memory."""
    return builder.gep(make_array(array_type)(context, builder, array).data, [index])


def _call(builder: ir.IRBuilder, name: str, result: ir.Type, args: Sequence[ir.Value]) -> ir.Value:
    """Call an operation of LLVM on vectors."""
    kind = ir.FunctionType(result, [arg.type for arg in args])
    name = f"llvm.{name}.v{N_LANES}f32"
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), args)


def _splat(builder: ir.IRBuilder, number: ir.Value) -> ir.Value:
    empty = ir.Constant(ir.VectorType(number.type, N_LANES), ir.Undefined)
    vector = builder.insert_element(empty, number, _INT(0))
    return _shuffle(builder, vector, empty, [0] * N_LANES)


def _shuffle(builder: ir.IRBuilder, a: ir.Value, b: ir.Value, places: Sequence[int]) -> ir.Value:
    """The numbers of two vectors, counted through, at `places`."""
    mask = ir.Constant(ir.VectorType(_INT, len(places)), list(places))
    return builder.shuffle_vector(a, b, mask)


def _concatenate(builder: ir.IRBuilder, vectors: list[ir.Value]) -> ir.Value:
    while len(vectors) > 1:
        size = 2 * vectors[0].type.count
        halves = zip(vectors[::2], vectors[1::2], strict=True)
        vectors = [_shuffle(builder, a, b, range(size)) for a, b in halves]
    return vectors[0]


def _transpose(builder: ir.IRBuilder, rows: list[ir.Value]) -> list[ir.Value]:
    """Transpose every 4 x 4 matrix that four vectors have in their groups of four numbers."""

    def interleave(a: ir.Value, b: ir.Value, places: Sequence[int]) -> ir.Value:
        groups = range(0, N_LANES, 4)
        chosen = [g + i if i < 4 else N_LANES + g + i - 4 for g in groups for i in places]
        return _shuffle(builder, a, b, chosen)

    low = [interleave(a, b, (0, 4, 1, 5)) for a, b in (rows[:2], rows[2:])]
    high = [interleave(a, b, (2, 6, 3, 7)) for a, b in (rows[:2], rows[2:])]
    return [
        interleave(a, b, places) for a, b in (low, high) for places in ((0, 1, 4, 5), (2, 3, 6, 7))
    ]
