// One row a block of 96 threads: warps reduce by shuffles, then one another's results.
extern "C" __global__ void __launch_bounds__(96) softmax(
    const float *__restrict__ x, float *__restrict__ out) {
  __shared__ float partial[2][3];
  const int at = blockIdx.x * 83 + threadIdx.x;
  const bool inside = threadIdx.x < 83;
  float largest = inside ? x[at] : -3.0e38f;
  for (int by = 16; by > 0; by /= 2)
    largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, by));
  if (threadIdx.x % 32 == 0) partial[0][threadIdx.x / 32] = largest;
  __syncthreads();  // maxima are written
  largest = fmaxf(fmaxf(partial[0][0], partial[0][1]), partial[0][2]);
  const float power = inside ? expf(x[at] - largest) : 0.0f;
  float sum = power;
  for (int by = 16; by > 0; by /= 2) sum += __shfl_down_sync(0xffffffffu, sum, by);
  if (threadIdx.x % 32 == 0) partial[1][threadIdx.x / 32] = sum;
  __syncthreads();  // sums are written
  if (inside) out[at] = power / (partial[1][0] + partial[1][1] + partial[1][2]);
}
