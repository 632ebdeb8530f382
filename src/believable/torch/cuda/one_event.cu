// One event: scores and 0/1 labels. Macros besides those of common.cuh: FEW (1: few cells, counted in the block; 0: many,
// counted in the table), LOGIT_CELLS (0, or how many a second, logit-spaced grid has), VECTOR (0 or 1: whether four rows
// can be loaded at once), IGNORE (0 or 1).

struct Sums {
  float brier, nll, correct, confidence, entropy, spread, spread_variance, n, positive, p, pp;
};

#define REACH 40.f       // of the logits of that grid
#define NEAR_ONE 65536  // so many scores next to 1, where edges fall together, have their cells in a table

// Number of inner edges of the logit-spaced grid below p, by its logit; the edges decide.
__device__ __forceinline__ int logit_cells_below(real p, float logit, const real* edges, const int* near_one) {
  const real spacing = LOGITS ? (real)1.1102230246251565e-16 : (real)5.9604645e-8f;
  if (p >= 1 - NEAR_ONE * spacing) return near_one[(int)((1 - p) / spacing)];
  int below = (int)fminf(fmaxf((logit + REACH) * (LOGIT_CELLS / (2 * REACH)), 0.f), LOGIT_CELLS - 1.f);
  while (below > 0 && p <= edges[below]) below--;
  while (below < LOGIT_CELLS - 1 && p > edges[below + 1]) below++;
  return below;
}

struct Grids {
#if FEW
  unsigned edges;
#else
  const real* edges;
#endif
  const real* logit_edges;
  const int* near_one;
  double* table;
};

// A score that has been checked.
struct Valid {
  real p;
  int cell;
#if LOGITS
  double e, likelier;
#endif
};

__device__ __forceinline__ Valid look_at(float score, const Grids& grids) {
  Valid of;
#if LOGITS
  of.e = exp(-fabs((double)score)), of.likelier = 1 / (1 + of.e);
  of.p = score >= 0 ? of.likelier : of.e * of.likelier;
#else
  of.p = score;
#endif
  of.cell = cell_of<CELLS>(of.p, grids.edges);
  return of;
}

// Adds a score and its outcome to the sums, and to the tables of many cells.
__device__ __forceinline__ void add_valid(float score, const Valid& of, bool y, const Grids& grids, Sums& sums) {
  const real p = of.p;
#if LOGITS
  double e = of.e;
  float small = (float)(e * of.likelier), large = (float)of.likelier;
#else
  float small = fminf(p, 1.f - p), large = fmaxf(p, 1.f - p);
#endif
#if !FEW
  float x = (float)p;
#endif
#if SCORES || LOGIT_CELLS
#if LOGITS
  float log_large = -log1pf((float)e), log_small = log_large - fabsf(score);
  float finite_log_small = log_small;
  if (p == 0 || p == 1) log_small = -__int_as_float(0x7f800000);  // as of the double that was rounded
#else
  float log_large = log_of_rest(small), finite_log_small = fast_log(fmaxf(small, 1.1754944e-38f));
  float log_small = small == 0.f ? -__int_as_float(0x7f800000) : finite_log_small;
#endif
#endif
#if !FEW
  int code = of.cell;
#if LOGIT_CELLS
  float logit = x > 0.5f ? log_large - log_small : log_small - log_large;
  if (p != 0) code += p == 1 ? LOGIT_CELLS + 1 : 1 + logit_cells_below(p, logit, grids.logit_edges, grids.near_one);
#endif
  add_pair(grids.table, code, y, p);
#if SCORES
  sums.n += 1.f, sums.positive += y, sums.p += x, sums.pp = fmaf(x, x, sums.pp);
#endif
#endif
#if SCORES
  bool hit = (p > (real)0.5) == y;
  float miss = hit ? small : large, tilt = large - small;
  sums.brier = fmaf(miss, miss, sums.brier);
  sums.nll -= hit ? log_large : log_small;
  sums.correct += hit ? 1.f : 0.f;
  sums.confidence += large;
  sums.entropy -= fmaf(large, log_large, small * finite_log_small);  // 0 log 0 is 0
  sums.spread = fmaf(hit ? -miss : miss, tilt, sums.spread);
  sums.spread_variance = fmaf(tilt * tilt, large * small, sums.spread_variance);
#endif
}

__device__ __forceinline__ void count_row(float score, long long label, long long ignored, const Grids& grids,
                                          unsigned own_cells, Sums& sums, unsigned long long* invalid) {
#if IGNORE
  if (label == ignored) return;
#endif
  bool finite = fabsf(score) <= 3.4028235e38f, inside = LOGITS || (score >= 0.f && score <= 1.f);
  if (!LOGITS) score = score == 0.f ? 0.f : score;  // -0 is 0
  if (finite && inside && (unsigned long long)label <= 1) {
    Valid of = look_at(score, grids);
    if (FEW) count_pair(own_cells, of.cell, of.p, label);
    add_valid(score, of, label, grids, sums);
  } else
    atomicAdd(invalid + (!finite ? NOT_FINITE : !inside ? OUTSIDE : NO_CLASS), 1ull);
}

// Rows that are loaded at once, as 32-bit words.
constexpr int AT_ONCE = sizeof(label_t) == 1 ? 8 : 4;

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

  __device__ __forceinline__ float score(int i) const {
    return SCORE == 0 ? __uint_as_float(scores.at(i)) : value((score_t)scores.at(i));
  }

  __device__ __forceinline__ label_t label(int i) const { return labels.at(i); }

  __device__ __forceinline__ bool all_valid() const {
    unsigned largest = 0, others = 0;
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++)
      largest = max(largest, __float_as_uint(LOGITS ? fabsf(score(i)) : score(i)));
#pragma unroll
    for (int i = 0; i < AT_ONCE * (int)sizeof(label_t) / 4; i++)
      others |= labels.of[i] & (sizeof(label_t) == 1 ? 0xfefefefeu : sizeof(label_t) == 8 && i % 2 ? ~0u : ~1u);
    return others == 0 && largest <= (LOGITS ? 0x7f7fffffu : 0x3f800000u);
  }
};

extern "C" __global__ void __launch_bounds__(THREADS) one_event(
    const score_t* __restrict__ scores, const label_t* __restrict__ labels, const real* __restrict__ edges_of_grid,
    const real* __restrict__ logit_edges, const int* __restrict__ near_one, double* table, double* sums_of_rows,
    double* by_class, unsigned long long* invalid, double n_rows, double ignore_index) {
  extern __shared__ uint4 memory[];
  Cell* cells = (Cell*)memory;
#if FEW
  __shared__ real shared_edges[CELLS + 2];
  const unsigned edges = share_edges<CELLS>(edges_of_grid, shared_edges), own_cells = address_of(cells + threadIdx.x);
  for (int i = threadIdx.x; i < (CELLS + 2) * THREADS; i += THREADS) memory[i] = make_uint4(0, 0, 0, 0);
  __syncthreads();
#else
  const real* edges = edges_of_grid;
  const unsigned own_cells = 0;
#endif
  const Grids grids = {edges, logit_edges, near_one, table};

  const long long n = (long long)n_rows, ignored = (long long)ignore_index;
  const long long step = (VECTOR ? AT_ONCE : 1) * THREADS;
  Sums sums = {};
  int since = 0;
  auto flush = [&]() {
    double whole[4] = {sums.n, sums.positive, sums.p, sums.pp};
#if FEW
    flush_cells(cells, table, whole);
#endif
#if SCORES
    const float* terms = &sums.brier;
#pragma unroll
    for (int i = 0; i < 7; i++) add_over_warp(sums_of_rows + BRIER + i, terms[i]);
    add_over_warp(sums_of_rows + W2_SQUARED, sums.brier);
    for (int i = N; i <= W2; i++) add_over_warp(sums_of_rows + i, whole[0]);
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
    if (since >= ROWS) flush();
    since += step / THREADS;
#if VECTOR
    if (start + step <= n) {
      Several own = next;
      load(start + gridDim.x * step);
      bool may_ignore = IGNORE && (unsigned long long)ignored <= 1;  // one of the outcomes
      if (own.all_valid() && !may_ignore) {                          // as nearly always
        Valid of[AT_ONCE];  // all before the first is counted, because reading waits for what is written
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) of[i] = look_at(own.score(i), grids);
#pragma unroll
        for (int i = 0; i < AT_ONCE && FEW; i++) count_pair(own_cells, of[i].cell, of[i].p, own.label(i) != 0);
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) add_valid(own.score(i), of[i], own.label(i) != 0, grids, sums);
      } else {
#pragma unroll 1
        for (int i = 0; i < AT_ONCE; i++) {
          long long row = start + threadIdx.x * AT_ONCE + i;
          count_row(value(scores[row]), labels[row], ignored, grids, own_cells, sums, invalid);
        }
      }
      continue;
    }
#endif
    for (long long row = start + threadIdx.x; row < n && row < start + step; row += THREADS)
      count_row(value(scores[row]), labels[row], ignored, grids, own_cells, sums, invalid);
  }
  flush();
}
