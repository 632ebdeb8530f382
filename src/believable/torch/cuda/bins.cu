// Bins from a table of cells: a block adds up the codes of one bin. Macros: WIDTH (numbers of a code, of both outcomes)
// and THREADS.
extern "C" __global__ void __launch_bounds__(THREADS) bins(
    const double* __restrict__ table, const int* __restrict__ starts, double* out, double bins_of_a_stratum) {
  __shared__ double of_warps[THREADS / 32][WIDTH];
  const int n_bins = (int)bins_of_a_stratum, bin = blockIdx.x % n_bins;
  const double* codes = table + (long long)(blockIdx.x / n_bins) * starts[n_bins] * WIDTH;
  double sums[WIDTH] = {};
  for (int code = starts[bin] + threadIdx.x; code < starts[bin + 1]; code += THREADS)
#pragma unroll
    for (int i = 0; i < WIDTH; i++) sums[i] += codes[(long long)code * WIDTH + i];
#pragma unroll
  for (int i = 0; i < WIDTH; i++) {
#pragma unroll
    for (int lanes = 16; lanes; lanes /= 2) sums[i] += __shfl_xor_sync(~0u, sums[i], lanes);
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32][i] = sums[i];
  }
  __syncthreads();
  for (int i = threadIdx.x; i < WIDTH; i += THREADS) {
    double total = 0;
    for (int warp = 0; warp < THREADS / 32; warp++) total += of_warps[warp][i];
    out[(long long)blockIdx.x * WIDTH + i] = total;
  }
}
