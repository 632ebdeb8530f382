// A few classes: each thread has a row, whose K numbers are in its registers. Macros besides those of common.cuh: K,
// STRIDED (0: rows lie behind each other; 1: classes do, as in an image), VECTOR (0 or 1: whether 16 bytes can be
// loaded at once), IGNORE, CONFIDENCE_CELLS (1: few, counted in the block; 2: many, counted in the table; 0: none),
// TOP_LABEL_CELLS and CLASSWISE_CELLS (0 or 1: counted in their tables, of GROUP_CELLS cells for each class; the latter has
// COPIES, so that blocks seldom wait for each other), SLACK (of sums of probabilities).

#define WIDE (K % 4 ? K : K + 1)  // of a row in shared memory: so that no more than two threads meet in a bank

struct Row {
  bool finite, inside, sums_to_one;
  int top;
  float most;
  double confidence;
  float p[K], terms[TERMS];
};

// The terms that a row adds. The largest class is kept apart from the rest, so that nothing cancels where it is nearly sure.
__device__ __forceinline__ void look_at(const float* z, int label, float own_score, Row& row) {
  int top = 0;
  float most = z[0];
#pragma unroll
  for (int k = 1; k < K; k++)
    if (z[k] > most) most = z[k], top = k;
  row.top = top, row.most = most;
  float rest = 0, second = 0, third = 0, fourth = 0, first, log_p_own, own, entropy, nll_by_chance;
#if LOGITS
  const float log2_e = 1.4426950408889634f, log_2 = 0.6931471805599453f;
  float steps = 0, squared_steps = 0;  // sums of e * step and e * step^2, in bits
#pragma unroll
  for (int k = 0; k < K; k++) {
    float step = (z[k] - most) * log2_e, e, weighted;
    asm("ex2.approx.f32 %0, %1;" : "=f"(e) : "f"(step));
    weighted = e * step;
    steps += weighted;
    row.p[k] = e;
    e = k == top ? 0.f : e;
    rest += e;
    if (!SCORES) continue;
    float square = e * e;
    squared_steps = fmaf(weighted, step, squared_steps);
    second += square;
    third = fmaf(square, e, third);
    fourth = fmaf(square, square, fourth);
  }
  row.finite = steps == steps && fabsf(most) <= 3.4028235e38f;  // one infinite or missing logit makes all sums NaN
  float share = __frcp_rn(1.f + rest);
  double wide = share, short_by = 1 - (1 + (double)rest) * wide;
  row.confidence = fmin(wide + wide * short_by, 1.0);
  row.inside = row.sums_to_one = true;
  if (SCORES || CLASSWISE_CELLS)
#pragma unroll
    for (int k = 0; k < K; k++) row.p[k] *= share;
  if (!SCORES) return;
  float log_sum = rest < 0.03125f ? -log_of_rest(rest * share) : fast_log(1.f + rest);
  rest *= share, second *= share * share, third *= share * share * share, fourth *= share * share * share * share;
  steps *= share * log_2;
  entropy = log_sum - steps;
  nll_by_chance = fmaxf(squared_steps * share * log_2 * log_2 - steps * steps, 0.f);
  double own_step = (double)own_score - (double)most;
  log_p_own = own_step < -745.13321 ? -__int_as_float(0x7f800000) : (float)(own_step - log_sum);  // where a double is 0
  own = label == top ? share : __expf((float)own_step) * share;
  first = share;
#else
  float logs = 0, squared_logs = 0, least = z[0], sum = 0;
#pragma unroll
  for (int k = 0; k < K; k++) {
    float log_p = SCORES && z[k] > 0 ? logf(z[k]) : 0.f, weighted = z[k] * log_p, p = k == top ? 0.f : z[k], square = p * p;
    row.p[k] = z[k];
    logs += weighted;
    squared_logs = fmaf(weighted, log_p, squared_logs);
    least = fminf(least, z[k]);
    sum += z[k];
    rest += p;
    second += square;
    third = fmaf(square, p, third);
    fourth = fmaf(square, square, fourth);
  }
  row.finite = sum == sum && fabsf(sum) <= 3.4028235e38f;
  row.inside = least >= 0.f && most <= 1.f;
  row.sums_to_one = fabsf(sum - 1.f) <= SLACK;
  row.confidence = first = most;
  if (!SCORES) return;
  entropy = -logs;
  nll_by_chance = fmaxf(squared_logs - logs * logs, 0.f);
  own = own_score;
  log_p_own = logf(own);
#endif
  float short_of_one = LOGITS ? rest : 1.f - first;
  terms_of<float>({label == top, row.confidence, first, short_of_one, rest, second, third, fourth, own, log_p_own, entropy,
                   nll_by_chance}, row.terms);
}

extern "C" __global__ void __launch_bounds__(THREADS) few_classes(
    const score_t* __restrict__ scores, const label_t* __restrict__ labels, const real* __restrict__ edges_of_grid,
    const real* __restrict__ group_edges, double* confidence_table, double* top_label_table, double* classwise_table,
    double* buffer, double n_rows, double inner_rows, double ignore_index) {
  double *const sums_of_rows = SUMS_OF(buffer), *const by_class = BY_CLASS_OF(buffer);
  extern __shared__ uint4 memory[];
  Cell* cells = (Cell*)memory;
  float2* of_labels = (float2*)(memory + (CONFIDENCE_CELLS == 1 ? (CELLS + 2) * THREADS : 0));  // rows and Brier
  const unsigned own_labels = address_of(of_labels + threadIdx.x);
  float* staged = (float*)(of_labels + (SCORES ? K * THREADS : 0));
  const unsigned own_row = address_of(staged + threadIdx.x * WIDE);
#if CONFIDENCE_CELLS == 1
  __shared__ real shared_edges[CELLS + 2];
  const unsigned edges = share_edges<CELLS>(edges_of_grid, shared_edges), own_cells = address_of(cells + threadIdx.x);
  for (int i = threadIdx.x; i < (CELLS + 2) * THREADS; i += THREADS) memory[i] = make_uint4(0, 0, 0, 0);
#else
  const real* edges = edges_of_grid;
#endif
  for (int i = threadIdx.x; SCORES && i < K * THREADS; i += THREADS) of_labels[i] = make_float2(0, 0);
  __syncthreads();

  const long long n = (long long)n_rows, inner = (long long)inner_rows, ignored = (long long)ignore_index;
  double whole[4] = {};
  float sums[TERMS] = {}, squares[5] = {}, finite_nll = 0, p[K] = {}, pp[K] = {};
#if CLASSWISE_CELLS
  double* classwise = classwise_table + (long long)(blockIdx.x % COPIES) * K * (GROUP_CELLS + 2) * 6;
  float n_first[K] = {}, p_first[K] = {}, pp_first[K] = {};
#endif
  float counted = 0;
  double n_ignored = 0;
  int since = 0;

  auto flush = [&]() {
#if CONFIDENCE_CELLS == 1
    flush_cells(cells, confidence_table, whole);
#else
    __syncthreads();
#endif
#if SCORES
#pragma unroll
    for (int i = 0; i < 7; i++) add_over_warp(sums_of_rows + BRIER + i, sums[i]);
#pragma unroll
    for (int i = 0; i < 5; i++) {
      add_over_warp(sums_of_rows + W2X + i, i == 1 ? finite_nll : sums[i]);
      add_over_warp(sums_of_rows + W2XX + i, squares[i]);
    }
    add_over_warp(sums_of_rows + W2_SQUARED, sums[0]);
    add_over_warp(sums_of_rows + BRIER_BY_CHANCE, sums[7]);
    add_over_warp(sums_of_rows + NLL_BY_CHANCE, sums[8]);
    for (int i = N; i <= W2; i++) add_over_warp(sums_of_rows + i, counted);
#pragma unroll
    for (int i = 0; i < TERMS; i++) sums[i] = 0;
#pragma unroll
    for (int i = 0; i < 5; i++) squares[i] = 0;
    counted = finite_nll = 0;
#endif
#pragma unroll
    for (int k = 0; k < K; k++) {
#if SCORES
      float2 own = of_labels[k * THREADS + threadIdx.x];
      of_labels[k * THREADS + threadIdx.x] = make_float2(0, 0);
      add_over_warp(by_class + k, p[k]);
      add_over_warp(by_class + K + k, pp[k]);
      add_over_warp(by_class + 2 * K + k, own.x);
      add_over_warp(by_class + 3 * K + k, own.x);
      add_over_warp(by_class + 4 * K + k, own.y);
      p[k] = pp[k] = 0;
#endif
#if CLASSWISE_CELLS
      double* entry = classwise + (k * (GROUP_CELLS + 2) + 1) * 6;
      double first_edge = group_edges[1], n_here = over_warp(n_first[k]);
      double p_here = fmin(over_warp(p_first[k]), n_here * first_edge);  // in its cell, however rounded
      double pp_here = fmin(over_warp(pp_first[k]), p_here * first_edge);
      if ((threadIdx.x & 31) == 0 && n_here > 0) {
        atomicAdd(entry, n_here);
        atomicAdd(entry + 1, p_here);
        atomicAdd(entry + 2, pp_here);
      }
      n_first[k] = p_first[k] = pp_first[k] = 0;
#endif
    }
    since = 0;
  };

#if !STRIDED
  const long long entries = n * K;
#if VECTOR
  const int per_load = 16 / sizeof(score_t), loads = (K + per_load - 1) / per_load;
  uint4 next[loads];
  auto load = [&](long long start) {
#pragma unroll
    for (int i = 0; i < loads; i++) {
      long long entry = start * K + ((long long)i * THREADS + threadIdx.x) * per_load;
      if (i * THREADS * per_load + threadIdx.x * per_load < THREADS * K && entry + per_load <= entries)
        next[i] = *(const uint4*)(scores + entry);
    }
  };
  load((long long)blockIdx.x * THREADS);
#endif
#endif

  for (long long start = (long long)blockIdx.x * THREADS; start < n; start += (long long)gridDim.x * THREADS) {
    long long row = start + threadIdx.x;
    float z[K];
#if STRIDED
    if (row < n) {
      long long at = row / inner * K * inner + row % inner;
#pragma unroll
      for (int k = 0; k < K; k++) z[k] = value(scores[at + k * inner]);
    }
#else
    __syncthreads();
#if VECTOR
#pragma unroll
    for (int i = 0; i < loads; i++) {
      int first = (i * THREADS + threadIdx.x) * per_load;
      const score_t* several = (const score_t*)&next[i];
      if (first < THREADS * K) {
        if (WIDE == K && start * K + first + per_load <= entries) {
#pragma unroll
          for (int j = 0; j < per_load; j += 4)
            *(float4*)(staged + first + j) = make_float4(value(several[j]), value(several[j + 1]),
                                                         value(several[j + 2]), value(several[j + 3]));
        } else if (start * K + first + per_load <= entries) {
#pragma unroll
          for (int j = 0; j < per_load; j++) staged[(first + j) / K * WIDE + (first + j) % K] = value(several[j]);
        } else {
          for (int j = 0; j < per_load && start * K + first + j < entries; j++)
            staged[(first + j) / K * WIDE + (first + j) % K] = value(scores[start * K + first + j]);
        }
      }
    }
    load(start + (long long)gridDim.x * THREADS);
#else
    for (int i = threadIdx.x; i < THREADS * K && start * K + i < entries; i += THREADS)
      staged[i / K * WIDE + i % K] = value(scores[start * K + i]);
#endif
    __syncthreads();
#pragma unroll
    for (int k = 0; k < K; k++) asm volatile("ld.shared.f32 %0, [%1];" : "=f"(z[k]) : "r"(own_row + 4 * k));
#endif

    long long label = row < n ? (long long)labels[row] : 0;
    const bool left_out = IGNORE && label == ignored;
    if (left_out && row < n) n_ignored += 1;
    Row of = {};
    bool valid = false, hit = false;
    if (row < n && !left_out) {
      bool known = label >= 0 && label < K;
      int at = known ? (int)label : 0;
#if STRIDED
      look_at(z, at, value(scores[row / inner * K * inner + row % inner + at * inner]), of);
#else
      float own_score;
      asm volatile("ld.shared.f32 %0, [%1];" : "=f"(own_score) : "r"(own_row + 4 * at));
      look_at(z, at, own_score, of);
#endif
      valid = of.finite && of.inside && of.sums_to_one && known, hit = label == of.top;
      if (!valid) {
        int reason = !of.finite ? NOT_FINITE : !of.inside ? OUTSIDE : !of.sums_to_one ? NOT_ONE : NO_CLASS;
        atomicAdd(buffer + reason, 1.0);
      } else {
#if SCORES
        counted += 1.f;
#pragma unroll
        for (int i = 0; i < TERMS; i++) sums[i] += of.terms[i];
#pragma unroll
        for (int i = 0; i < 5; i++) {
          float finite_term = i == 1 && of.terms[1] > 3.4028235e38f ? 0.f : of.terms[i];
          squares[i] = fmaf(finite_term, finite_term, squares[i]);
          if (i == 1) finite_nll += finite_term;
        }
        unsigned own = own_labels + (unsigned)label * (THREADS * 8);
        float n_own, brier_own;
        asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(n_own), "=f"(brier_own) : "r"(own) : "memory");
        n_own += 1.f, brier_own += of.terms[0];
        asm volatile("st.shared.v2.f32 [%0], {%1, %2};" :: "r"(own), "f"(n_own), "f"(brier_own) : "memory");
#endif
#if CONFIDENCE_CELLS == 1
        count_pair(own_cells, cell_of<CELLS>((real)of.confidence, edges), of.confidence, hit);
#endif
      }
    }
    // What is counted in tables is added by whole warps, so threads without a row take part.
    const real confidence = valid ? (real)of.confidence : (real)0;
#if CONFIDENCE_CELLS == 2
    add_pairs(confidence_table, valid ? 2 * cell_of<CELLS>(confidence, edges) + hit : -1, confidence, 1);
#endif
#if TOP_LABEL_CELLS
    const long long top_cell = (long long)of.top * (GROUP_CELLS + 2) + cell_of<GROUP_CELLS>(confidence, group_edges);
    add_pairs(top_label_table, valid ? 2 * top_cell + hit : -1, confidence, 1);
#endif
#pragma unroll
    for (int k = 0; k < K && (SCORES || CLASSWISE_CELLS); k++) {
      const float one_p = valid ? of.p[k] : 0.f;
#if SCORES
      p[k] += one_p;
      pp[k] = fmaf(one_p, one_p, pp[k]);
#endif
#if CLASSWISE_CELLS
      // Most entries lie in the first cell above 0: those are added up here, without asking where.
      const real score = valid && k == of.top ? confidence : (real)one_p;
      const bool above_0 = LOGITS ? z[k] - of.most >= -745.13321f : score > 0;
      const bool first = valid && score <= group_edges[1] && k != label && above_0;
      if (first) {
        n_first[k] += 1.f;
        p_first[k] += one_p;
        pp_first[k] = fmaf(one_p, one_p, pp_first[k]);
      }
      const bool elsewhere = valid && !first;
      if (__any_sync(~0u, elsewhere)) {
        const int cell = LOGITS && score == 0 && above_0 ? 1 : cell_of<GROUP_CELLS>(score, group_edges);
        add_pairs(classwise, elsewhere ? 2 * ((long long)k * (GROUP_CELLS + 2) + cell) + (k == label) : -1, score, 1);
      }
#endif
    }
    if (++since >= ROWS) flush();
  }
  flush();
  if (IGNORE) add_over_warp(buffer + IGNORED, n_ignored);
}
