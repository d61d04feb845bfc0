"""Arithmetic that gives the same bits on every processor.

Compilers may fuse a product and a sum where a processor can, add in an order that suits its
vectors, and call the system's library for exp and log. Each of these changes last digits from one
processor to the next. Here products and sums are fused exactly where `fma` says so, `Lanes` fix the
order of long sums, and functions are made of + - × ÷ √, which every processor rounds alike.
"""

import math
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.extending import intrinsic, models, register_model


class _Part(JITCodeLibrary):
    """Code that LLVM optimises and translates only as a part of what calls it."""

    def _optimize_final_module(self):
        pass

    def _finalize_final_module(self):
        self._finalize_dynamic_globals()
        self._finalized = True


class _AsPart(CompilerBase):
    """numba's compiler for functions that only compiled functions call."""

    def define_pipelines(self):
        self.state.flags.no_compile = True
        self.state.library = _Part(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        return [DefaultPassBuilder.define_nopython_pipeline(self.state)]

    def _compile_core(self):
        found = super()._compile_core()
        # numba knows a function by the built-in that Python would call. One of its own that refuses
        # what it is given:
        unused = {}.update
        self.state.targetctx.insert_user_function(unused, found.fndesc, [found.library])
        return found._replace(entry_point=unused)


# Without the interpreter's lock, so that slabs and runs can be given to threads, and without the
# wrapper for C.
_OPTIONS: dict[str, Any] = {"error_model": "numpy", "nogil": True, "no_cfunc_wrapper": True}
_INNER: dict[str, Any] = {**_OPTIONS, "no_cpython_wrapper": True, "pipeline_class": _AsPart}
# What Python calls is cached, with everything that it calls.
jit = numba.njit(**_OPTIONS, cache=True)


def _part(**options: Any) -> Any:
    """A decorator for what only compiled functions call: LLVM would take longer over each alone
    than over all.
    """

    def compiled(function: Any) -> Any:
        found = numba.njit(**_INNER, **options)(function)
        template = found.get_call_template
        # Of a constant among the arguments numba would compile another copy; LLVM sees it anyway.
        found.get_call_template = lambda given, named: template(
            [types.unliteral(each) for each in given], named
        )
        return found

    return compiled


# What neither makes nor returns arrays does not count references to them, which would cost as much
# as a tie.
inner = _part(_nrt=False)
allocating = _part(_nrt=True)
# What is computed for every pair or tie: a call would cost as much as the function.
inlined = _part(_nrt=False, forceinline=True)
# Loops that become vector instructions. Nothing here lets the compiler reorder or fuse operations.
vectorized = _part(_nrt=False, fastmath={"nnan", "ninf", "nsz"})


def entry(function: Any) -> Any:
    """A function that compiled functions call, for Python to call."""
    return jit(function.py_func)


WIDTH = 4
"""Numbers in a `Lanes` value: one AVX2 register, two of NEON."""


class Lanes(types.Type):
    """``WIDTH`` numbers of one type, each with sums of its own."""

    def __init__(self, item: types.Float) -> None:
        self.item = item
        super().__init__(f"Lanes({item})")


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager, lanes):
        super().__init__(
            manager, lanes, ir.VectorType(manager.lookup(lanes.item).get_value_type(), WIDTH)
        )


def _indices(array):
    """The type of a place in an array: an index, or a tuple of them."""
    return types.intp if array.ndim == 1 else types.UniTuple(types.intp, array.ndim)


def _place(context, builder, signature, arguments):
    """A pointer to ``WIDTH`` entries of a row, and how they are aligned."""
    array_type, array, place = signature.args[0], arguments[0], arguments[1]
    indices = [place] if array_type.ndim == 1 else cgutils.unpack_tuple(builder, place)
    made = context.make_array(array_type)(context, builder, array)
    pointer = cgutils.get_item_pointer(context, builder, array_type, made, indices)
    real = context.get_value_type(array_type.dtype)
    return builder.bitcast(
        pointer, ir.VectorType(real, WIDTH).as_pointer()
    ), context.get_abi_sizeof(real)


@intrinsic
def load(_, array, place):
    """``WIDTH`` entries of an array [n] or [m, n], from an index or a pair of them on."""

    def generate(context, builder, signature, arguments):
        pointer, align = _place(context, builder, signature, arguments)
        return builder.load(pointer, align=align)

    return Lanes(array.dtype)(array, _indices(array)), generate


@intrinsic
def store(_, array, place, lanes):
    """Write ``WIDTH`` entries."""

    def generate(context, builder, signature, arguments):
        pointer, align = _place(context, builder, signature, arguments)
        builder.store(arguments[2], pointer, align=align)
        return context.get_dummy_value()

    return types.void(array, _indices(array), lanes), generate


@intrinsic
def widen(_, lanes):
    """The same numbers in double precision."""

    def generate(context, builder, signature, arguments):
        if signature.args[0] == signature.return_type:
            return arguments[0]
        return builder.fpext(arguments[0], ir.VectorType(ir.DoubleType(), WIDTH))

    return Lanes(types.float64)(lanes), generate


@intrinsic
def splat(_, x):
    """A number in every lane."""

    def generate(context, builder, signature, arguments):
        vector = ir.VectorType(arguments[0].type, WIDTH)
        one = builder.insert_element(
            ir.Constant(vector, ir.Undefined), arguments[0], ir.IntType(32)(0)
        )
        mask = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [0] * WIDTH)
        return builder.shuffle_vector(one, ir.Constant(vector, ir.Undefined), mask)

    return Lanes(x)(x), generate


@intrinsic
def total(_, lanes):
    """The sum of all lanes: halves are added until one is left."""

    def generate(context, builder, signature, arguments):
        found, width = arguments[0], WIDTH
        while width > 1:
            width //= 2
            integers = ir.VectorType(ir.IntType(32), width)
            low, high = (
                builder.shuffle_vector(
                    found, found, ir.Constant(integers, list(range(first, first + width)))
                )
                for first in (0, width)
            )
            found = builder.fadd(low, high)
        return builder.extract_element(found, ir.IntType(32)(0))

    return lanes.item(lanes), generate


def _lane_by_lane(operation):
    """a ∘ b of two values of one type."""

    def typed(_, a, b):
        return a(a, a), lambda context, builder, signature, arguments: getattr(builder, operation)(
            *arguments
        )

    return intrinsic(typed)


add, subtract = _lane_by_lane("fadd"), _lane_by_lane("fsub")


@intrinsic
def fma(_, a, b, c):
    """a·b + c, rounded once; of numbers or lane by lane."""

    def generate(context, builder, signature, arguments):
        kind = arguments[0].type
        lanes = isinstance(kind, ir.VectorType)
        element = kind.element if lanes else kind
        name = f"llvm.fma.{f'v{WIDTH}' if lanes else ''}{element.intrinsic_name}"
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(kind, [kind] * 3), name
        )
        return builder.call(function, arguments)

    return a(a, a, a), generate


def _cast(kind, to, real):
    """The same bits as a number of another type."""

    def typed(_, x):
        return to(kind), lambda context, builder, signature, arguments: builder.bitcast(
            arguments[0], real
        )

    return intrinsic(typed)


# The bits of a double as an integer, and the reverse.
bits = _cast(types.float64, types.int64, ir.IntType(64))
from_bits = _cast(types.int64, types.float64, ir.DoubleType())


# log 2 in two parts, the first so short that small multiples of it are exact.
_LOG2, _LOG2_REST = 0.6931471803691238, 1.9082149292705877e-10
# π/2 in three.
_QUARTER = (1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21)
_COSH = tuple(1.0 / math.factorial(k) for k in range(20, -1, -2))
_SINHC = tuple(1.0 / math.factorial(k) for k in range(21, 0, -2))
_LOG1P = tuple((-1.0) ** k / (k + 1) for k in range(5, -1, -1))
_LOG = tuple(2.0 / k for k in range(23, 0, -2))
_ASIN = tuple(math.comb(2 * k, k) / 4**k / (2 * k + 1) for k in range(12, -1, -1))


@inner
def _polynomial(coefficients, x):
    """Coefficients from the highest power down."""
    found = 0.0
    for coefficient in coefficients:
        found = found * x + coefficient
    return found


@inlined
def exp_between(y):
    """e^y of |y| <= 700, without a branch: loops of it become vector instructions."""
    # 2^k e^r with |r| <= log(2)/2: adding 1.5·2^52 leaves k in the last bits.
    shifted = fma(y, 1.4426950408889634, 6755399441055744.0)
    k = shifted - 6755399441055744.0
    r = fma(k, -2.3190468138462996e-17, fma(k, -0.6931471805599453, y))
    # e^r to degree 11, as a tree of products: a chain would wait for each.
    s = r * r
    low = fma(s, fma(r, 1.0 / 6.0, 0.5), 1.0 + r)
    middle = fma(s, fma(r, 1.0 / 5040.0, 1.0 / 720.0), fma(r, 1.0 / 120.0, 1.0 / 24.0))
    high = fma(s, fma(r, 1.0 / 39916800.0, 1.0 / 3628800.0), fma(r, 1.0 / 362880.0, 1.0 / 40320.0))
    e = fma(s * s, fma(s * s, high, middle), low)
    return from_bits(bits(e) + (bits(shifted) << 52))


@inlined
def exp(x):
    """e^x."""
    return exp_between(x) if abs(x) <= 700.0 else _exp_beyond(x)


@inner
def _exp_beyond(x):
    """e^x of |x| > 700, where it may be 0, subnormal or infinite."""
    if x > 0.0:
        return exp_between(min(x, 710.0) - 16.0) * 8886110.520507872
    return exp_between(max(x, -746.0) + 60.0) * 8.75651076269652e-27 if x < 0.0 else x


@inner
def log(x):
    """The natural logarithm."""
    if not (x > 0.0 and x < np.inf):
        return x if x > 0.0 else -np.inf if x == 0.0 else np.nan
    part, power = math.frexp(x)
    if part < 0.7071067811865476:
        part, power = 2.0 * part, power - 1
    s = (part - 1.0) / (part + 1.0)
    return power * _LOG2 + (s * _polynomial(_LOG, s * s) + power * _LOG2_REST)


@inner
def log1p(x):
    """log(1 + x), with all digits of a small x."""
    if abs(x) < 1e-3:  # the next term is x⁷/7
        return x * _polynomial(_LOG1P, x)
    u = 1.0 + x
    if not u < np.inf:
        return x
    return log(u) * (x / (u - 1.0))


@inner
def asin(x):
    """The arc sine of 0 <= x <= 1."""
    turns = 1.0
    while x > 0.2:  # asin x = 2 asin(x / √(2 + 2√(1 - x²)))
        x /= math.sqrt(2.0 * (1.0 + math.sqrt((1.0 - x) * (1.0 + x))))
        turns *= 2.0
    return turns * x * _polynomial(_ASIN, x * x)


@inner
def asinh(x):
    """The area hyperbolic sine of x >= 0."""
    return log1p(x + x * x / (1.0 + math.sqrt(1.0 + x * x)))


@inner
def cosh_sinhc(z):
    """cosh √z and sinh √z / √z, which for z < 0 are cos √-z and sin √-z / √-z."""
    if abs(z) <= 1e-3:  # as most moves are; the next terms are z⁵/10! and z⁵/11!
        cosh = fma(z, fma(z, fma(z, fma(z, 1.0 / 40320.0, 1.0 / 720.0), 1.0 / 24.0), 0.5), 1.0)
        return cosh, fma(
            z, fma(z, fma(z, fma(z, 1.0 / 362880.0, 1.0 / 5040.0), 1.0 / 120.0), 1.0 / 6.0), 1.0
        )
    if abs(z) <= 1.0:
        return _polynomial(_COSH, z), _polynomial(_SINHC, z)
    angle = math.sqrt(abs(z))
    if z > 0.0:
        up = exp(angle)
        return 0.5 * up + 0.5 / up, (0.5 * up - 0.5 / up) / angle
    quarters = math.floor(angle / (0.5 * math.pi) + 0.5)
    rest = ((angle - quarters * _QUARTER[0]) - quarters * _QUARTER[1]) - quarters * _QUARTER[2]
    cosine, sine = _polynomial(_COSH, -rest * rest), rest * _polynomial(_SINHC, -rest * rest)
    if quarters % 2.0 == 1.0:
        cosine, sine = -sine, cosine
    if quarters % 4.0 >= 2.0:
        cosine, sine = -cosine, -sine
    return cosine, sine / angle


@inner
def sinh(x):
    """The hyperbolic sine."""
    return x * cosh_sinhc(x * x)[1]


@inner
def sin(x):
    """The sine."""
    return x * cosh_sinhc(-x * x)[1]
