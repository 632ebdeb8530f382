// Adds copies of a small table up, and empties them for the next batch: a block has one entry of all copies. Numbers are
// taken and added atomically, because a batch on another stream may be counted meanwhile. Macro: THREADS.
extern "C" __global__ void __launch_bounds__(THREADS) fold(double* copies, double* table, double n_copies) {
  __shared__ double of_warps[THREADS / 32];
  double total = 0;
  for (int copy = threadIdx.x; copy < (int)n_copies; copy += THREADS) {
    unsigned long long* one = (unsigned long long*)(copies + (long long)copy * gridDim.x + blockIdx.x);
    total += __longlong_as_double((long long)atomicExch(one, 0ull));
  }
#pragma unroll
  for (int lanes = 16; lanes; lanes /= 2) total += __shfl_xor_sync(~0u, total, lanes);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = total;
  __syncthreads();
  if (threadIdx.x > 0) return;
  for (int warp = 1; warp < THREADS / 32; warp++) total += of_warps[warp];
  atomicAdd(table + blockIdx.x, total);
}
