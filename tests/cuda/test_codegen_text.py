"""The emitted text of small programs, to the letter, and what refuses to become text."""

from __future__ import annotations

import pytest

from tilewright_cuda.text.cuda_c import CUDA_C
from tilewright_cuda.text.emit import emit_kernels
from tilewright_tensor.c_text.c_names import CNames
from tilewright_tensor.c_text.index_text import IndexText
from tilewright_tensor.expressions.affine import Affine, Var, floor_div, index, mod
from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.expressions.expr import (
    Const,
    IndexValue,
    Load,
    Op,
    cast,
    ge,
    logical_and,
    lt,
    maximum,
    select,
    tanh,
)
from tilewright_tensor.ir.loop_ir import (
    Allocate,
    Barrier,
    Block,
    CopyGroup,
    CopyWait,
    Guard,
    Loop,
    LoopProgram,
    Store,
)

A, B = Buffer("a", (64,)), Buffer("b", (64,))
X, Y = Buffer("x", (8, 64)), Buffer("y", (8, 64))
block_x, thread, i, v = (Var(name) for name in ("block", "thread", "i", "v"))


def kernel(body, inputs=(A,), outputs=(B,), name="kernel"):
    (found,) = emit_kernels(LoopProgram(name, inputs, outputs, body))
    return found


def lines(body, **options):
    """The kernel's body without indentation."""
    return [line.strip() for line in kernel(body, **options).text.splitlines()[1:-1]]


def of(buffer, *indices):
    return Load(buffer, tuple(index(one) for one in indices))


def put(buffer, *indices_and_value):
    *indices, value = indices_and_value
    return Store(buffer, tuple(index(one) for one in indices), value)


def test_loops_bound_to_blocks_and_threads_are_the_machine_s_indexes():
    at = block_x * 16 + thread
    body = Loop(
        block_x, 4, "blockIdx.x",
        Loop(thread, 16, "threadIdx.x", Guard(((at, 60),), put(B, at, maximum(of(A, at), 0.0)))),
    )  # fmt: skip
    found = kernel(body)
    assert found.text == (
        'extern "C" __global__ void __launch_bounds__(16) '
        "kernel(const float *__restrict__ a, float *__restrict__ b) {\n"
        "  const int block = blockIdx.x;\n"
        "  const int thread = threadIdx.x;\n"
        "  if (block * 16 + thread < 60) {\n"
        "    b[block * 16 + thread] = tw_max(a[block * 16 + thread], 0.0f);\n"
        "  }\n"
        "}\n"
    )
    assert (found.shape.grid, found.shape.block) == ((4, 1, 1), (16, 1, 1))
    assert found.helpers == {"tw_max"}


def test_a_vectorised_loop_is_one_access_where_memory_is_aligned():
    body = Loop(
        thread, 16, "threadIdx.x",
        Loop(v, 4, "vectorized", put(B, thread * 4 + v, of(A, thread * 4 + v) * 2.0)),
    )  # fmt: skip
    assert lines(body) == [
        "const int thread = threadIdx.x;",
        "const float4 v1 = *(const float4 *)&a[thread * 4];",
        "*(float4 *)&b[thread * 4] = make_float4((v1.x * 2.0f), (v1.y * 2.0f), (v1.z * 2.0f), (v1.w * 2.0f));",
    ]


def test_what_is_not_aligned_is_accessed_by_element():
    body = Loop(
        thread, 15, "threadIdx.x",
        Loop(v, 2, "vectorized", put(B, thread * 2 + v, of(A, thread * 2 + v + 1))),
    )  # fmt: skip
    assert lines(body) == [
        "const int thread = threadIdx.x;",
        "*(float2 *)&b[thread * 2] = make_float2(a[thread * 2 + 1], a[thread * 2 + 2]);",
    ]


def test_a_mask_that_all_lanes_share_guards_the_whole_vector():
    masked = select(lt(IndexValue(thread * 4 + v), 32), of(A, thread * 4 + v), 0.0)
    body = Loop(thread, 16, "threadIdx.x", Loop(v, 4, "vectorized", put(B, thread * 4 + v, masked)))
    assert lines(body)[1:] == [
        "const float4 v1 = (thread * 4 < 32) ? *(const float4 *)&a[thread * 4] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);",
        "*(float4 *)&b[thread * 4] = v1;",
    ]


def test_a_mask_within_a_vector_is_tested_by_lane():
    masked = select(lt(IndexValue(thread * 4 + v), 30), of(A, thread * 4 + v), 0.0)
    body = Loop(thread, 16, "threadIdx.x", Loop(v, 4, "vectorized", put(B, thread * 4 + v, masked)))
    assert lines(body)[1].count("?") == 4


def test_shared_memory_is_carved_out_of_one_block_and_barriers_stand_where_the_program_has_them():
    tile, other = Buffer("tile", (64,), scope="shared"), Buffer("other", (3,), scope="shared")
    body = Allocate(
        tile,
        Allocate(
            other,
            Loop(
                thread, 64, "threadIdx.x",
                Block((
                    put(tile, thread, of(A, thread)),
                    Barrier(),
                    put(B, thread, of(tile, 63 - thread)),
                )),
            ),
        ),
    )  # fmt: skip
    found = kernel(body)
    assert found.shape.shared_bytes == 256 + 16
    assert [line.strip() for line in found.text.splitlines()[1:-1]] == [
        "TW_DYN_SMEM(unsigned char, tw_shared);",
        "float *const tile = (float *)(tw_shared + 0);",
        "float *const other = (float *)(tw_shared + 256);",
        "const int thread = threadIdx.x;",
        "tile[thread] = a[thread];",
        "__syncthreads();",
        "b[thread] = tile[-thread + 63];",
    ]


def test_what_stands_outside_the_threads_is_done_once():
    total = Buffer("total", (1,), scope="shared")
    body = Allocate(
        total,
        Block((
            put(total, 0, Const(0.0)),
            Loop(i, 64, "serial", put(total, 0, of(total, 0) + of(A, i))),
            Barrier(),
            Loop(thread, 64, "threadIdx.x", put(B, thread, of(A, thread) / of(total, 0))),
        )),
    )  # fmt: skip
    assert lines(body)[2:7] == [
        "if (threadIdx.x == 0) total[0] = 0.0f;",
        "for (int i = 0; i < 64; ++i) {",
        "if (threadIdx.x == 0) total[0] += a[i];",
        "}",
        "__syncthreads();",
    ]


def test_copies_are_asynchronous_and_masked_ones_fill_with_zero():
    tile = Buffer("tile", (64,), scope="shared")
    at = thread * 4 + v
    whole = Loop(v, 4, "vectorized", put(tile, at, of(A, at)))
    inside = logical_and(ge(IndexValue(index(thread)), 1), lt(IndexValue(index(thread)), 9))
    masked = put(tile, thread, select(inside, of(A, thread - 1), 0.0))
    computed = put(tile, thread, of(A, thread) * 2.0)
    body = Allocate(
        tile,
        Loop(
            thread, 16, "threadIdx.x",
            Block((
                CopyGroup(Block((whole, masked, computed))),
                CopyWait(0),
                Barrier(),
                put(B, thread, of(tile, thread)),
            )),
        ),
    )  # fmt: skip
    assert lines(body)[3:] == [
        "cp16(&tile[thread * 4], &a[thread * 4]);",
        "cp4(&tile[thread], &a[thread - 1], ((thread >= 1) && (thread < 9)) ? 4 : 0);",
        "tile[thread] = a[thread] * 2.0f;",
        "cp_commit();",
        "cp_wait<0>();",
        "__syncthreads();",
        "b[thread] = tile[thread];",
    ]


def test_what_a_copy_ahead_rounds_is_loaded_before_what_is_computed_and_stored_behind_it():
    """Of the elements that are copied as they are, nothing is changed."""
    tile, plain = (
        Buffer("tile", (2, 64), "tf32", "shared"),
        Buffer("plain", (2, 16), scope="shared"),
    )
    at = thread * 4 + v

    def copies(turn):
        buffer = (mod(index(turn), 2),)
        rounded = Store(tile, (*buffer, at), cast(of(A, at), "tf32"))
        return Loop(
            thread, 16, "threadIdx.x",
            Block((
                Loop(v, 4, "vectorized", rounded),
                Store(plain, (*buffer, index(thread)), of(A, thread)),
            )),
        )  # fmt: skip

    other = Var("other")
    read = Load(tile, (mod(index(i), 2), index(other)))
    turn = Block((
        CopyWait(0),
        Barrier(),
        CopyGroup(Guard(((index(i), 3),), copies(i + 1))),
        Loop(other, 16, "threadIdx.x", put(B, other, cast(read, "float32"))),
    ))  # fmt: skip
    body = Allocate(
        tile, Allocate(plain, Block((CopyGroup(copies(index(0))), Loop(i, 4, "serial", turn))))
    )
    found = lines(body)
    assert found[found.index("for (int i = 0; i < 4; ++i) {") + 1 :] == [
        "float tile_fetched_0[4];",
        "cp_wait<0>();",
        "__syncthreads();",
        "if (i < 3) {",
        "const int thread = threadIdx.x;",
        "const float4 v2 = *(const float4 *)&a[thread * 4];",
        *(f"tile_fetched_0[{lane}] = v2.{axis};" for lane, axis in enumerate("xyzw")),
        "cp4(&plain[(i + 1) % 2 * 16 + thread], &a[thread]);",
        "}",
        "cp_commit();",
        "const int other = threadIdx.x;",
        "b[other] = (float)tw_from_tf32(tile[i % 2 * 64 + other]);",
        "if (i < 3) {",
        "const int thread_stored = threadIdx.x;",
        "*(float4 *)&tile[(i + 1) % 2 * 64 + thread_stored * 4] = make_float4("
        + ", ".join(f"tw_to_tf32(tile_fetched_0[{lane}])" for lane in range(4))
        + ");",
        "}",
        "}",
    ]
    assert "*(float4 *)&tile[thread * 4] = " in found[5], "nothing is computed meanwhile"


def test_divisions_that_may_be_negative_floor():
    body = Loop(thread, 16, "threadIdx.x", put(B, thread, of(A, floor_div(-thread, 4) + 4)))
    found = kernel(body)
    assert "b[thread] = a[tw_floor_div(-thread, 4) + 4];" in found.text
    assert found.helpers == {"tw_floor_div"}


def test_divisions_of_what_may_be_negative_and_exceeds_an_int_are_as_wide():
    indexes = IndexText(CNames(), CUDA_C)
    indexes.bounds[thread] = (0, 2**20)
    text = indexes.index(floor_div(-thread * 4096, 7) + mod(-thread, 7))
    assert "tw_floor_div<long long>(-thread * 4096LL, 7)" in text
    assert "tw_floor_mod(-thread, 7)" in text


def test_divisions_that_cannot_be_negative_are_c_s_own():
    at = floor_div(thread - 3, 4) * 4 + mod(thread + 2, 4) + 4
    body = Loop(thread, 16, "threadIdx.x", put(B, thread, of(A, at)))
    assert lines(body)[1] == "b[thread] = a[(thread + 1) / 4 * 4 + (thread + 2) % 4];"


def test_values_of_every_kind_are_written_in_their_dtype():
    wide = Op("add", (cast(of(A, thread), "float64"), Const(0.5, "float64")), "float64")
    value = cast(
        select(lt(wide, Const(1.0, "float64")), wide, Const(float("-inf"), "float64")), "float32"
    )
    body = Loop(thread, 16, "threadIdx.x", put(B, thread, tanh(value)))
    assert lines(body)[1] == (
        "b[thread] = tanhf((float)(((((double)(a[thread]) + 0.5) < 1.0) "
        "? ((double)(a[thread]) + 0.5) : (-(double)INFINITY))));"
    )


def test_several_nests_become_several_kernels_that_take_what_they_touch():
    scratch = Buffer("scratch", (64,))
    program = LoopProgram(
        "two steps",
        (A,),
        (B,),
        Block((
            Loop(thread, 64, "threadIdx.x", put(scratch, thread, of(A, thread))),
            Loop(i, 64, "threadIdx.x", put(B, i, of(scratch, 63 - i))),
        )),
        (scratch,),
    )  # fmt: skip
    first, second = emit_kernels(program)
    assert (first.name, first.operands) == ("two_steps_0", (0, 2))
    assert (second.name, second.operands) == ("two_steps_1", (1, 2))


def test_names_stay_apart_and_keep_off_those_of_c():
    one, other = Var("a.b"), Var("a_b")
    body = Loop(
        one, 8, "blockIdx.x", Loop(other, 64, "threadIdx.x", put(Y, one, other, of(X, one, other)))
    )
    assert lines(body, inputs=(X,), outputs=(Y,), name="int")[:2] == [
        "const int a_b = blockIdx.x;",
        "const int a_b_2 = threadIdx.x;",
    ]


@pytest.mark.parametrize("name", ["xor", "namespace", "true", "expf", "rint", "float4", "tw_max"])
def test_words_of_cpp_and_what_kernels_call_name_no_variable(name):
    buffer = Buffer(name, (64,))
    body = Loop(thread, 64, "threadIdx.x", put(buffer, thread, of(A, thread)))
    assert lines(body, outputs=(buffer,))[1] == f"{name}_2[thread] = a[thread];"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            Allocate(
                Buffer("mine", (4,), scope="local"),
                Loop(thread, 4, "threadIdx.x", put(Buffer("mine", (4,), scope="local"), thread, Const(1.0))),
            ),
            "mine is local to a thread",
        ),
        (
            Loop(thread, 8, "threadIdx.x", Guard(((index(thread), 4),), Barrier())),
            "a barrier stands inside a guard",
        ),
        (
            Loop(thread, 8, "threadIdx.x", put(Buffer("b", (64,), "float16"), thread, Const(1.0, "float16"))),
            "no numbers of dtype float16",
        ),
    ],
)  # fmt: skip
def test_what_no_kernel_can_be_says_why(body, message):
    program = LoopProgram("kernel", (A,), (B,), body)
    with pytest.raises(ValueError, match=message):
        emit_kernels(program)


def test_a_barrier_in_a_loop_of_fewer_threads_than_the_block_has_is_refused():
    few = Loop(thread, 8, "threadIdx.x", Block((put(B, thread, of(A, thread)), Barrier())))
    many = Loop(i, 64, "threadIdx.x", put(B, i, of(A, i)))
    body = Loop(block_x, 2, "blockIdx.x", Block((few, many)))
    with pytest.raises(ValueError, match=r"8 threadIdx\.x, of which the block has 64"):
        kernel(body)


def test_indexes_beyond_32_bits_are_computed_wide():
    huge = Buffer("b", (3, 2**30))
    far = Affine(((block_x, 1),))
    body = Loop(block_x, 3, "blockIdx.x", put(huge, far, 5, Const(1.0)))
    assert lines(body, outputs=(huge,))[1] == "b[block * 1073741824LL + 5LL] = 1.0f;"
