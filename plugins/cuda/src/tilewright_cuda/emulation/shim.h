// CUDA C read as C++: included before a kernel's text, which is compiled as it would ship.
//
// What a text may use is listed here and nowhere else. The threads of a block are fibres of one
// CPU thread; each call below that waits hands control to their scheduler (block.h).
#pragma once
#include <stdint.h>
#include <string.h>

#include <initializer_list>

#define TW_EMULATED 1  // the prelude leaves its PTX out where this is defined

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ static __attribute__((section("tw_shared")))

struct uint3 { unsigned x, y, z; };
struct alignas(8) float2 { float x, y; };
struct alignas(16) float4 { float x, y, z, w; };
struct alignas(8) int2 { int x, y; };
struct alignas(16) int4 { int x, y, z, w; };
static inline float2 make_float2(float x, float y) { return {x, y}; }
struct alignas(2) char2 { signed char x, y; };
struct alignas(4) char4 { signed char x, y, z, w; };
struct alignas(2) uchar2 { unsigned char x, y; };
struct alignas(4) uchar4 { unsigned char x, y, z, w; };
struct alignas(4) ushort2 { unsigned short x, y; };
struct alignas(8) ushort4 { unsigned short x, y, z, w; };
static inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
static inline int2 make_int2(int x, int y) { return {x, y}; }
static inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
static inline char2 make_char2(signed char x, signed char y) { return {x, y}; }
static inline char4 make_char4(signed char x, signed char y, signed char z, signed char w) { return {x, y, z, w}; }
static inline uchar2 make_uchar2(unsigned char x, unsigned char y) { return {x, y}; }
static inline uchar4 make_uchar4(unsigned char x, unsigned char y, unsigned char z, unsigned char w) { return {x, y, z, w}; }
static inline ushort2 make_ushort2(unsigned short x, unsigned short y) { return {x, y}; }
static inline ushort4 make_ushort4(unsigned short x, unsigned short y, unsigned short z, unsigned short w) { return {x, y, z, w}; }

// CUDA's mathematics. <math.h> as C++ has it takes longer to read than a kernel to compile.
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define isnan(x) __builtin_isnan(x)
#define isinf(x) __builtin_isinf(x)
#define isfinite(x) __builtin_isfinite(x)
#define TW_OF_ONE(name)           \
  extern "C" double name(double);  \
  extern "C" float name##f(float); \
  static inline float name(float x) { return name##f(x); }
#define TW_OF_TWO(name)                    \
  extern "C" double name(double, double);  \
  extern "C" float name##f(float, float);  \
  static inline float name(float x, float y) { return name##f(x, y); }
TW_OF_ONE(exp) TW_OF_ONE(exp2) TW_OF_ONE(expm1) TW_OF_ONE(log) TW_OF_ONE(log2) TW_OF_ONE(log10)
TW_OF_ONE(log1p) TW_OF_ONE(sqrt) TW_OF_ONE(cbrt) TW_OF_ONE(sin) TW_OF_ONE(cos) TW_OF_ONE(tan)
TW_OF_ONE(asin) TW_OF_ONE(acos) TW_OF_ONE(atan) TW_OF_ONE(sinh) TW_OF_ONE(cosh) TW_OF_ONE(tanh)
TW_OF_ONE(erf) TW_OF_ONE(erfc) TW_OF_ONE(floor) TW_OF_ONE(ceil) TW_OF_ONE(round) TW_OF_ONE(rint)
TW_OF_ONE(trunc) TW_OF_ONE(fabs) TW_OF_TWO(pow) TW_OF_TWO(fmod) TW_OF_TWO(fmax) TW_OF_TWO(fmin)
TW_OF_TWO(atan2) TW_OF_TWO(copysign)
extern "C" double fma(double, double, double);
extern "C" float fmaf(float, float, float);
template <class T> static inline T abs(T x) { return x < 0 ? -x : x; }

extern "C" {
extern uint3 tw_thread_index, tw_block_index, tw_block_extent, tw_grid_extent;
void *tw_shared_memory();
int tw_lane();
void tw_block_barrier(int line);
void tw_warp_barrier(unsigned mask, int line);
void tw_exchange(unsigned mask, int line, void *value, unsigned bytes, int lane);
void tw_copy(void *to, const void *from, unsigned bytes, unsigned valid);
void tw_commit();
void tw_wait(unsigned groups);
}
#define threadIdx tw_thread_index
#define blockIdx tw_block_index
#define blockDim tw_block_extent
#define gridDim tw_grid_extent
#define TW_DYN_SMEM(T, name) T *const name = static_cast<T *>(tw_shared_memory())

// Barriers know their line: all who meet must stand at the same one.
#define __syncthreads() tw_block_barrier(__LINE__)
static inline unsigned tw_lanes(unsigned mask = ~0u) { return mask; }
#define __syncwarp(...) tw_warp_barrier(tw_lanes(__VA_ARGS__), __LINE__)

// Exchange within a warp, or within each piece of `width` lanes of it.
template <class T>
static inline T tw_from(unsigned mask, int line, T value, int lane) {
  static_assert(sizeof value <= 16, "a thread keeps 16 bytes of what it takes");
  tw_exchange(mask, line, &value, sizeof value, lane);
  return value;
}
static inline int tw_same(int lane, int width = 32) {
  return tw_lane() / width * width + lane % width;
}
static inline int tw_near(int lane, int width = 32) {
  return lane >= 0 && lane / width == tw_lane() / width ? lane : tw_lane();
}
#define __shfl_sync(mask, value, lane, ...) \
  tw_from(mask, __LINE__, value, tw_same(lane, ##__VA_ARGS__))
#define __shfl_xor_sync(mask, value, bits, ...) \
  tw_from(mask, __LINE__, value, tw_near(tw_lane() ^ int(bits), ##__VA_ARGS__))
#define __shfl_down_sync(mask, value, by, ...) \
  tw_from(mask, __LINE__, value, tw_near(tw_lane() + int(by), ##__VA_ARGS__))
#define __shfl_up_sync(mask, value, by, ...) \
  tw_from(mask, __LINE__, value, tw_near(tw_lane() - int(by), ##__VA_ARGS__))

// Asynchronous copies into shared memory, which land when their group is waited for; what follows
// the first `valid` bytes becomes zero.
static inline void cp16(void *to, const void *from, int valid = 16) { tw_copy(to, from, 16, valid); }
static inline void cp4(void *to, const void *from, int valid = 4) { tw_copy(to, from, 4, valid); }
static inline void cp_commit() { tw_commit(); }
template <int groups> static inline void cp_wait() { tw_wait(groups); }

// The prelude's other helpers; a NaN wins, as theirs.
template <class T> static inline T tw_max(T a, T b) { return a > b || a != a ? a : b; }
template <class T> static inline T tw_min(T a, T b) { return a < b || a != a ? a : b; }
template <class T> static inline T tw_quo(T a, T b) {
  if (b == 0) return 0;
  return T(-1) < T(0) && b == T(-1) ? T(0ULL - (unsigned long long)a) : T(a / b);
}
template <class T> static inline T tw_rem(T a, T b) {
  return b == 0 || (T(-1) < T(0) && b == T(-1)) ? T(0) : T(a % b);
}
template <class T> static inline T tw_floor_div(T a, T b) {
  T rest = tw_rem(a, b);
  return tw_quo(a, b) - (rest != 0 && (rest < 0) != (b < 0));
}
template <class T> static inline T tw_floor_mod(T a, T b) {
  T rest = tw_rem(a, b);
  return rest + (rest != 0 && (rest < 0) != (b < 0) ? b : 0);
}
static inline float tw_from_bfloat16(unsigned short bits) {
  unsigned wide = (unsigned)bits << 16;
  float x;
  __builtin_memcpy(&x, &wide, sizeof x);
  return x;
}
static inline unsigned short tw_to_bfloat16(float x) {
  unsigned bits;
  __builtin_memcpy(&bits, &x, sizeof x);
  return x != x ? bits >> 16 | 0x40 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
static inline float tw_from_float16(unsigned short half) {
  const unsigned sign = (unsigned)(half & 0x8000) << 16, bits = (unsigned)(half & 0x7fff) << 13;
  float x;
  __builtin_memcpy(&x, &bits, sizeof x);
  x *= 0x1p112f;  // exponents of a float16 begin 112 later
  unsigned wide;
  __builtin_memcpy(&wide, &x, sizeof wide);
  wide |= sign | (bits >= 0x0f800000 ? 0x7f800000 : 0);  // infinities and NaN
  __builtin_memcpy(&x, &wide, sizeof x);
  return x;
}
static inline unsigned short tw_to_float16(float x) {
  unsigned bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  const unsigned sign = bits >> 16 & 0x8000;
  bits &= 0x7fffffff;
  if (bits > 0x7f800000) return sign | 0x7e00;
  if (bits >= 0x477ff000) return sign | 0x7c00;  // rounds to what is beyond the greatest
  if (bits >= 0x38800000) return sign | (bits - 0x38000000 + 0xfff + (bits >> 13 & 1)) >> 13;
  __builtin_memcpy(&x, &bits, sizeof x);
  x += 0.5f;  // whose last digit is that of denormals
  __builtin_memcpy(&bits, &x, sizeof bits);
  return sign | (bits - 0x3f000000);
}
static inline float tw_from_tf32(float x) { return x; }
static inline float tw_to_tf32(float x) {
  unsigned bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  bits = (bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffu;
  float rounded;
  __builtin_memcpy(&rounded, &bits, sizeof bits);
  return x != x ? x : rounded;
}
template <class T, class F> static inline T tw_whole(F x) {
  const bool negative = T(-1) < T(0);
  const T high = T(~0ULL >> (64 - 8 * sizeof(T) + negative)), low = negative ? T(~high) : T(0);
  const F beyond = F(1ULL << (8 * sizeof(T) - negative - 1)) * 2;
  return x != x ? T(0) : x >= beyond ? high : x <= F(low) ? low : T(x);
}

template <class T> static inline T __ldg(const T *from) { return *from; }
template <class A, class B> static inline auto min(A a, B b) { return b < a ? b : a; }
template <class A, class B> static inline auto max(A a, B b) { return a < b ? b : a; }
static inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
static inline double rsqrt(double x) { return 1.0 / sqrt(x); }
#define __expf expf
#define __logf logf
static inline float __fdividef(float a, float b) { return a / b; }
template <class T> static inline T atomicAdd(T *at, T x) { T was = *at; *at = was + x; return was; }

// TW_KERNEL(name, most threads of a block) behind the text is what the driver finds.
struct tw_kernel {
  void (*enter)(const uint64_t *arguments);
  char *shared_begin, *shared_end;
  uint64_t written;  // bit i: parameter i points to what is not const
  unsigned parameters, most_threads;
};
extern "C" __attribute__((weak, visibility("hidden"))) char __start_tw_shared[], __stop_tw_shared[];
template <int... numbers> struct tw_list {};
template <int n, int... rest> struct tw_upto : tw_upto<n - 1, n - 1, rest...> {};
template <int... rest> struct tw_upto<0, rest...> { using list = tw_list<rest...>; };
template <class P> constexpr uint64_t tw_writes = 1;
template <class T> constexpr uint64_t tw_writes<const T *> = 0;
template <class T> constexpr uint64_t tw_writes<const T *__restrict__> = 0;
template <class... P> constexpr unsigned tw_count(void (*)(P...)) { return sizeof...(P); }
template <class... P> constexpr uint64_t tw_written(void (*)(P...)) {
  uint64_t mask = 0, bit = 1;
  for (uint64_t one : {tw_writes<P>...}) mask |= one * bit, bit <<= 1;
  return mask;
}
template <auto kernel, class... P, int... i>
static inline void tw_call(const uint64_t *arguments, void (*)(P...), tw_list<i...>) {
  kernel((P)arguments[i]...);
}
template <auto kernel> static void tw_enter(const uint64_t *arguments) {
  tw_call<kernel>(arguments, kernel, typename tw_upto<tw_count(kernel)>::list{});
}
#define TW_KERNEL(name, threads)                                                          \
  extern "C" const tw_kernel tw_kernel_##name{tw_enter<name>, __start_tw_shared,          \
                                              __stop_tw_shared, tw_written(name),         \
                                              tw_count(name), threads};
