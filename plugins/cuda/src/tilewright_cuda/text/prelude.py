"""The few functions that emitted kernels call, with their PTX; each text holds those it uses.

Everything stands behind `#ifndef TW_EMULATED`: where a kernel is compiled for the processor, the
emulation's own definitions take their place.
"""

from __future__ import annotations

from collections.abc import Collection

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

_NEEDS = {"tw_floor_div": ("tw_quo", "tw_rem"), "tw_floor_mod": ("tw_rem",)}

HELPERS = frozenset(_DEFINITIONS)
"""Names that kernels may use beside CUDA's own."""


def prelude(used: Collection[str]) -> str:
    """The definitions of the names, in a fixed order; empty for none."""
    needed = {*used, *(one for name in used for one in _NEEDS.get(name, ()))}
    wanted = [text for name, text in _DEFINITIONS.items() if name in needed]
    return "".join(("#ifndef TW_EMULATED\n", *wanted, "#endif\n\n")) if wanted else ""
