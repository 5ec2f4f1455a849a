// One tile of 32 x 32 a block, 2 x 2 values a thread; a is transposed on its way to shared memory,
// whose rows are padded by four floats.
#ifndef TW_EMULATED
#define TW_DYN_SMEM(T, name) extern __shared__ __align__(16) T name[]
#endif
extern "C" __global__ void __launch_bounds__(256) gemm(
    const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ out) {
  TW_DYN_SMEM(float, shared);
  float *as = shared;
  float *bs = shared + 16 * 36;
  const int column = threadIdx.x % 16 * 2, row = threadIdx.x / 16 * 2;
  const int first_row = blockIdx.y * 32, first_column = blockIdx.x * 32;
  float sums[2][2] = {};
  for (int k = 0; k < 48; k += 16) {
    if (threadIdx.x < 128) {
      const int at = threadIdx.x / 4, part = threadIdx.x % 4 * 4;
      const float4 v = *reinterpret_cast<const float4 *>(&a[(first_row + at) * 48 + k + part]);
      as[(part + 0) * 36 + at] = v.x;
      as[(part + 1) * 36 + at] = v.y;
      as[(part + 2) * 36 + at] = v.z;
      as[(part + 3) * 36 + at] = v.w;
    } else {
      const int at = (threadIdx.x - 128) / 8, part = threadIdx.x % 8 * 4;
      *reinterpret_cast<float4 *>(&bs[at * 36 + part]) =
          *reinterpret_cast<const float4 *>(&b[(k + at) * 64 + first_column + part]);
    }
    __syncthreads();  // tile is written
    for (int inner = 0; inner < 16; ++inner) {
      const float2 x = *reinterpret_cast<const float2 *>(&as[inner * 36 + row]);
      const float2 y = *reinterpret_cast<const float2 *>(&bs[inner * 36 + column]);
      sums[0][0] += x.x * y.x;
      sums[0][1] += x.x * y.y;
      sums[1][0] += x.y * y.x;
      sums[1][1] += x.y * y.y;
    }
    __syncthreads();  // tile is read
  }
  for (int i = 0; i < 2; ++i)
    *reinterpret_cast<float2 *>(&out[(first_row + row + i) * 64 + first_column + column]) =
        make_float2(sums[i][0], sums[i][1]);
}
