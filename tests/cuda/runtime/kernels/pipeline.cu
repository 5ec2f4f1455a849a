// The same product through a pipeline of three stages of asynchronous copies.
#ifndef TW_EMULATED
#define TW_DYN_SMEM(T, name) extern __shared__ __align__(16) T name[]
__device__ __forceinline__ void cp16(void *to, const void *from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                   (unsigned)__cvta_generic_to_shared(to)), "l"(from) : "memory");
}
__device__ __forceinline__ void cp_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int groups> __device__ __forceinline__ void cp_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(groups) : "memory");
}
#endif
extern "C" __global__ void __launch_bounds__(64) pipeline(
    const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ out) {
  TW_DYN_SMEM(float, shared);  // three stages of 8 x 36 of b, and of 32 x 12 of a
  float *bs = shared;
  float *as = shared + 3 * 8 * 36;
  const int thread = threadIdx.x, first_row = blockIdx.y * 32, first_column = blockIdx.x * 32;
  auto fetch = [&](int k, int stage) {
    cp16(&bs[(stage * 8 + thread / 8) * 36 + thread % 8 * 4],
         &b[(k + thread / 8) * 64 + first_column + thread % 8 * 4]);
    cp16(&as[(stage * 32 + thread / 2) * 12 + thread % 2 * 4],
         &a[(first_row + thread / 2) * 48 + k + thread % 2 * 4]);
  };
  float sums[4][4] = {};
  for (int stage = 0; stage < 2; ++stage) {
    fetch(stage * 8, stage);
    cp_commit();
  }
  for (int step = 0; step < 6; ++step) {
    cp_wait<1>();  // the oldest group has landed
    __syncthreads();  // for everybody, and the stage that comes next is read
    if (step + 2 < 6) fetch((step + 2) * 8, (step + 2) % 3);
    cp_commit();
    for (int k = 0; k < 8; ++k)
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j)
          sums[i][j] += as[(step % 3 * 32 + thread / 8 * 4 + i) * 12 + k] *
                        bs[(step % 3 * 8 + k) * 36 + thread % 8 * 4 + j];
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j)
      out[(first_row + thread / 8 * 4 + i) * 64 + first_column + thread % 8 * 4 + j] = sums[i][j];
}
