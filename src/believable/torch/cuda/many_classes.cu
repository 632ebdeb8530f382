// Many classes: WARPS warps have a row, K numbers in their registers, and a block has THREADS / (32 * WARPS) rows at a
// time. Macros besides those of common.cuh: K, WARPS, VECTOR (how many numbers are loaded at once), IGNORE,
// CONFIDENCE_CELLS (1: few, counted in the block; 2: many, counted in the table; 0: none), TOP_LABEL_CELLS and
// CLASSWISE_CELLS (0 or 1: counted in their tables, of GROUP_CELLS cells for each class), SLACK (of sums of
// probabilities).

#define LANES (32 * WARPS)
#define LOADS ((K + LANES * VECTOR - 1) / (LANES * VECTOR))
#define ENTRIES (LOADS * VECTOR)
#define ROWS_OF_A_WARP 64       // before its sums are added up
#define FLUSHES_OF_CLASSES 8    // so often that happens before its sums by class are
#define HALF_LOWEST -1.7e38f

struct Found {
  float most;
  int top;
};

__device__ __forceinline__ Found larger(Found a, Found b) {
  return b.most > a.most || (b.most == a.most && b.top < a.top) ? b : a;
}

// The same for all lanes of a row; `meeting` is where its warps meet.
template <class T, class Join>
__device__ __forceinline__ T over_row(T x, T* meeting, Join join) {
#if WARPS > 1
  int team = threadIdx.x / LANES, warp = threadIdx.x / 32 % WARPS;
  __syncthreads();
  if (threadIdx.x % 32 == 0) meeting[team * WARPS + warp] = x;
  __syncthreads();
  x = meeting[team * WARPS];
  for (int i = 1; i < WARPS; i++) x = join(x, meeting[team * WARPS + i]);
#endif
  return x;
}

struct RowSums {
  float rest, second, third, fourth, steps, squared_steps;
};

__device__ __forceinline__ RowSums sum_of(RowSums a, RowSums b) {
  return {a.rest + b.rest, a.second + b.second, a.third + b.third,
          a.fourth + b.fourth, a.steps + b.steps, a.squared_steps + b.squared_steps};
}

// Adds what rows have of a class to its sums; all rows but those that were counted elsewhere lie in its first cell.
__device__ __forceinline__ void add_class(int column, double n, double p, double pp, double* by_class, double* table) {
  atomicAdd(by_class + column, p);
  atomicAdd(by_class + K + column, pp);
#if CLASSWISE_CELLS
  double* of_class = table + (long long)column * (GROUP_CELLS + 2) * 6 + 6;
  atomicAdd(of_class, n);
  atomicAdd(of_class + 1, p);
  atomicAdd(of_class + 2, pp);
#endif
}

extern "C" __global__ void __launch_bounds__(THREADS, WARPS == 1 ? 3 : 1) many_classes(
    const score_t* __restrict__ scores, const label_t* __restrict__ labels, const real* __restrict__ edges,
    const real* __restrict__ group_edges, double* confidence_table, double* top_label_table, double* classwise_table,
    double* buffer, double n_rows, double ignore_index) {
  double *const sums_of_rows = SUMS_OF(buffer), *const by_class = BY_CLASS_OF(buffer);
#if CONFIDENCE_CELLS == 1
  __shared__ double few[(CELLS + 2) * 6];
  for (int i = threadIdx.x; i < (CELLS + 2) * 6; i += THREADS) few[i] = 0;
  double* confidence_cells = few;
#else
  double* confidence_cells = confidence_table;
#endif
  __shared__ double of_warps[THREADS / 32][ROW_SUMS];
  for (int i = threadIdx.x; i < THREADS / 32 * ROW_SUMS; i += THREADS) of_warps[0][i] = 0;
  __shared__ Found tops[THREADS / 32];
  __shared__ RowSums sums_of_warps[THREADS / 32];
  __syncthreads();

  const long long n = (long long)n_rows, ignored = (long long)ignore_index;
  const int teams = THREADS / LANES, lane = threadIdx.x % LANES;
  const bool speaker = lane == 0;
  float p_sums[ENTRIES] = {}, pp_sums[ENTRIES] = {};
  float sums[TERMS] = {}, squares[5] = {}, finite_nll = 0, counted = 0, counted_in_all = 0;
  double n_ignored = 0;
  int since = 0;

  // Sums of some rows in single precision are added to double ones, of each warp, and these to the tally at the end.
  double* const totals = of_warps[threadIdx.x / 32];
  auto flush = [&]() {
    if (SCORES && speaker) {
      for (int i = N; i <= W2; i++) totals[i] += counted;
      for (int i = 0; i < 7; i++) totals[BRIER + i] += sums[i];
      for (int i = 0; i < 5; i++) totals[W2X + i] += i == 1 ? finite_nll : sums[i], totals[W2XX + i] += squares[i];
      totals[W2_SQUARED] += sums[0], totals[BRIER_BY_CHANCE] += sums[7], totals[NLL_BY_CHANCE] += sums[8];
    }
    for (int i = 0; i < TERMS; i++) sums[i] = 0;
    for (int i = 0; i < 5; i++) squares[i] = 0;
    counted_in_all += counted;
    finite_nll = counted = 0, since = 0;
  };

  int flushes = 0;
  auto flush_classes = [&]() {
#pragma unroll
    for (int i = 0; i < ENTRIES && (SCORES || CLASSWISE_CELLS); i++) {
      int column = (i / VECTOR * LANES + lane) * VECTOR + i % VECTOR;
      if (column < K) add_class(column, counted_in_all, p_sums[i], pp_sums[i], by_class, classwise_table);
      p_sums[i] = pp_sums[i] = 0;
    }
    counted_in_all = 0;
  };

  for (long long start = (long long)blockIdx.x * teams; start < n; start += (long long)gridDim.x * teams) {
    const long long row = start + threadIdx.x / LANES;
    const long long label = row < n ? (long long)labels[row] : -1;
    const bool here = row < n && !(IGNORE && label == ignored), known = label >= 0 && label < K;
    if (IGNORE && row < n && label == ignored) n_ignored += 1;
    if (WARPS == 1 && !here) continue;
    const score_t* own_row = scores + (here ? row : 0) * K;

    // What is no class has no probability, and is finite: so it need not be left out of any sum.
    float z[ENTRIES];
    struct __align__(VECTOR * sizeof(score_t)) Several { score_t of[VECTOR]; };
#pragma unroll
    for (int j = 0; j < LOADS; j++) {
      int column = (j * LANES + lane) * VECTOR;
      Several several;
      if (column < K) several = *(const Several*)(own_row + column);
#pragma unroll
      for (int i = 0; i < VECTOR; i++) z[j * VECTOR + i] = column < K ? value(several.of[i]) : HALF_LOWEST;
    }
    float own_score = value(own_row[known ? label : 0]);
    Found found = {z[0], lane * VECTOR};
#pragma unroll
    for (int i = 1; i < ENTRIES; i++)
      if (z[i] > found.most) found = {z[i], (i / VECTOR * LANES + lane) * VECTOR + i % VECTOR};
#pragma unroll
    for (int lanes = 16; lanes; lanes /= 2)
      found = larger(found, {__shfl_xor_sync(~0u, found.most, lanes), __shfl_xor_sync(~0u, found.top, lanes)});
    found = over_row(found, tops, larger);
    const float most = found.most;
    const int top = found.top, from_here = top - lane * VECTOR;

    RowSums of = {};
#pragma unroll
    for (int i = 0; i < ENTRIES; i++) {
#if LOGITS
      float bits = (z[i] - most) * 1.4426950408889634f, e;
      asm("ex2.approx.f32 %0, %1;" : "=f"(e) : "f"(bits));
#else
      float e = z[i] == HALF_LOWEST ? 0.f : z[i], bits = __log2f(e > 0 ? e : 1.f);
#endif
      float weighted = e * bits, other = from_here == i / VECTOR * LANES * VECTOR + i % VECTOR ? 0.f : e;
      of.steps += weighted;
      of.rest += other;
      z[i] = e;
      if (!SCORES) continue;
      float square = other * other;
      of.squared_steps = fmaf(weighted, bits, of.squared_steps);
      of.second += square;
      of.third = fmaf(square, other, of.third);
      of.fourth = fmaf(square, square, of.fourth);
    }
#if !LOGITS
    float least = z[0];
#pragma unroll
    for (int i = 1; i < ENTRIES; i++) least = fminf(least, z[i]);
    bool outside = __any_sync(~0u, least < 0.f) || most > 1.f;
    if (outside) of.third = __int_as_float(0x7f800000);  // tells the other warps too
#endif
#pragma unroll
    for (int lanes = 16; lanes; lanes /= 2) {
      const float* terms = &of.rest;
      RowSums others;
#pragma unroll
      for (int i = 0; i < 6; i++)
        (&others.rest)[i] = SCORES || i == 0 || i == 2 || i == 4 ? __shfl_xor_sync(~0u, terms[i], lanes) : 0.f;
      of = sum_of(of, others);
    }
    of = over_row(of, sums_of_warps, sum_of);
    if (!here) continue;

    const float log_2 = 0.6931471805599453f;
    float rest = of.rest, second = of.second, third = of.third, fourth = of.fourth, steps = of.steps * log_2;
    float squared_steps = of.squared_steps * log_2 * log_2, share, first, own, entropy, log_p_own, lacking;
    bool finite = steps == steps && fabsf(most) <= 3.4028235e38f, inside = true, one = true;
    double confidence;
#if LOGITS
    float log_sum = rest < 0.03125f ? log1pf(rest) : fast_log(1.f + rest);
    share = __frcp_rn(1.f + rest);
    double wide = share, short_by = 1 - (1 + (double)rest) * wide, own_step = (double)own_score - (double)most;
    confidence = fmin(wide + wide * short_by, 1.0);
    rest *= share, second *= share * share, third *= share * share * share, fourth *= share * share * share * share;
    steps *= share, squared_steps *= share;
    first = share, lacking = rest;
    own = label == top ? share : __expf((float)own_step) * share;
    entropy = log_sum - steps;
    log_p_own = own_step < -745.13321 ? -__int_as_float(0x7f800000) : (float)(own_step - log_sum);  // where a double is 0
#else
    share = 1, first = most, own = own_score, lacking = 1.f - most;
    inside = third <= 3.4028235e38f;
    one = fabsf(most + rest - 1.f) <= SLACK;
    confidence = most;
    entropy = -steps;
    log_p_own = logf(own);
#endif
    if (!(finite && inside && one && known)) {
      if (speaker) atomicAdd(buffer + (!finite ? NOT_FINITE : !inside ? OUTSIDE : !one ? NOT_ONE : NO_CLASS), 1.0);
      continue;
    }

    const bool hit = label == top;
#if SCORES
    float terms[TERMS];
    const float nll_by_chance = fmaxf(squared_steps - steps * steps, 0.f);
    terms_of<float>({hit, confidence, first, lacking, rest, second, third, fourth, own, log_p_own, entropy, nll_by_chance},
                    terms);
    const float nll = terms[1] <= 3.4028235e38f ? terms[1] : 0.f;
    finite_nll += nll;
#pragma unroll
    for (int i = 0; i < TERMS; i++) sums[i] += terms[i];
#pragma unroll
    for (int i = 0; i < 5; i++) squares[i] = fmaf(i == 1 ? nll : terms[i], i == 1 ? nll : terms[i], squares[i]);
    if (speaker) {
      atomicAdd(by_class + 2 * K + label, 1.0);
      atomicAdd(by_class + 3 * K + label, 1.0);
      atomicAdd(by_class + 4 * K + label, (double)terms[0]);
    }
#endif
    counted += 1.f;
    if (speaker) {
#if CONFIDENCE_CELLS
      add_pair(confidence_cells, cell_of<CELLS>((real)confidence, edges), hit, confidence);
#endif
#if TOP_LABEL_CELLS
      add_pair(top_label_table, (long long)top * (GROUP_CELLS + 2) + cell_of<GROUP_CELLS>((real)confidence, group_edges),
               hit, confidence);
#endif
    }
#if CLASSWISE_CELLS
    const real first_edge = group_edges[1];
#endif
#pragma unroll
    for (int i = 0; i < ENTRIES && (SCORES || CLASSWISE_CELLS); i++) {
      float p = z[i] * share;
#if CLASSWISE_CELLS
      // Most entries lie in the first cell above 0: those are added up here, and the others taken off its count.
      int column = (i / VECTOR * LANES + lane) * VECTOR + i % VECTOR;
      real score = column == top ? (real)confidence : column == label ? (real)own : (real)p;
      bool elsewhere = score > first_edge || column == label || (LOGITS ? z[i] == 0.f : p == 0.f);
      if (elsewhere && column < K) {
        int cell = cell_of<GROUP_CELLS>(score, group_edges);
#if LOGITS
        if (cell == 0 && value(own_row[column]) - most >= -745.13321f) cell = 1;  // 0 in single precision alone
#endif
        double* of_class = classwise_table + (long long)column * (GROUP_CELLS + 2) * 6;
        add_pair(of_class, cell, column == label, score);
        atomicAdd(of_class + 6, -1.0);
        atomicAdd(by_class + column, (double)score);
        atomicAdd(by_class + K + column, (double)score * (double)score);
        p = 0;
      }
#endif
      p_sums[i] += p;
      pp_sums[i] = fmaf(p, p, pp_sums[i]);
    }
    if (++since >= ROWS_OF_A_WARP) {
      flush();
      if (++flushes % FLUSHES_OF_CLASSES == 0) flush_classes();
    }
  }
  flush();
  if (IGNORE && speaker && n_ignored > 0) atomicAdd(buffer + IGNORED, n_ignored);
#if SCORES
  __syncthreads();
  for (int i = threadIdx.x; i < ROW_SUMS; i += THREADS) {
    double total = 0;
    for (int warp = 0; warp < THREADS / 32; warp++) total += of_warps[warp][i];
    if (total != 0) atomicAdd(sums_of_rows + i, total);
  }
#endif
#if SCORES || CLASSWISE_CELLS
#if WARPS == 1
  // Warps add up their classes in turn, so that neighbouring threads then add neighbouring ones to the tally.
  __shared__ float of_classes[2][K];
  __shared__ float of_rows;
  for (int warp = 0; warp < THREADS / 32; warp++) {
    __syncthreads();
    if (threadIdx.x / 32 != warp) continue;
    if (speaker) of_rows = (warp ? of_rows : 0.f) + counted_in_all;
#pragma unroll
    for (int i = 0; i < ENTRIES; i++) {
      int column = (i / VECTOR * LANES + lane) * VECTOR + i % VECTOR;
      if (column >= K) continue;
      of_classes[0][column] = (warp ? of_classes[0][column] : 0.f) + p_sums[i];
      of_classes[1][column] = (warp ? of_classes[1][column] : 0.f) + pp_sums[i];
    }
  }
  __syncthreads();
  for (int column = threadIdx.x; column < K; column += THREADS)
    add_class(column, of_rows, of_classes[0][column], of_classes[1][column], by_class, classwise_table);
#else
  flush_classes();
#endif
#endif
#if CONFIDENCE_CELLS == 1
  __syncthreads();
  for (int i = threadIdx.x; i < (CELLS + 2) * 6; i += THREADS)
    if (few[i] != 0) atomicAdd(confidence_table + i, few[i]);
#endif
}
