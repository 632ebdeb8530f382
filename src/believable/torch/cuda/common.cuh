// What every kernel here shares: types, the rule that says which cell a score is in, and adding up within a block.
//
// Macros: SCORE (0 float32, 1 float16, 2 bfloat16, 3 float64), LABEL (the type of the labels), WEIGHT (that of the
// weights; not defined without weights), LIGHTEST and HEAVIEST (of weights), LOGITS (0 or 1: then probabilities are
// double, as in the NumPy core, and of the type of the scores otherwise), CELLS (of the grid between {0} and {1}),
// THREADS, SCORES (1: the sums behind proper scores too; 0: the tables alone).

#if SCORE == 0
typedef float score_t;
typedef unsigned unsigned_score_t;
__device__ __forceinline__ float value(score_t x) { return x; }
#elif SCORE == 1
typedef unsigned short score_t, unsigned_score_t;
__device__ __forceinline__ float value(score_t x) {
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(x));
  return wide;
}
#elif SCORE == 2
typedef unsigned short score_t, unsigned_score_t;
__device__ __forceinline__ float value(score_t x) { return __uint_as_float((unsigned)x << 16); }
#else
typedef double score_t;
typedef unsigned long long unsigned_score_t;
__device__ __forceinline__ double value(score_t x) { return x; }
#endif

typedef LABEL label_t;
#if LOGITS || SCORE == 3
typedef double real;
#else
typedef float real;
#endif

// Sums of a tally, in the order of TALLY_SUM_NAMES in counting/tally.py.
enum { N, W, W2, BRIER, NLL, CORRECT, CONFIDENCE, ENTROPY, SPREAD, SPREAD_VARIANCE, W2_SQUARED, W2X, W2XX = W2X + 5,
       BRIER_BY_CHANCE = W2XX + 5, NLL_BY_CHANCE };
// The beginning of a tally: numbers of invalid rows, in the order of REASONS in counting/rows.py, and of ignored ones.
enum { NOT_FINITE, OUTSIDE, NOT_ONE, NO_CLASS, BAD_WEIGHT, IGNORED, SUMS };
#define ROW_SUMS (NLL_BY_CHANCE + 1)
#define SUMS_OF(buffer) (buffer + SUMS)
#define BY_CLASS_OF(buffer) (buffer + SUMS + ROW_SUMS)

__device__ __forceinline__ bool is_finite(float x) { return fabsf(x) <= 3.4028235e38f; }
__device__ __forceinline__ bool is_finite(double x) { return fabs(x) <= 1.7976931348623157e308; }

// Whether a weight can be squared; as LIGHTEST_WEIGHT and HEAVIEST_WEIGHT in _check.py.
__device__ __forceinline__ bool is_weight(double w) { return w >= LIGHTEST && w <= HEAVIEST; }

// A number that stays in its register; otherwise the compiler would compute it again for every row.
__device__ __forceinline__ unsigned kept(unsigned x) {
  asm volatile("mov.u32 %0, %0;" : "+r"(x));
  return x;
}

// A place in shared memory as such a number.
__device__ __forceinline__ unsigned address_of(const void* place) {
  return kept((unsigned)__cvta_generic_to_shared(place));
}

// Right-closed cells k/M; 0 and 1 have cells of their own. `edges` are those numbers rounded to the type of p: a
// product may be wrong by one cell near an edge, so the edges decide there.
template <int M>
__device__ __forceinline__ int cell_of(double p, const double* edges) {
  int below = (int)(p * M);
  below -= (below > 0) & (p <= edges[below]);
  return p == 0 ? 0 : p == 1 ? M + 1 : below + 1;
}

// For single precision: the sum is rounded up, to a whole number, so that its last bits are the cell; but for a score
// that is an edge which was rounded up itself.
template <int M>
__device__ __forceinline__ int cell_of(float p, const float* edges) {
  int cell = __float_as_int(__fmaf_ru(p, (float)M, 8388608.f)) & 0x7fffff;
  cell -= cell > 1 && p <= edges[cell - 1];
  return cell + (p == 1.f);
}

// The same, where the edges are in shared memory, each at the cell above it, and -1 at cells 0 and 1.
template <int M>
__device__ __forceinline__ int cell_of(float p, unsigned edges) {
  unsigned cell = __float_as_uint(__fmaf_ru(p, (float)M, 8388608.f)) - 0x4b000000u;  // the bits of 8388608
  float edge;
  asm("ld.shared.f32 %0, [%1];" : "=f"(edge) : "r"(edges + 4 * cell));
  if (p <= edge) cell -= 1;
  if (p == 1.f) cell += 1;
  return cell;
}

template <int M>
__device__ __forceinline__ int cell_of(double p, unsigned edges) {
  int cell = __float_as_int(__fmaf_ru((float)p, (float)M, 8388608.f)) & 0x7fffff;
  cell = max(min(cell, M), 1);
  double edge, next;
  asm("ld.shared.f64 %0, [%1];" : "=d"(edge) : "r"(edges + 8 * cell));
  asm("ld.shared.f64 %0, [%1];" : "=d"(next) : "r"(edges + 8 * cell + 8));
  cell += (p > next) - (p <= edge);
  return p == 0 ? 0 : cell + (p == 1);
}

// Such edges; `into` has room for M + 2.
template <int M>
__device__ __forceinline__ unsigned share_edges(const real* edges, real* into) {
  for (int i = threadIdx.x; i < M + 2; i += THREADS) into[i] = i < 2 ? -1 : edges[i - 1];
  return address_of(into);
}

// Number of ascending bounds below p, for grids of any spacing.
__device__ __forceinline__ int bounds_below(double p, const double* bounds, int n) {
  int first = 0;
  while (n > 0) {
    const int half = n / 2;
    if (bounds[first + half] < p) first += half + 1, n -= half + 1;
    else n = half;
  }
  return first;
}

__device__ __forceinline__ float fast_log(float x) {
  float bits;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(bits) : "f"(x));
  return bits * 0.6931471805599453f;
}

// log(1 - x) for 0 <= x <= 1/2, to 2e-7.
__device__ __forceinline__ float log_of_rest(float x) {
  float series = -x * fmaf(x, fmaf(x, fmaf(x, fmaf(x, 0.2f, 0.25f), 1 / 3.f), 0.5f), 1.f);
  return x < 0.0625f ? series : fast_log(1.f - x);
}

__device__ __forceinline__ double over_warp(double x) {
#pragma unroll
  for (int lanes = 16; lanes; lanes /= 2) x += __shfl_xor_sync(0xffffffffu, x, lanes);
  return x;
}

// Adds the values of all lanes of a warp to one address.
__device__ __forceinline__ void add_over_warp(double* to, double x) {
  x = over_warp(x);
  if ((threadIdx.x & 31) == 0 && x != 0) atomicAdd(to, x);
}

// A few cells of a block: every thread has its own, so that no two ever write to the same place; they are added up after
// `ROWS` rows. In a sum of single precision, many equal scores would all be rounded in the same direction: so the sum of
// scores is a whole number of steps of 2^-40.
#define ROWS 248  // fewer than 2^8, which the counts can hold; a multiple of the rows that are loaded at once

struct Cell {
  unsigned long long counted;  // from the top: 8 bits of all pairs, 8 of the positive ones, 48 of steps
  float p_positive, pp;
};

__device__ __forceinline__ unsigned long long one_pair(double p, bool outcome) {
  // 4096 + p is rounded to steps, whose number is in its last bits; the other bits are those of 4096.
  return __double_as_longlong(p + 4096.0) + (outcome ? (257ull << 48) : (256ull << 48)) - 0x40b0000000000000ull;
}

// `own` is where the thread's first cell is.
__device__ __forceinline__ void count_pair(unsigned own, int cell, double p, bool outcome) {
  unsigned at = own + cell * (unsigned)(THREADS * sizeof(Cell)), low, high;
  float p_positive, pp, x = (float)p;
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(low), "=r"(high), "=f"(p_positive), "=f"(pp) : "r"(at) : "memory");
  unsigned long long counted = ((unsigned long long)high << 32 | low) + one_pair(p, outcome);
  if (outcome) p_positive += x;
  pp = fmaf(x, x, pp);
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};"
               :: "r"(at), "r"((unsigned)counted), "r"((unsigned)(counted >> 32)), "f"(p_positive), "f"(pp) : "memory");
}

// Adds a block's cells to a table of (cell, outcome, 3 moments), and empties them; `whole` are the first lanes' sums
// over all cells: pairs, positive ones, p and p squared.
__device__ __forceinline__ void flush_cells(Cell* cells, double* table, double* whole) {
  __syncthreads();
  for (int cell = threadIdx.x / 32; cell < CELLS + 2; cell += THREADS / 32) {
    double n = 0, positive = 0, p = 0, p_positive = 0, pp = 0;
#pragma unroll
    for (int from = threadIdx.x & 31; from < THREADS; from += 32) {
      Cell* one = cells + cell * THREADS + from;
      n += (double)(one->counted >> 56);
      positive += (double)(one->counted >> 48 & 255);
      p += (double)(one->counted & ((1ull << 48) - 1)) / 1099511627776.0;
      p_positive += one->p_positive;
      pp += one->pp;
      *(uint4*)one = make_uint4(0, 0, 0, 0);
    }
    n = over_warp(n);
    if (n == 0) continue;
    positive = over_warp(positive), p = over_warp(p), p_positive = over_warp(p_positive), pp = over_warp(pp);
    p_positive = positive == n ? p : fmin(p_positive, p), pp = fmin(pp, p);  // parts of it, however rounded
    if ((threadIdx.x & 31) == 0) {
      double* entry = table + cell * 6;
      atomicAdd(entry, n - positive);
      atomicAdd(entry + 1, p - p_positive);
      atomicAdd(entry + 2, pp);  // of both outcomes: they are only read together
      atomicAdd(entry + 3, positive);
      atomicAdd(entry + 4, p_positive);
      whole[0] += n, whole[1] += positive, whole[2] += p, whole[3] += pp;
    }
  }
  __syncthreads();
}

// Adds a pair to a table of many cells, where threads rarely write to the same cell.
__device__ __forceinline__ void add_pair(double* table, long long code, int outcome, double p) {
  double* entry = table + code * 6 + (outcome ? 3 : 0);
  atomicAdd(entry, 1.0);
  atomicAdd(entry + 1, p);
  atomicAdd(entry + 2, p * p);
}

#ifdef WEIGHT
typedef WEIGHT weight_t;
#define WEIGHT_AT(row) (double)weights[row]
#define MOMENTS 7
#define LANES_OF_A_PAIR 8
#else
typedef float weight_t;
#define WEIGHT_AT(row) 1.0
#define MOMENTS 3
#define LANES_OF_A_PAIR 4
#endif

// A moment of a pair, by its number in MOMENT_NAMES or WEIGHTED_MOMENT_NAMES in counting/tally.py.
__device__ __forceinline__ double moment_of(int which, double p, double w) {
#if MOMENTS == 3
  return which == 0 ? 1.0 : which == 1 ? p : p * p;
#else
  double moment = which == 0 ? 1.0 : which == 1 || which == 2 || which == 5 ? w : w * w;
  if (which == 2 || which >= 4) moment *= p;
  return which >= 5 ? moment * p : moment;
#endif
}

// Adds a pair to a table; `at` is 2 * code + outcome.
__device__ __forceinline__ void add_alone(double* table, long long at, double p, double w) {
#pragma unroll
  for (int which = 0; which < MOMENTS; which++) atomicAdd(table + at * MOMENTS + which, moment_of(which, p, w));
}

// Adds a pair of every lane of a warp to a table: `at` is 2 * code + outcome, or -1 without a pair. All lanes must call
// it. Several lanes add the moments of one pair, because a GPU adds numbers that lie together in one step: twice as fast
// without weights, and two and a half times with them.
__device__ __forceinline__ void add_pairs(double* table, long long at, real p, double w) {
  const int part = threadIdx.x % LANES_OF_A_PAIR, who = threadIdx.x % 32 / LANES_OF_A_PAIR;
#pragma unroll
  for (int first = 0; first < 32; first += 32 / LANES_OF_A_PAIR) {
    const long long to = __shfl_sync(~0u, at, first + who);
    const double its_p = __shfl_sync(~0u, p, first + who), its_w = MOMENTS == 3 ? 1 : __shfl_sync(~0u, w, first + who);
    if (part < MOMENTS && to >= 0) atomicAdd(table + to * MOMENTS + part, moment_of(part, its_p, its_w));
  }
}

// What a row of classes adds to the sums from `BRIER` to `SPREAD_VARIANCE`, and to the two noise floors.
#define TERMS 9

// `first` is the largest probability; of the others, apart from it so that nothing cancels where it is nearly sure, these
// are the sums of their powers. `own` is the probability of the label.
template <class T>
struct RowOfClasses {
  bool hit;
  double confidence;
  T first, short_of_one, rest, second, third, fourth, own, log_own, entropy, nll_by_chance;
};

__device__ __forceinline__ float at_least_0(float x) { return fmaxf(x, 0.f); }
__device__ __forceinline__ double at_least_0(double x) { return fmax(x, 0.0); }

template <class T>
__device__ __forceinline__ void terms_of(const RowOfClasses<T>& row, T* terms) {
  const T first = row.first, rest = row.rest, second = row.second, tilt = 1 - 2 * first;
  const T missing = row.hit ? row.short_of_one : 1 - row.own;
  const T others = row.hit ? second : first * first + (second - row.own * row.own);
  terms[0] = missing * missing + others;
  terms[1] = -row.log_own;
  terms[2] = row.hit;
  terms[3] = (T)row.confidence;
  terms[4] = row.entropy;
#if LOGITS
  const T below = first * rest - second, squared_below = first * (first * rest - 2 * second) + row.third;
  terms[5] = 2 * (row.hit ? second - first * rest : first * first + (second - row.own));
  terms[7] = 4 * at_least_0(squared_below - below * below);
#else
  const T squares = first * first + second;
  terms[5] = (1 - first - rest) + 2 * (squares - row.own);
  terms[7] = 4 * at_least_0(first * first * first + row.third - squares * squares);
#endif
  terms[6] = first * row.short_of_one * tilt * tilt + (rest - 5 * second + 8 * row.third - 4 * row.fourth);
  terms[8] = row.nll_by_chance;
}
