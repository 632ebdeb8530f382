// One event: scores and 0/1 labels. Macros besides those of common.cuh: FEW (1: few cells, counted in the block; 0:
// counted in the table, of which there may be COPIES, so that blocks seldom wait for each other), GRID (0: one uniform
// grid; 1: a uniform and a logit-spaced one of LOGIT_CELLS; 2: any, searched for among CODES - 1 bounds), VECTOR (0 or 1:
// whether several rows can be loaded at once), IGNORE (0 or 1).

// The terms of a row: double for scores that are.
#if SCORE == 3
typedef double term_t;
__device__ __forceinline__ double log_of(double x) { return log(x); }
__device__ __forceinline__ double log_one_plus(double x) { return log1p(x); }
__device__ __forceinline__ double log_one_minus(double x) { return log1p(-x); }
#define SMALLEST 2.2250738585072014e-308
#else
typedef float term_t;
__device__ __forceinline__ float log_of(float x) { return fast_log(x); }
__device__ __forceinline__ float log_one_plus(float x) { return log1pf(x); }
__device__ __forceinline__ float log_one_minus(float x) { return log_of_rest(x); }
#define SMALLEST 1.1754944e-38f
#endif

// Their sums over the rows of a thread: double with weights too, which may be very large.
#ifdef WEIGHT
typedef double sum_t;
#else
typedef term_t sum_t;
#endif

struct Sums {
  sum_t brier, nll, correct, confidence, entropy, spread, spread_variance, n, positive, p, pp;
#ifdef WEIGHT
  sum_t w, w2, w2_squared, wy;
#endif
};

#define REACH 40.f       // of the logits of that grid
#define NEAR_ONE 65536  // so many scores next to 1, where edges fall together, have their cells in a table

// Number of inner edges of the logit-spaced grid below p, by its logit; the edges decide.
__device__ __forceinline__ int logit_cells_below(real p, float logit, const real* edges, const int* near_one) {
  const real spacing = sizeof(real) == 8 ? (real)1.1102230246251565e-16 : (real)5.9604645e-8f;
  if (p >= 1 - NEAR_ONE * spacing) return near_one[(int)((1 - p) / spacing)];
  int below = (int)fminf(fmaxf((logit + REACH) * (LOGIT_CELLS / (2 * REACH)), 0.f), LOGIT_CELLS - 1.f);
  while (below > 0 && p <= edges[below]) below--;
  while (below < LOGIT_CELLS - 1 && p > edges[below + 1]) below++;
  return below;
}

#if GRID == 2
typedef double edge_t;  // bounds
#else
typedef real edge_t;
#endif

struct Grids {
#if FEW
  unsigned edges;
#else
  const edge_t* edges;
#endif
  const real* logit_edges;
  const int* near_one;
};

// A row that has been checked.
struct Valid {
  real p;
  int cell;
#if LOGITS
  double e, likelier;
#endif
};

template <class T>
__device__ __forceinline__ Valid look_at(T score, const Grids& grids) {
  Valid of;
#if LOGITS
  of.e = exp(-fabs((double)score)), of.likelier = 1 / (1 + of.e);
  of.p = score >= 0 ? of.likelier : of.e * of.likelier;
#else
  of.p = score;
#endif
#if GRID == 2
  of.cell = bounds_below(of.p, grids.edges, CODES - 1);
#else
  of.cell = cell_of<CELLS>(of.p, grids.edges);
#endif
  return of;
}

// Adds a score and its outcome to the sums, and returns its code in a table of many cells.
template <class T>
__device__ __forceinline__ int add_valid(T score, const Valid& of, bool y, double w, const Grids& grids, Sums& sums) {
  const real p = of.p;
#if LOGITS
  const term_t small = (term_t)(of.e * of.likelier), large = (term_t)of.likelier;
#else
  const term_t rest = 1 - (term_t)p, small = p < rest ? p : rest, large = p < rest ? rest : p;
#endif
#if SCORES || GRID == 1
  const term_t infinite = __int_as_float(0x7f800000);
#if LOGITS
  const term_t log_large = -log_one_plus((term_t)of.e);
  const term_t finite_log_small = log_large - (term_t)(score < 0 ? -score : score);
  const term_t log_small = p == 0 || p == 1 ? -infinite : finite_log_small;  // as of the double that was rounded
#else
  const term_t log_large = log_one_minus(small), finite_log_small = log_of(small > SMALLEST ? small : SMALLEST);
  const term_t log_small = small == 0 ? -infinite : finite_log_small;
#endif
#endif
  int code = of.cell;
#if GRID == 1
  const float logit = p > (real)0.5 ? log_large - log_small : log_small - log_large;
  if (p != 0) code += p == 1 ? LOGIT_CELLS + 1 : 1 + logit_cells_below(p, logit, grids.logit_edges, grids.near_one);
#endif
#if SCORES
  const bool hit = (p > (real)0.5) == y;
  const term_t miss = hit ? small : large, tilt = large - small, brier = miss * miss;
  const term_t entropy = -(large * log_large + small * finite_log_small);  // 0 log 0 is 0
  const term_t spread = (hit ? -miss : miss) * tilt, spread_variance = tilt * tilt * (large * small);
  const sum_t weight = (sum_t)w, x = (sum_t)p;
#ifdef WEIGHT
  const sum_t square = weight * weight;
  sums.w += weight, sums.w2 += square, sums.w2_squared += square * brier;
  sums.wy += y ? weight : 0;
#else
  const sum_t square = 1;
#endif
#if !FEW
  sums.n += 1, sums.positive += y, sums.p += weight * x, sums.pp += weight * x * x;
#endif
  sums.brier += weight * brier;
  sums.nll -= weight * (hit ? log_large : log_small);
  sums.correct += hit ? weight : 0;
  sums.confidence += weight * large;
  sums.entropy += weight * entropy;
  sums.spread += weight * spread;
  sums.spread_variance += square * spread_variance;
#endif
  return code;
}

// A pair for a table of many cells: 2 * code + outcome, or -1 if the row is not counted.
struct Pair {
  long long at;
  real p;
};

// Counts a row, which may be invalid.
template <class T>
__device__ __forceinline__ Pair count_row(T score, long long label, double w, long long ignored, const Grids& grids,
                                          unsigned own_cells, Sums& sums, double& n_ignored, double* buffer) {
#if IGNORE
  if (label == ignored) {
    n_ignored += 1;
    return {-1, 0};
  }
#endif
  if (w == 0) return {-1, 0};
  const bool finite = is_finite(score), inside = LOGITS || (score >= 0 && score <= 1);
  if (!LOGITS) score = score == 0 ? 0 : score;  // -0 is 0
  if (!(finite && inside && (unsigned long long)label <= 1 && is_weight(w))) {
    const int reason = !finite ? NOT_FINITE : !inside ? OUTSIDE : (unsigned long long)label > 1 ? NO_CLASS : BAD_WEIGHT;
    atomicAdd(buffer + reason, 1.0);
    return {-1, 0};
  }
  Valid of = look_at(score, grids);
  if (FEW) count_pair(own_cells, of.cell, of.p, label);
  return {2ll * add_valid(score, of, label, w, grids, sums) + label, of.p};
}

// Rows that are loaded at once, as 32-bit words.
constexpr int AT_ONCE = sizeof(label_t) == 1 && SCORE != 3 ? 8 : 4;

template <class T>
struct __align__(AT_ONCE * sizeof(T) < 16 ? AT_ONCE * sizeof(T) : 16) Words {
  unsigned of[AT_ONCE * sizeof(T) / 4];

  __device__ __forceinline__ T at(int i) const {
    if (sizeof(T) == 8) return (T)((unsigned long long)of[2 * i + 1] << 32 | of[2 * i]);
    constexpr int each = sizeof(T) < 4 ? 4 / sizeof(T) : 1;
    return (T)(of[i / each] >> (i % each * 8 * sizeof(T)));
  }
};

struct Several {
  Words<unsigned_score_t> scores;
  Words<label_t> labels;

  __device__ __forceinline__ Several() {}
  __device__ __forceinline__ Several(const score_t* s, const label_t* l)
      : scores(*(const Words<unsigned_score_t>*)s), labels(*(const Words<label_t>*)l) {}

#if SCORE == 3
  __device__ __forceinline__ double score(int i) const { return __longlong_as_double((long long)scores.at(i)); }
#elif SCORE == 0
  __device__ __forceinline__ float score(int i) const { return __uint_as_float(scores.at(i)); }
#else
  __device__ __forceinline__ float score(int i) const { return value((score_t)scores.at(i)); }
#endif

  __device__ __forceinline__ label_t label(int i) const { return labels.at(i); }

  __device__ __forceinline__ bool all_valid() const {
    bool valid = true;
    unsigned others = 0;
#if SCORE == 3
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++) valid &= LOGITS ? is_finite(score(i)) : scores.at(i) <= 0x3ff0000000000000ull;
#else
    unsigned largest = 0;
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++)
      largest = max(largest, __float_as_uint(LOGITS ? fabsf(score(i)) : score(i)));
    valid = largest <= (LOGITS ? 0x7f7fffffu : 0x3f800000u);
#endif
#pragma unroll
    for (int i = 0; i < AT_ONCE * (int)sizeof(label_t) / 4; i++)
      others |= labels.of[i] & (sizeof(label_t) == 1   ? 0xfefefefeu
                                : sizeof(label_t) == 2 ? 0xfffefffeu
                                : sizeof(label_t) == 8 && i % 2 ? ~0u
                                                                : ~1u);
    return others == 0 && valid;
  }
};

extern "C" __global__ void __launch_bounds__(THREADS) one_event(
    const score_t* __restrict__ scores, const label_t* __restrict__ labels, const weight_t* __restrict__ weights,
    const edge_t* __restrict__ edges_of_grid, const real* __restrict__ logit_edges, const int* __restrict__ near_one,
    double* tables, double* buffer, double n_rows, double ignore_index) {
  extern __shared__ uint4 memory[];
  Cell* cells = (Cell*)memory;
#if FEW
  __shared__ real shared_edges[CELLS + 2];
  const unsigned edges = share_edges<CELLS>(edges_of_grid, shared_edges), own_cells = address_of(cells + threadIdx.x);
  for (int i = threadIdx.x; i < (CELLS + 2) * THREADS; i += THREADS) memory[i] = make_uint4(0, 0, 0, 0);
  __syncthreads();
  double* const table = tables;
#else
  const edge_t* edges = edges_of_grid;
  const unsigned own_cells = 0;
  double* const table = tables + (long long)(blockIdx.x % COPIES) * CODES * 2 * MOMENTS;
#endif
  const Grids grids = {edges, logit_edges, near_one};
  double *const sums_of_rows = SUMS_OF(buffer), *const by_class = BY_CLASS_OF(buffer);

  const long long n = (long long)n_rows, ignored = (long long)ignore_index;
  const int several = VECTOR ? AT_ONCE : 1;
  const long long step = several * THREADS;
  Sums sums = {};
  double n_ignored = 0;
  int since = 0;
  auto flush = [&]() {
    double whole[4] = {sums.n, sums.positive, sums.p, sums.pp};
#if FEW
    flush_cells(cells, table, whole);
#endif
#if SCORES
    const sum_t* terms = &sums.brier;
#pragma unroll
    for (int i = 0; i < 7; i++) add_over_warp(sums_of_rows + BRIER + i, terms[i]);
#ifdef WEIGHT
    add_over_warp(sums_of_rows + W2_SQUARED, sums.w2_squared);
    add_over_warp(sums_of_rows + W, sums.w);
    add_over_warp(sums_of_rows + W2, sums.w2);
    whole[1] = sums.wy;
#else
    add_over_warp(sums_of_rows + W2_SQUARED, sums.brier);
    for (int i = W; i <= W2; i++) add_over_warp(sums_of_rows + i, whole[0]);
#endif
    add_over_warp(sums_of_rows + N, whole[0]);
    add_over_warp(by_class + 2, whole[1]);
    add_over_warp(by_class, whole[2]);
    add_over_warp(by_class + 1, whole[3]);
    sums = {};
#endif
    since = 0;
  };
#if VECTOR
  Several next;  // rows, on their way while others are counted
  auto load = [&](long long start) {
    if (start + step <= n) next = Several(scores + start + threadIdx.x * AT_ONCE, labels + start + threadIdx.x * AT_ONCE);
  };
  load(blockIdx.x * step);
#endif
  for (long long start = blockIdx.x * step; start < n; start += gridDim.x * step) {
    if (since >= ROWS && (FEW || sizeof(sum_t) == 4)) flush();
    since += several;
#if VECTOR
    if (start + step <= n) {
      Several own = next;
      load(start + gridDim.x * step);
      const long long first = start + threadIdx.x * AT_ONCE;
      const bool may_ignore = IGNORE && (unsigned long long)ignored <= 1;  // one of the outcomes
      bool plain = own.all_valid() && !may_ignore;                         // as nearly always
      double w[AT_ONCE];
#pragma unroll
      for (int i = 0; i < AT_ONCE; i++) {
#ifdef WEIGHT
        w[i] = weights[first + i];
        plain = plain && is_weight(w[i]);
#else
        w[i] = 1;
#endif
      }
      Pair pairs[AT_ONCE];
      if (plain) {
        Valid of[AT_ONCE];  // all before the first is counted, because reading waits for what is written
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) of[i] = look_at(own.score(i), grids);
#pragma unroll
        for (int i = 0; i < AT_ONCE && FEW; i++) count_pair(own_cells, of[i].cell, of[i].p, own.label(i) != 0);
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
          const bool y = own.label(i) != 0;
          pairs[i] = {2ll * add_valid(own.score(i), of[i], y, w[i], grids, sums) + y, of[i].p};
        }
      } else {
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) pairs[i] = {-1, 0};
#pragma unroll 1
        for (int i = 0; i < AT_ONCE; i++) {
          const double own_w = WEIGHT_AT(first + i);
          const Pair pair = count_row(value(scores[first + i]), labels[first + i], own_w, ignored, grids, own_cells, sums,
                                      n_ignored, buffer);
          if (!FEW && pair.at >= 0) add_alone(table, pair.at, pair.p, own_w);
        }
      }
#pragma unroll
      for (int i = 0; i < AT_ONCE && !FEW; i++) add_pairs(table, pairs[i].at, pairs[i].p, w[i]);
      continue;
    }
#endif
    for (int i = 0; i < several; i++) {
      const long long row = start + i * THREADS + threadIdx.x;
      const double w = row < n ? WEIGHT_AT(row) : 0;
      Pair pair = {-1, 0};
      if (row < n)
        pair = count_row(value(scores[row]), labels[row], w, ignored, grids, own_cells, sums, n_ignored, buffer);
      if (!FEW) add_pairs(table, pair.at, pair.p, w);
    }
  }
  flush();
  if (IGNORE) add_over_warp(buffer + IGNORED, n_ignored);
}
