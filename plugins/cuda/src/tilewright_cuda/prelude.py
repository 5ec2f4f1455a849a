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
    "tw_floor_div": """\
template <class T> __device__ __forceinline__ T tw_floor_div(T a, T b) {
  return a / b - (a % b != 0 && (a % b < 0) != (b < 0));
}
""",
    "tw_floor_mod": """\
template <class T> __device__ __forceinline__ T tw_floor_mod(T a, T b) {
  return a % b + (a % b != 0 && (a % b < 0) != (b < 0) ? b : 0);
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

FLOAT_FUNCTIONS = {
    "exp": "exp", "log": "log", "sqrt": "sqrt", "tanh": "tanh", "erf": "erf", "sin": "sin",
    "cos": "cos", "floor": "floor", "ceil": "ceil", "round": "rint", "abs": "fabs", "pow": "pow",
}  # fmt: skip
"""CUDA's own, by what the operation is called; behind a name on float32 stands an `f`."""

HELPERS = frozenset(_DEFINITIONS)
"""Names that kernels may use beside CUDA's own."""


def prelude(used: Collection[str]) -> str:
    """The definitions of the names, in a fixed order; empty for none."""
    wanted = [text for name, text in _DEFINITIONS.items() if name in used]
    return "".join(("#ifndef TW_EMULATED\n", *wanted, "#endif\n\n")) if wanted else ""
