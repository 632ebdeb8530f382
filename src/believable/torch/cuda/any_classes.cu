// Classes of any number, with weights, in double precision, on any grids, and ranks: what the other kernels leave out.
// Two kernels: `any_classes` reads each row and counts what is one pair or a few per row; `class_columns` reads each
// column again, for what is counted by class. Macros besides those of common.cuh: K, LANES (threads that share a row: a
// power of two), THREADS (of a block: LANES, if these are more than a warp), STRIDED (1: classes lie `inner` apart),
// IGNORE, SLACK (of sums of probabilities), RANKS (how many of the largest entries are needed, at least 1), VIEWS(V),
// which writes V(notion, r, table, codes, cells, bounds) for every view but the class-wise one, CLASSWISE (0 or 1),
// CLASSWISE_TABLE, CLASSWISE_CODES, CLASSWISE_CELLS and CLASSWISE_BOUNDS. Tables and bounds are places in their tensors;
// cells are 0 where bounds have to be searched.

// Entries of a row: exponentials of scores of at most 32 bits are in single precision, and so is what a thread adds up
// of one row. Sums over threads and rows are double.
#if SCORE == 3
typedef double entry_t;
__device__ __forceinline__ double exponential(double step) { return exp(step); }
__device__ __forceinline__ double logarithm(double x) { return log(x); }
#define LOWEST_STEP -800.0  // exp of it is 0, and its product with 0 is a number
#else
typedef float entry_t;
__device__ __forceinline__ float exponential(float step) { return __expf(step); }
__device__ __forceinline__ float logarithm(float x) { return logf(x); }
#define LOWEST_STEP -800.f
#endif

__device__ __forceinline__ float larger_of(float a, float b) { return fmaxf(a, b); }
__device__ __forceinline__ double larger_of(double a, double b) { return fmax(a, b); }

enum { CONFIDENCE_VIEW, TOP_LABEL_VIEW, BINARY_VIEW, RTH_VIEW, WITHIN_TOP_R_VIEW, TOP_R_VIEW };

#define TEAMS (THREADS / LANES)
#define WARPS ((THREADS + 31) / 32)
#define MAX_SHARED_LABELS 256

__device__ __forceinline__ int code_of(double p, const double* bounds, int codes, int cells) {
  if (cells == 0) return bounds_below(p, bounds, codes - 1);
  int code = (int)(p * cells) + 1;
  while (code > 0 && p <= bounds[code - 1]) code--;
  while (code < codes - 1 && p > bounds[code]) code++;
  return code;
}

// Joins the values of the threads of a row; all of them get the result.
template <class T, class Join>
__device__ __forceinline__ T over_team(T x, Join join) {
#pragma unroll
  for (int lanes = (LANES < 32 ? LANES : 32) / 2; lanes; lanes /= 2) x = join(x, __shfl_xor_sync(~0u, x, lanes));
#if LANES > 32
  __shared__ T meeting[LANES / 32];
  __syncthreads();
  if (threadIdx.x % 32 == 0) meeting[threadIdx.x / 32] = x;
  __syncthreads();
  x = meeting[0];
  for (int i = 1; i < LANES / 32; i++) x = join(x, meeting[i]);
#endif
  return x;
}

__device__ __forceinline__ double sum_over_team(double x) {
  return over_team(x, [](double a, double b) { return a + b; });
}

struct Ranked {
  entry_t score;
  int column;
};

// The r largest entries of a row, ties to the lowest column: every thread keeps those of its own columns in order, and
// the largest of all threads is taken as often as asked.
struct Largest {
  entry_t score[RANKS];
  int column[RANKS];

  __device__ __forceinline__ Largest() {
#pragma unroll
    for (int i = 0; i < RANKS; i++) score[i] = -__int_as_float(0x7f800000), column[i] = K;
  }

  __device__ __forceinline__ void add(entry_t z, int k) {
    if (!(z > score[RANKS - 1])) return;
    score[RANKS - 1] = z, column[RANKS - 1] = k;
#pragma unroll
    for (int i = RANKS - 1; i > 0; i--)
      if (score[i] > score[i - 1]) {
        const entry_t other = score[i];
        const int other_column = column[i];
        score[i] = score[i - 1], column[i] = column[i - 1];
        score[i - 1] = other, column[i - 1] = other_column;
      }
  }

  __device__ __forceinline__ Ranked take() {
    const entry_t most = over_team(score[0], [](entry_t a, entry_t b) { return a > b ? a : b; });
    const int mine = score[0] == most ? column[0] : K;
    const int first = over_team(mine, [](int a, int b) { return a < b ? a : b; });
    if (column[0] == first && first < K) {
#pragma unroll
      for (int i = 1; i < RANKS; i++) score[i - 1] = score[i], column[i - 1] = column[i];
      score[RANKS - 1] = -__int_as_float(0x7f800000), column[RANKS - 1] = K;
    }
    return {most, first};
  }
};

__device__ __forceinline__ long long start_of(long long row, long long inner) {
  return STRIDED ? row / inner * K * inner + row % inner : row * K;
}

// `kept` gets the largest entry, the factor of probabilities, and the weight of each row, 0 if it is not counted.
extern "C" __global__ void __launch_bounds__(THREADS) any_classes(
    const score_t* __restrict__ scores, const label_t* __restrict__ labels, const weight_t* __restrict__ weights,
    double* kept, const double* __restrict__ bounds, double* buffer, double n_rows, double inner_rows, double ignore_index) {
  double *const sums_of_rows = SUMS_OF(buffer), *const by_class = BY_CLASS_OF(buffer);
  const long long n = (long long)n_rows, inner = (long long)inner_rows, ignored = (long long)ignore_index;
  const long long apart = STRIDED ? inner : 1;
  const int lane = threadIdx.x % LANES;
  const bool speaker = lane == 0;
  double totals[ROW_SUMS] = {}, n_ignored = 0;
#if K <= MAX_SHARED_LABELS
  // All rows have one of a few labels: so they are counted in the block first.
  __shared__ double of_labels[3 * K];
  for (int i = threadIdx.x; i < 3 * K; i += THREADS) of_labels[i] = 0;
  __syncthreads();
#else
  double* const of_labels = by_class + 2 * K;
#endif

  for (long long start = (long long)blockIdx.x * TEAMS; start < n; start += (long long)gridDim.x * TEAMS) {
    const long long row = start + threadIdx.x / LANES;
    const long long label = row < n ? (long long)labels[row] : 0;
    const double w = row < n ? WEIGHT_AT(row) : 0;
    const bool left_out = IGNORE && label == ignored, here = row < n && !left_out && w != 0;
    const bool known = label >= 0 && label < K;
    if (speaker && row < n && left_out) n_ignored += 1;
    const score_t* own_row = scores + start_of(here ? row : 0, inner);

    Largest largest;
    double not_finite = 0, outside = 0, sum = 0;
    for (int k = lane; k < K; k += LANES) {
      const entry_t z = value(own_row[k * apart]);
      not_finite += is_finite(z) ? 0 : 1;
      if (!LOGITS) outside += z < 0 || z > 1, sum += z;
      largest.add(z, k);
    }
    Ranked ranked[RANKS];
#pragma unroll
    for (int i = 0; i < RANKS; i++) ranked[i] = largest.take();
    not_finite = sum_over_team(not_finite);
    const entry_t most = ranked[0].score;
    const int top = ranked[0].column;

    entry_t of_rest = 0, of_second = 0, of_third = 0, of_fourth = 0, of_steps = 0, of_squared_steps = 0;
    for (int k = lane; k < K; k += LANES) {
      const entry_t z = value(own_row[k * apart]);
#if LOGITS
      const entry_t step = larger_of(z - most, LOWEST_STEP), e = exponential(step);
#else
      const entry_t e = z, step = SCORES && z > 0 ? logarithm(z) : 0;
#endif
      const entry_t other = k == top ? 0 : e, square = other * other;
      of_rest += other;
      if (!SCORES) continue;
      of_second += square, of_third += square * other, of_fourth += square * square;
      of_steps += e * step, of_squared_steps += e * step * step;
    }
    double rest = sum_over_team(of_rest), second = 0, third = 0, fourth = 0, steps = 0, squared_steps = 0;
    if (SCORES) {
      second = sum_over_team(of_second), third = sum_over_team(of_third), fourth = sum_over_team(of_fourth);
      steps = sum_over_team(of_steps), squared_steps = sum_over_team(of_squared_steps);
    }
    bool inside = true, one = true;
    const double own_score = value(own_row[(known ? label : 0) * apart]);
#if LOGITS
    const double share = 1 / (1 + rest), log_sum = log1p(rest), own_step = own_score - (double)most;
    const double own = own_step < -745.13321 ? 0 : exp(own_step) * share;
    const double log_own = own_step < -745.13321 ? -__int_as_float(0x7f800000) : own_step - log_sum;
    rest *= share, second *= share * share, third *= share * share * share, fourth *= share * share * share * share;
    steps *= share, squared_steps *= share;
    const double first = share, short_of_one = rest, entropy = log_sum - steps;
#else
    outside = sum_over_team(outside), sum = sum_over_team(sum);
    inside = outside == 0, one = fabs(sum - 1) <= SLACK;
    const double share = 1, own = own_score, log_own = log(own), first = most, short_of_one = 1 - (double)most;
    const double entropy = -steps;
#endif
    const double confidence = LOGITS ? share : most;
    const bool finite = not_finite == 0, valid = finite && inside && one && known && is_weight(w), hit = label == top;
    if (speaker && row < n) {
      kept[3 * row] = most, kept[3 * row + 1] = share, kept[3 * row + 2] = here && valid ? w : 0;
      if (here && !valid) {
        const int reason = !finite ? NOT_FINITE : !inside ? OUTSIDE : !one ? NOT_ONE : !known ? NO_CLASS : BAD_WEIGHT;
        atomicAdd(buffer + reason, 1.0);
      }
    }
    if (!(speaker && here && valid)) continue;  // there is no barrier behind this one in the loop

#if SCORES
    double terms[TERMS];
    const double nll_by_chance = fmax(squared_steps - steps * steps, 0.0), w2 = w * w;
    terms_of<double>({hit, confidence, first, short_of_one, rest, second, third, fourth, own, log_own, entropy, nll_by_chance},
                     terms);
    totals[N] += 1, totals[W] += w, totals[W2] += w2;
#pragma unroll
    for (int i = 0; i < 6; i++) totals[BRIER + i] += w * terms[i];
    totals[SPREAD_VARIANCE] += w2 * terms[6], totals[W2_SQUARED] += w2 * terms[0];
#pragma unroll
    for (int i = 0; i < 5; i++) {
      const double term = is_finite(terms[i]) ? terms[i] : 0;
      totals[W2X + i] += w2 * term, totals[W2XX + i] += w2 * term * term;
    }
    totals[BRIER_BY_CHANCE] += w2 * terms[7], totals[NLL_BY_CHANCE] += w2 * terms[8];
    atomicAdd(of_labels + label, w);
    atomicAdd(of_labels + K + label, w2);
    atomicAdd(of_labels + 2 * K + label, w2 * terms[0]);
#endif

    auto p_of = [&](double z) { return LOGITS ? exp(fmax(z - (double)most, -800.0)) * share : z; };
    auto count = [&](long long table, int codes, int cells, long long at, long long stratum, double p, bool y) {
      const double score = sizeof(real) == 8 ? p : (double)(float)p;
      const long long code = stratum * codes + code_of(score, bounds + at, codes, cells);
      add_alone(buffer + table, 2 * code + y, score, w);
    };
    auto count_view = [&](int notion, int r, long long table, int codes, int cells, long long at) {
      if (notion == CONFIDENCE_VIEW) count(table, codes, cells, at, 0, confidence, hit);
      if (notion == TOP_LABEL_VIEW) count(table, codes, cells, at, top, confidence, hit);
      if (notion == BINARY_VIEW) count(table, codes, cells, at, 0, p_of(value(own_row[apart])), label == 1);
      double together = 0;
      bool among = false;
      for (int i = 0; i < RANKS && i < r && notion >= RTH_VIEW; i++) {
        const double p = p_of(ranked[i].score);
        const bool y = ranked[i].column == label;
        together += p, among |= y;
        if (notion == TOP_R_VIEW) count(table, codes, cells, at, i, p, y);
        if (notion == RTH_VIEW && i == r - 1) count(table, codes, cells, at, 0, p, y);
      }
      if (notion == WITHIN_TOP_R_VIEW) count(table, codes, cells, at, 0, fmin(together, 1.0), among);
    };
#define COUNT_VIEW(notion, r, table, codes, cells, at) count_view(notion, r, table, codes, cells, at);
    VIEWS(COUNT_VIEW)
  }

#if K <= MAX_SHARED_LABELS
  __syncthreads();
  for (int i = threadIdx.x; i < 3 * K; i += THREADS)
    if (of_labels[i] != 0) atomicAdd(by_class + 2 * K + i, of_labels[i]);
#endif
  // One addition per block and sum, not one per team.
  __shared__ double of_warps[WARPS][ROW_SUMS + 1];
  __syncthreads();
#pragma unroll
  for (int i = 0; i <= ROW_SUMS; i++) {
    const double total = over_warp(i < ROW_SUMS ? totals[i] : n_ignored);
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32][i] = total;
  }
  __syncthreads();
  for (int i = threadIdx.x; i <= ROW_SUMS; i += THREADS) {
    double total = 0;
    for (int warp = 0; warp < WARPS; warp++) total += of_warps[warp][i];
    if (total != 0) atomicAdd(i < ROW_SUMS ? sums_of_rows + i : buffer + IGNORED, total);
  }
}

// Sums by class, and class-wise cells. COLUMNS threads (a power of two, at least K or 128) have a column each, and a block
// has THREADS / COLUMNS rows at a time; blocks are numbered by tiles of columns first.
extern "C" __global__ void __launch_bounds__(THREADS) class_columns(
    const score_t* __restrict__ scores, const label_t* __restrict__ labels, const double* __restrict__ kept,
    const double* __restrict__ bounds, double* buffer, double n_rows, double inner_rows) {
  double* const by_class = BY_CLASS_OF(buffer);
  const long long n = (long long)n_rows, inner = (long long)inner_rows, apart = STRIDED ? inner : 1;
  const int tiles = (K + COLUMNS - 1) / COLUMNS, rows_at_once = THREADS / COLUMNS;
  const long long column = (long long)(blockIdx.x % tiles) * COLUMNS + threadIdx.x % COLUMNS;
  const long long step = (long long)(gridDim.x / tiles) * rows_at_once;
  double wp = 0, wpp = 0;
#if CLASSWISE
  double first[MOMENTS] = {};
#endif
  for (long long row = (long long)(blockIdx.x / tiles) * rows_at_once + threadIdx.x / COLUMNS; row < n; row += step) {
    const double most = kept[3 * row], share = kept[3 * row + 1], w = kept[3 * row + 2];
    if (column >= K || w == 0) continue;
    const entry_t z = value(scores[start_of(row, inner) + column * apart]);
    const entry_t p = LOGITS ? exponential(larger_of(z - (entry_t)most, LOWEST_STEP)) * (entry_t)share : z;
    wp += w * p, wpp += w * p * p;
#if CLASSWISE
    const bool y = (long long)labels[row] == column;
    const double score = p;
    const int code = code_of(score, bounds + CLASSWISE_BOUNDS, CLASSWISE_CODES, CLASSWISE_CELLS);
    if (code == 1 && !y) {  // most entries lie in the first cell above 0, and are added up here
#pragma unroll
      for (int which = 0; which < MOMENTS; which++) first[which] += moment_of(which, score, w);
    } else {
      add_alone(buffer + CLASSWISE_TABLE, 2 * (column * CLASSWISE_CODES + code) + y, score, w);
    }
#endif
  }
  auto add = [&](double* to, double x) {
#pragma unroll
    for (int lanes = 16; lanes >= COLUMNS; lanes /= 2) x += __shfl_xor_sync(~0u, x, lanes);
    if (threadIdx.x % 32 < COLUMNS && column < K && x != 0) atomicAdd(to, x);
  };
  add(by_class + column, wp);
  add(by_class + K + column, wpp);
#if CLASSWISE
  double* const first_cell = buffer + CLASSWISE_TABLE + 2 * (column * CLASSWISE_CODES + 1) * MOMENTS;
  for (int which = 0; which < MOMENTS; which++) add(first_cell + which, first[which]);
#endif
}
