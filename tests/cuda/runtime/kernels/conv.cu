// Direct convolution, padded by one; channels of the input in turns through shared memory.
#ifndef TW_EMULATED
#define TW_DYN_SMEM(T, name) extern __shared__ __align__(16) T name[]
#endif
extern "C" __global__ void __launch_bounds__(64) conv(
    const float *__restrict__ x, const float *__restrict__ w, float *__restrict__ out) {
  TW_DYN_SMEM(float, image);  // 7 x 9 with its border
  float sums[4] = {0, 0, 0, 0};
  const int row = threadIdx.x / 7, column = threadIdx.x % 7;
  for (int c = 0; c < 3; ++c) {
    for (int at = threadIdx.x; at < 63; at += 64) {
      const int y = at / 9 - 1, z = at % 9 - 1;
      image[at] = y >= 0 && y < 5 && z >= 0 && z < 7 ? x[(c * 5 + y) * 7 + z] : 0.0f;
    }
    __syncthreads();  // image is written
    if (threadIdx.x < 35)
      for (int f = 0; f < 4; ++f)
        for (int i = 0; i < 9; ++i)
          sums[f] += image[(row + i / 3) * 9 + column + i % 3] *
                     w[((blockIdx.x * 4 + f) * 3 + c) * 9 + i];
    __syncthreads();  // image is read
  }
  if (threadIdx.x < 35)
    for (int f = 0; f < 4; ++f) out[(blockIdx.x * 4 + f) * 35 + threadIdx.x] = sums[f];
}
