"""The few functions that emitted kernels call, with their PTX; each text holds those it uses.

Everything stands behind `#ifndef TW_EMULATED`: where a kernel is compiled for the processor, the
emulation's own definitions take their place.
"""

from __future__ import annotations

from collections.abc import Collection

_BYTES = {"s8": "signed char", "u8": "unsigned char"}
_PRODUCTS = (
    (8, "tf32", "tf32", "float", "float", "float", "f32", "f"),
    (16, "f16", "f16", "unsigned short", "unsigned short", "float", "f32", "f"),
    (16, "bf16", "bf16", "unsigned short", "unsigned short", "float", "f32", "f"),
    *(
        (32, left, right, _BYTES[left], _BYTES[right], "int", "s32", "r")
        for left in _BYTES
        for right in _BYTES
    ),
)
"""Terms of an instruction, PTX's and C's names of its operands, and of its sums."""
_DEFINITIONS = {
    "TW_DYN_SMEM": """\
#define TW_DYN_SMEM(T, name) extern __shared__ __align__(16) T name[]
""",
    "INFINITY": """\
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
""",
    "NAN": """\
#ifndef NAN
#define NAN __int_as_float(0x7fffffff)
#endif
""",
    # fmaxf and fminf drop NaN, ours keep it (sm_80 and later)
    "tw_max": """\
__device__ __forceinline__ float tw_max(float a, float b) {
#if __CUDA_ARCH__ >= 800
  float r;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
#else
  return a > b || a != a ? a : b;
#endif
}
template <class T> __device__ __forceinline__ T tw_max(T a, T b) { return a > b || a != a ? a : b; }
""",
    "tw_min": """\
__device__ __forceinline__ float tw_min(float a, float b) {
#if __CUDA_ARCH__ >= 800
  float r;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
#else
  return a < b || a != a ? a : b;
#endif
}
template <class T> __device__ __forceinline__ T tw_min(T a, T b) { return a < b || a != a ? a : b; }
""",
    # no operand makes them trap or undefined: 0 by 0, and the least number by -1 is itself
    "tw_quo": """\
template <class T> __device__ __forceinline__ T tw_quo(T a, T b) {
  if (b == 0) return 0;
  return T(-1) < T(0) && b == T(-1) ? T(0ULL - (unsigned long long)a) : T(a / b);
}
""",
    "tw_rem": """\
template <class T> __device__ __forceinline__ T tw_rem(T a, T b) {
  return b == 0 || (T(-1) < T(0) && b == T(-1)) ? T(0) : T(a % b);
}
""",
    "tw_floor_div": """\
template <class T> __device__ __forceinline__ T tw_floor_div(T a, T b) {
  T rest = tw_rem(a, b);
  return tw_quo(a, b) - (rest != 0 && (rest < 0) != (b < 0));
}
""",
    "tw_floor_mod": """\
template <class T> __device__ __forceinline__ T tw_floor_mod(T a, T b) {
  T rest = tw_rem(a, b);
  return rest + (rest != 0 && (rest < 0) != (b < 0) ? b : 0);
}
""",
    # a float as a whole number: it saturates, and NaN becomes 0
    "tw_whole": """\
template <class T, class F> __device__ __forceinline__ T tw_whole(F x) {
  const bool negative = T(-1) < T(0);
  const T high = T(~0ULL >> (64 - 8 * sizeof(T) + negative)), low = negative ? T(~high) : T(0);
  const F beyond = F(1ULL << (8 * sizeof(T) - negative - 1)) * 2;
  return x != x ? T(0) : x >= beyond ? high : x <= F(low) ? low : T(x);
}
""",
    "tw_from_bfloat16": """\
__device__ __forceinline__ float tw_from_bfloat16(unsigned short bits) {
  return __uint_as_float((unsigned)bits << 16);
}
""",
    # to nearest, ties to even; NaN stays NaN
    "tw_to_bfloat16": """\
__device__ __forceinline__ unsigned short tw_to_bfloat16(float x) {
#if __CUDA_ARCH__ >= 800
  unsigned short bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
#else
  const unsigned bits = __float_as_uint(x);
  return x != x ? bits >> 16 | 0x40 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
#endif
}
""",
    "tw_from_float16": """\
__device__ __forceinline__ float tw_from_float16(unsigned short bits) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
  return x;
}
""",
    "tw_to_float16": """\
__device__ __forceinline__ unsigned short tw_to_float16(float x) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}
""",
    "tw_from_tf32": """\
__device__ __forceinline__ float tw_from_tf32(float x) { return x; }
""",
    # a float32 whose last 13 bits are 0; rounded as bfloat16 is
    "tw_to_tf32": """\
__device__ __forceinline__ float tw_to_tf32(float x) {
#if __CUDA_ARCH__ >= 900
  unsigned bits;
  asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return __uint_as_float(bits);
#else
  const unsigned bits = __float_as_uint(x);
  return x != x ? x : __uint_as_float((bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffu);
#endif
}
""",
    "tw_mma_clear": """\
template <class T> __device__ __forceinline__ void tw_mma_clear(T *sums) {
  sums[0] = sums[1] = sums[2] = sums[3] = T(0);
}
""",
    # lanes that load together have rows that lie in different banks: 0 and 4, 1 and 5, ...
    "tw_mma_row": """\
__device__ __forceinline__ int tw_mma_row() {
  const int lane = threadIdx.x & 31;
  return (lane >> 3) + (lane & 4);
}
""",
    "tw_mma_store": """\
template <class T> __device__ __forceinline__ void tw_mma_store(const T *sums, T *to, int row) {
  to += tw_mma_row() * row + (threadIdx.x & 3);
  to[0] = sums[0], to[4] = sums[1], to[8 * row] = sums[2], to[8 * row + 4] = sums[3];
}
""",
    **{
        f"tw_mma_m16n8k{terms}_{left}_{right}": f"""\
__device__ __forceinline__ void tw_mma_m16n8k{terms}_{left}_{right}(
    {result} *sums, unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1) {{
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k{terms}.row.col.{short}.{left}.{right}.{short} "
      "{{%0, %1, %2, %3}}, {{%4, %5, %6, %7}}, {{%8, %9}}, {{%0, %1, %2, %3}};"
      : "+{letter}"(sums[0]), "+{letter}"(sums[1]), "+{letter}"(sums[2]), "+{letter}"(sums[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
#endif
}}
"""
        for terms, left, right, _, _, result, short, letter in _PRODUCTS
    },
    # a thread has the terms of 16 bytes in a row, whichever PTX says: both operands have the same
    **{
        f"tw_mma_m16n8k{terms}x2_{left}_{right}": f"""\
__device__ __forceinline__ void tw_mma_m16n8k{terms}x2_{left}_{right}(
    {result} *sums, const {first} *a, int a_row, const {second} *b, int b_row) {{
#if __CUDA_ARCH__ >= 800
  const int row = tw_mma_row(), term = (threadIdx.x & 3) * {terms // 2};
  const uint4 a0 = *(const uint4 *)(a + row * a_row + term);
  const uint4 a1 = *(const uint4 *)(a + (row + 8) * a_row + term);
  const uint4 b0 = *(const uint4 *)(b + row * b_row + term);
  tw_mma_m16n8k{terms}_{left}_{right}(sums, a0.x, a1.x, a0.y, a1.y, b0.x, b0.y);
  tw_mma_m16n8k{terms}_{left}_{right}(sums, a0.z, a1.z, a0.w, a1.w, b0.z, b0.w);
#endif
}}
"""
        for terms, left, right, first, second, result, *_ in _PRODUCTS
    },
    "cp16": """\
__device__ __forceinline__ void cp16(void *to, const void *from, int bytes = 16) {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                   (unsigned)__cvta_generic_to_shared(to)), "l"(from), "r"(bytes) : "memory");
#else
  *(int4 *)to = bytes ? *(const int4 *)from : make_int4(0, 0, 0, 0);
#endif
}
""",
    "cp4": """\
__device__ __forceinline__ void cp4(void *to, const void *from, int bytes = 4) {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(
                   (unsigned)__cvta_generic_to_shared(to)), "l"(from), "r"(bytes) : "memory");
#else
  *(int *)to = bytes ? *(const int *)from : 0;
#endif
}
""",
    "cp_commit": """\
__device__ __forceinline__ void cp_commit() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
""",
    "cp_wait": """\
template <int groups> __device__ __forceinline__ void cp_wait() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(groups) : "memory");
#endif
}
""",
}

_NEEDS = {
    "tw_floor_div": ("tw_quo", "tw_rem"),
    "tw_floor_mod": ("tw_rem",),
    "tw_mma_store": ("tw_mma_row",),
    **{
        f"tw_mma_m16n8k{terms}x2_{left}_{right}": (
            "tw_mma_row",
            f"tw_mma_m16n8k{terms}_{left}_{right}",
        )
        for terms, left, right, *_ in _PRODUCTS
    },
}

HELPERS = frozenset(_DEFINITIONS)
"""Names that kernels may use beside CUDA's own."""


def prelude(used: Collection[str]) -> str:
    """The definitions of the names, in a fixed order; empty for none."""
    needed = {*used, *(one for name in used for one in _NEEDS.get(name, ()))}
    wanted = [text for name, text in _DEFINITIONS.items() if name in needed]
    return "".join(("#ifndef TW_EMULATED\n", *wanted, "#endif\n\n")) if wanted else ""
