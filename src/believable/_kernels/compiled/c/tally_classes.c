/* Rows of a matrix of probabilities or logits for a tally: their sums, and the slot of every row in each table.
 *
 * Rows come in tiles, as float64. Where classes are few a tile is turned on its side, because short rows do not
 * vectorise. The largest entry of a row is set aside: its 1 - p would be lost beside its p. Softmax takes one
 * exponential per entry, and log p = z - log sum exp(z) needs no logarithm. */
#include "exponential.h"
#include "logarithm.h"
#include "tally.h"

#define TILE_ROWS 64
#define TILE 8192      /* about this many entries */
#define FEW_CLASSES 64 /* tiles of no more classes are turned */
#define LANES 8
#define MOST_VIEWS 16
#define TINY 2.2250738585072014e-308 /* 0 log 0 is 0: whatever the logarithm is, as long as it is finite */
#define FARTHEST_NORMAL (-708)       /* exponentials of no lower number are normal */
#define FARTHEST (-746)              /* exponentials of lower numbers are 0 */
#define NEARLY_ONE (1 - 1e-15)       /* logits so near the largest may have the same probability */

enum { CONFIDENCE, TOP_LABEL, BINARY, RTH, WITHIN_TOP_R, TOP_R }; /* as in compiled/tally.py */

/* Which pairs of score and outcome are counted, and where they are written. */
typedef struct {
    int notion;
    Py_ssize_t r;
    Codes codes;
    int32_t *slots; /* by row, or by row and rank: twice stratum and code, plus the outcome */
    double *scores;
} View;

/* Sums over the classes of each row, without the largest entry. For logits they are of e = exp(z - top), and the
 * logarithm is z - top. */
typedef struct {
    double top[TILE_ROWS], arg[TILE_ROWS], low[TILE_ROWS], ties[TILE_ROWS], finite[TILE_ROWS];
    double p[TILE_ROWS], squares[TILE_ROWS], cubes[TILE_ROWS], tilts[TILE_ROWS];
    double p_log[TILE_ROWS], log_squares[TILE_ROWS];
} Rest;

/* What each row adds to the sums. */
typedef struct {
    double counted[TILE_ROWS], w[TILE_ROWS], own[TILE_ROWS], is_top[TILE_ROWS];
    double top[TILE_ROWS], missed[TILE_ROWS], squares[TILE_ROWS], cubes[TILE_ROWS], tilts[TILE_ROWS], p[TILE_ROWS];
    double entropy[TILE_ROWS], log_variance[TILE_ROWS], brier[TILE_ROWS];
    double sum[TILE_ROWS]; /* what entries of the tile are divided by */
    Py_ssize_t label[TILE_ROWS], arg[TILE_ROWS];
} Terms;

typedef struct {
    GivenRows rows;
    Py_ssize_t n_classes, padded, tile_rows; /* padded: classes up to whole lanes */
    double tolerance;
    double *tile, *ranked;
    int32_t *labels; /* by row */
    double *brier, *probabilities;
    View views[MOST_VIEWS];
    Py_ssize_t n_views;
    Rest rest;
    Terms terms;
} Job;

static int is_turned(const Job *job)
{
    return job->n_classes <= FEW_CLASSES;
}

static double *entry(const Job *job, Py_ssize_t row, Py_ssize_t k)
{
    return job->tile + (is_turned(job) ? k * TILE_ROWS + row : row * job->padded + k);
}

static double probability(const Job *job, Py_ssize_t row, Py_ssize_t k)
{
    const double e = *entry(job, row, k);
    return job->rows.from_logits ? e / job->terms.sum[row] : e;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* Reads labels and weights of a tile. Rows that are left out, and those that pad the tile, have weight 0 and label 0.
 * Returns 0 if a label or a weight is invalid. */
static int take_labels(Job *job, Py_ssize_t start, Py_ssize_t n)
{
    Terms *const terms = &job->terms;
    int valid = 1;
    for (Py_ssize_t i = 0; i < TILE_ROWS; i++) {
        const int64_t label = i < n ? label_of(&job->rows.labels, start + i) : 0;
        const double w = i < n ? weight_of(&job->rows, start + i) : 0;
        const int counted = w != 0 && !(job->rows.is_ignoring && label == job->rows.ignored);
        const int fits = label >= 0 && label < (int64_t)job->n_classes && is_weight(w);
        valid &= fits | !counted;
        terms->counted[i] = counted;
        terms->w[i] = counted ? w : 0;
        terms->label[i] = counted && fits ? (Py_ssize_t)label : 0;
        if (i < n)
            job->labels[start + i] = counted ? (int32_t)label : LEFT_OUT;
    }
    return valid;
}

#define FILL(TYPE)                                                                                                     \
    do {                                                                                                               \
        const TYPE *from = (const TYPE *)job->rows.scores.data + start * n_classes;                                    \
        for (Py_ssize_t k = 0; k < n_classes; k++)                                                                     \
            for (Py_ssize_t i = 0; i < n; i++)                                                                         \
                tile[k * TILE_ROWS + i] = (double)from[i * n_classes + k];                                             \
    } while (0)

/* Reads a turned tile; rows that are not counted become 0. */
WIDER static void fill(const Job *job, double *tile, Py_ssize_t start, Py_ssize_t n)
{
    const Py_ssize_t n_classes = job->n_classes;
    if (job->rows.scores.type == 'f')
        FILL(float);
    else
        FILL(double);
    for (Py_ssize_t i = 0; i < TILE_ROWS; i++)
        if (job->terms.counted[i] == 0)
            for (Py_ssize_t k = 0; k < n_classes; k++)
                tile[k * TILE_ROWS + i] = 0;
}

/* --- sums over classes -------------------------------------------------------------------------------------------- */

/* exp(x) for x <= 0; `near` says that no x is so low that the result is not normal. */
INLINE double exponential_below(double x, int near)
{
    return near ? exponential_within(x) : exponential(x);
}

/* Adds an entry to the sums, unless it is the one set aside, which adds 0. */
#define ADD_LOGIT(INTO, I, E, D)                                                                                       \
    do {                                                                                                               \
        const double e_ = (E), square_ = e_ * e_, e_log_ = e_ * (D);                                                   \
        INTO p[I] += e_;                                                                                               \
        INTO squares[I] += square_;                                                                                    \
        INTO cubes[I] += square_ * e_;                                                                                 \
        INTO tilts[I] += square_ * square_;                                                                            \
        INTO p_log[I] += e_log_;                                                                                       \
        INTO log_squares[I] += e_log_ * (D);                                                                           \
    } while (0)

#define ADD_PROBABILITY(INTO, I, P)                                                                                    \
    do {                                                                                                               \
        const double p_ = (P), log_ = logarithm_of_normal(p_ > TINY ? p_ : TINY, 0, 0), p_log_ = p_ * log_;            \
        const double not_p_ = 1 - p_, tilt_ = not_p_ - p_, square_ = p_ * p_;                                          \
        INTO p[I] += p_;                                                                                               \
        INTO squares[I] += square_;                                                                                    \
        INTO cubes[I] += square_ * p_;                                                                                 \
        INTO tilts[I] += not_p_ * p_ * (tilt_ * tilt_);                                                                \
        INTO p_log[I] += p_log_;                                                                                       \
        INTO log_squares[I] += p_log_ * log_;                                                                          \
    } while (0)

typedef struct {
    double p[LANES], squares[LANES], cubes[LANES], tilts[LANES], p_log[LANES], log_squares[LANES], ties[LANES];
} Lanes;

/* The largest entry of each row of a turned tile, the first class that has it, and the least entry. */
WIDER static void find_turned(const double *tile, Py_ssize_t n_classes, Rest *rest)
{
    memcpy(rest->top, tile, sizeof rest->top);
    memcpy(rest->low, tile, sizeof rest->low);
    memset(rest->arg, 0, sizeof rest->arg);
    memset(rest->finite, 0, sizeof rest->finite);
    for (Py_ssize_t k = 0; k < n_classes; k++) {
        const double *x = tile + k * TILE_ROWS, number = (double)k;
        for (Py_ssize_t i = 0; i < TILE_ROWS; i++) {
            rest->arg[i] = x[i] > rest->top[i] ? number : rest->arg[i];
            rest->top[i] = x[i] > rest->top[i] ? x[i] : rest->top[i];
            rest->low[i] = x[i] < rest->low[i] ? x[i] : rest->low[i];
            rest->finite[i] += x[i] * 0;
        }
    }
}

/* Sums over the classes of a turned tile are of LANES rows at a time, so that they stay in registers. */
INLINE void keep_turned(const Lanes *lanes, Rest *rest, Py_ssize_t start)
{
    memcpy(rest->p + start, lanes->p, sizeof lanes->p);
    memcpy(rest->squares + start, lanes->squares, sizeof lanes->squares);
    memcpy(rest->cubes + start, lanes->cubes, sizeof lanes->cubes);
    memcpy(rest->tilts + start, lanes->tilts, sizeof lanes->tilts);
    memcpy(rest->p_log + start, lanes->p_log, sizeof lanes->p_log);
    memcpy(rest->log_squares + start, lanes->log_squares, sizeof lanes->log_squares);
    memcpy(rest->ties + start, lanes->ties, sizeof lanes->ties);
}

INLINE void add_turned_logits(double *tile, Py_ssize_t n_classes, Rest *rest, int near)
{
    for (Py_ssize_t start = 0; start < TILE_ROWS; start += LANES) {
        Lanes lanes = {0};
        double top[LANES], arg[LANES];
        memcpy(top, rest->top + start, sizeof top);
        memcpy(arg, rest->arg + start, sizeof arg);
        for (Py_ssize_t k = 0; k < n_classes; k++) {
            double *const x = tile + k * TILE_ROWS + start, number = (double)k;
            for (int j = 0; j < LANES; j++) {
                const double behind = x[j] - top[j], d = behind > FARTHEST ? behind : FARTHEST;
                const double e = exponential_below(d, near);
                x[j] = e;
                lanes.ties[j] += e > NEARLY_ONE ? 1 : 0;
                ADD_LOGIT(lanes., j, number == arg[j] ? 0 : e, d);
            }
        }
        keep_turned(&lanes, rest, start);
    }
}

FUSED WIDER static void sum_turned_logits(double *tile, Py_ssize_t n_classes, Rest *rest)
{
    double farthest = 0;
    for (Py_ssize_t i = 0; i < TILE_ROWS; i++)
        farthest = rest->low[i] - rest->top[i] < farthest ? rest->low[i] - rest->top[i] : farthest;
    if (farthest >= FARTHEST_NORMAL)
        add_turned_logits(tile, n_classes, rest, 1);
    else
        add_turned_logits(tile, n_classes, rest, 0);
}

FUSED WIDER static void add_turned_probabilities(const double *tile, Py_ssize_t n_classes, Rest *rest)
{
    for (Py_ssize_t start = 0; start < TILE_ROWS; start += LANES) {
        Lanes lanes = {0};
        for (Py_ssize_t k = 0; k < n_classes; k++)
            for (int j = 0; j < LANES; j++)
                ADD_PROBABILITY(lanes., j, tile[k * TILE_ROWS + start + j]);
        keep_turned(&lanes, rest, start);
    }
}

/* The largest entries are 0 meanwhile. */
static void sum_turned(double *tile, Py_ssize_t n_classes, Rest *rest)
{
    for (Py_ssize_t i = 0; i < TILE_ROWS; i++)
        tile[(Py_ssize_t)rest->arg[i] * TILE_ROWS + i] = 0;
    add_turned_probabilities(tile, n_classes, rest);
    for (Py_ssize_t i = 0; i < TILE_ROWS; i++)
        tile[(Py_ssize_t)rest->arg[i] * TILE_ROWS + i] = rest->top[i];
}

static double total(const double *lanes)
{
    return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

/* The first of n entries that is at least as large as another number; n if there is none. */
#define FIRST_AT_LEAST(NAME, TYPE)                                                                                     \
    WIDER static Py_ssize_t NAME(const TYPE *x, Py_ssize_t n, TYPE least)                                              \
    {                                                                                                                  \
        enum { SEVERAL = 64 };                                                                                         \
        Py_ssize_t k = 0;                                                                                              \
        for (; k + SEVERAL <= n; k += SEVERAL) {                                                                       \
            int found = 0;                                                                                             \
            for (int j = 0; j < SEVERAL; j++)                                                                          \
                found |= x[k + j] >= least;                                                                            \
            if (found)                                                                                                 \
                break;                                                                                                 \
        }                                                                                                              \
        while (k < n && !(x[k] >= least))                                                                              \
            k++;                                                                                                       \
        return k;                                                                                                      \
    }

FIRST_AT_LEAST(first_float_at_least, float)
FIRST_AT_LEAST(first_double_at_least, double)

/* The same as find_turned for one row, as it was given. */
#define FIND(NAME, TYPE, FIRST)                                                                                        \
    WIDER static void NAME##_extremes(const TYPE *x, Py_ssize_t n, TYPE *top, TYPE *low, TYPE *finite)                 \
    {                                                                                                                  \
        enum { SEVERAL = 32 };                                                                                         \
        TYPE high_[SEVERAL], low_[SEVERAL], finite_[SEVERAL];                                                          \
        Py_ssize_t k = 0;                                                                                              \
        for (int j = 0; j < SEVERAL; j++)                                                                              \
            high_[j] = low_[j] = x[0], finite_[j] = 0;                                                                 \
        for (; k + SEVERAL <= n; k += SEVERAL)                                                                         \
            for (int j = 0; j < SEVERAL; j++) {                                                                        \
                const TYPE value = x[k + j];                                                                           \
                high_[j] = value > high_[j] ? value : high_[j];                                                        \
                low_[j] = value < low_[j] ? value : low_[j];                                                           \
                finite_[j] += value * 0;                                                                               \
            }                                                                                                          \
        for (; k < n; k++) {                                                                                           \
            high_[0] = x[k] > high_[0] ? x[k] : high_[0];                                                              \
            low_[0] = x[k] < low_[0] ? x[k] : low_[0];                                                                 \
            finite_[0] += x[k] * 0;                                                                                    \
        }                                                                                                              \
        for (int j = 1; j < SEVERAL; j++) {                                                                            \
            high_[0] = high_[j] > high_[0] ? high_[j] : high_[0];                                                      \
            low_[0] = low_[j] < low_[0] ? low_[j] : low_[0];                                                           \
            finite_[0] += finite_[j];                                                                                  \
        }                                                                                                              \
        *top = high_[0], *low = low_[0], *finite = finite_[0];                                                         \
    }                                                                                                                  \
    static void NAME(const TYPE *x, Py_ssize_t n, Rest *rest, Py_ssize_t at)                                           \
    {                                                                                                                  \
        TYPE top, low, finite;                                                                                         \
        NAME##_extremes(x, n, &top, &low, &finite);                                                                    \
        rest->top[at] = (double)top, rest->low[at] = (double)low, rest->finite[at] = (double)finite;                   \
        const Py_ssize_t first = FIRST(x, n, top); /* n if the row begins with NaN, which is no entry */               \
        rest->arg[at] = first < n ? (double)first : 0;                                                                 \
    }

FIND(find_floats, float, first_float_at_least)
FIND(find_doubles, double, first_double_at_least)

/* Copies a row and its padding, -infinity for logits and 0 for probabilities. */
#define COPY(NAME, TYPE)                                                                                               \
    WIDER static void NAME(const TYPE *from, Py_ssize_t n, Py_ssize_t padded, double padding, double *to)              \
    {                                                                                                                  \
        for (Py_ssize_t k = 0; k < n; k++)                                                                             \
            to[k] = (double)from[k];                                                                                   \
        for (Py_ssize_t k = n; k < padded; k++)                                                                        \
            to[k] = padding;                                                                                           \
    }

COPY(copy_floats, float)
COPY(copy_doubles, double)

static void keep_lanes(const Lanes *lanes, Rest *rest, Py_ssize_t at)
{
    rest->p[at] = total(lanes->p), rest->squares[at] = total(lanes->squares), rest->cubes[at] = total(lanes->cubes);
    rest->tilts[at] = total(lanes->tilts), rest->p_log[at] = total(lanes->p_log);
    rest->log_squares[at] = total(lanes->log_squares), rest->ties[at] = total(lanes->ties);
}

/* Adds some entries of a row; only the lanes with the largest entry are `apart`, so that the others cost less. */
INLINE void add_logits(double *row, Py_ssize_t from, Py_ssize_t to, double top, Py_ssize_t arg, Lanes *sums, int near,
                       int apart)
{
    Lanes lanes = *sums;
    for (Py_ssize_t k = from; k < to; k += LANES)
        for (int j = 0; j < LANES; j++) {
            const double behind = row[k + j] - top, d = behind > FARTHEST ? behind : FARTHEST;
            const double e = exponential_below(d, near);
            row[k + j] = e;
            ADD_LOGIT(lanes., j, apart && k + j == arg ? 0 : e, d);
        }
    *sums = lanes;
}

INLINE void add_row_of_logits(double *row, Py_ssize_t padded, double top, Py_ssize_t arg, Lanes *sums, int near)
{
    const Py_ssize_t before = arg / LANES * LANES, after = before + LANES;
    add_logits(row, 0, before, top, arg, sums, near, 0);
    add_logits(row, before, after, top, arg, sums, near, 1);
    add_logits(row, after, padded, top, arg, sums, near, 0);
}

FUSED WIDER static void sum_logits(double *row, Py_ssize_t padded, double top, Py_ssize_t arg, Lanes *sums, int near)
{
    if (near)
        add_row_of_logits(row, padded, top, arg, sums, 1);
    else
        add_row_of_logits(row, padded, top, arg, sums, 0);
}

/* The same as sum_turned_logits for one row. */
static void sum_row_of_logits(double *row, Py_ssize_t n, Py_ssize_t padded, Rest *rest, Py_ssize_t at)
{
    Lanes sums = {0};
    const double top = rest->top[at];
    const Py_ssize_t arg = (Py_ssize_t)rest->arg[at];
    sum_logits(row, padded, top, arg, &sums, rest->low[at] - top >= FARTHEST_NORMAL && n == padded);
    keep_lanes(&sums, rest, at);
    if (rest->p[at] >= NEARLY_ONE && first_double_at_least(row, arg, NEARLY_ONE) < arg)
        rest->ties[at] = 2;
}

FUSED WIDER static void add_row_of_probabilities(const double *row, Py_ssize_t padded, Lanes *sums)
{
    Lanes lanes = {0};
    for (Py_ssize_t k = 0; k < padded; k += LANES)
        for (int j = 0; j < LANES; j++)
            ADD_PROBABILITY(lanes., j, row[k + j]);
    *sums = lanes;
}

/* The same as sum_turned for one row. */
static void sum_row(double *row, Py_ssize_t padded, Rest *rest, Py_ssize_t at)
{
    Lanes sums;
    double *const top = row + (Py_ssize_t)rest->arg[at];
    *top = 0;
    add_row_of_probabilities(row, padded, &sums);
    *top = rest->top[at];
    keep_lanes(&sums, rest, at);
}

static void read_row(Job *job, Py_ssize_t row, Py_ssize_t at)
{
    const Py_ssize_t n = job->n_classes, from = row * n;
    double *const to = job->tile + at * job->padded;
    const double padding = job->rows.from_logits ? -(double)INFINITY : 0;
    if (job->rows.scores.type == 'f') {
        find_floats((const float *)job->rows.scores.data + from, n, &job->rest, at);
        copy_floats((const float *)job->rows.scores.data + from, n, job->padded, padding, to);
    } else {
        find_doubles((const double *)job->rows.scores.data + from, n, &job->rest, at);
        copy_doubles((const double *)job->rows.scores.data + from, n, job->padded, padding, to);
    }
    if (job->rows.from_logits)
        sum_row_of_logits(to, n, job->padded, &job->rest, at);
    else
        sum_row(to, job->padded, &job->rest, at);
}

static void read_tile(Job *job, Py_ssize_t start, Py_ssize_t n)
{
    if (!is_turned(job)) {
        for (Py_ssize_t i = 0; i < n; i++)
            if (job->terms.counted[i] != 0)
                read_row(job, start + i, i);
        return;
    }
    fill(job, job->tile, start, n);
    find_turned(job->tile, job->n_classes, &job->rest);
    if (job->rows.from_logits)
        sum_turned_logits(job->tile, job->n_classes, &job->rest);
    else
        sum_turned(job->tile, job->n_classes, &job->rest);
}

/* --- what a row adds ---------------------------------------------------------------------------------------------- */

FUSED WIDER static void finish_logits(const Rest *rest, Terms *terms)
{
    for (Py_ssize_t i = 0; i < TILE_ROWS; i++) {
        const double others = rest->p[i], sum = 1 + others, lost = others - (sum - 1), per_sum = 1 / sum;
        const double p = others * per_sum, squares = rest->squares[i] * per_sum * per_sum;
        const double cubes = rest->cubes[i] * per_sum * per_sum * per_sum;
        const double fourth = rest->tilts[i] * (per_sum * per_sum) * (per_sum * per_sum);
        const double mean = rest->p_log[i] * per_sum, variance = rest->log_squares[i] * per_sum - mean * mean;
        terms->sum[i] = sum;
        terms->top[i] = per_sum;
        terms->missed[i] = p;
        terms->p[i] = p;
        terms->squares[i] = squares;
        terms->cubes[i] = cubes;
        terms->tilts[i] = p - 5 * squares + 8 * cubes - 4 * fourth; /* p (1 - p) (1 - 2p)^2 */
        terms->entropy[i] = logarithm_of_normal(sum, lost * per_sum, 0) - mean;
        terms->log_variance[i] = variance > 0 ? variance : 0;
    }
}

FUSED WIDER static void finish_probabilities(const Rest *rest, Terms *terms)
{
    for (Py_ssize_t i = 0; i < TILE_ROWS; i++) {
        const double top = rest->top[i], log_top = logarithm_of_normal(top > TINY ? top : TINY, 0, 0);
        const double entropy = -(rest->p_log[i] + top * log_top);
        const double variance = rest->log_squares[i] + top * log_top * log_top - entropy * entropy;
        terms->sum[i] = 1;
        terms->top[i] = top;
        terms->missed[i] = 1 - top;
        terms->p[i] = rest->p[i];
        terms->squares[i] = rest->squares[i];
        terms->cubes[i] = rest->cubes[i];
        terms->tilts[i] = rest->tilts[i];
        terms->entropy[i] = entropy;
        terms->log_variance[i] = variance > 0 ? variance : 0;
    }
}

/* The first class with the largest probability, where logits that differ may have become equal. */
static Py_ssize_t first_of_ties(const Job *job, Py_ssize_t row, Py_ssize_t arg)
{
    for (Py_ssize_t k = 0; k < arg; k++)
        if (*entry(job, row, k) > NEARLY_ONE && probability(job, row, k) == job->terms.top[row])
            return k;
    return arg;
}

/* Whether the entries of a row are valid. */
static int is_valid(const Job *job, Py_ssize_t i)
{
    const Rest *const rest = &job->rest;
    if (job->rows.from_logits)
        return rest->finite[i] == 0;
    const double sum = rest->p[i] + rest->top[i];
    return rest->low[i] >= 0 && rest->top[i] <= 1 && fabs(sum - 1) <= job->tolerance;
}

/* Computes the terms of the rows of a tile; 0 if a row is invalid. */
static int take_terms(Job *job, Py_ssize_t n)
{
    Terms *const terms = &job->terms;
    if (job->rows.from_logits)
        finish_logits(&job->rest, terms);
    else
        finish_probabilities(&job->rest, terms);
    int valid = 1;
    for (Py_ssize_t i = 0; i < TILE_ROWS; i++) {
        if (i >= n || terms->counted[i] == 0) { /* certain and correct: adds 0 to everything */
            terms->own[i] = terms->is_top[i] = terms->top[i] = terms->sum[i] = 1, terms->missed[i] = 0;
            terms->p[i] = terms->squares[i] = terms->cubes[i] = terms->tilts[i] = 0;
            terms->entropy[i] = terms->log_variance[i] = 0, terms->arg[i] = 0;
            continue;
        }
        valid &= is_valid(job, i);
        terms->arg[i] = (Py_ssize_t)job->rest.arg[i];
        if (job->rest.ties[i] > 1)
            terms->arg[i] = first_of_ties(job, i, terms->arg[i]);
        terms->own[i] = probability(job, i, terms->label[i]);
        terms->is_top[i] = terms->arg[i] == terms->label[i];
    }
    return valid;
}

/* Adds the rows of a tile to the sums. */
FUSED WIDER static void sum_rows(Terms *terms, double *sums)
{
    double lane[N_TALLY_SUMS][LANES] = {{0}};
    for (Py_ssize_t start = 0; start < TILE_ROWS; start += LANES)
        for (int j = 0; j < LANES; j++) {
            const Py_ssize_t i = start + j;
            const double w = terms->w[i], w2 = w * w, own = terms->own[i], top = terms->top[i], hit = terms->is_top[i];
            const double missed = terms->missed[i], not_own = 1 - own, log_own = logarithm(own);
            const double squares = terms->squares[i] + top * top, cubes = terms->cubes[i] + top * top * top;
            /* Where the label is the largest entry, what is left without it is exact. */
            const double brier = hit != 0 ? terms->squares[i] + missed * missed
                                          : squares - own * own + not_own * not_own;
            const double beside = hit != 0 ? terms->squares[i] - top * missed : squares - own;
            const double total_p = terms->p[i] - missed, tilt = missed - top, entropy = terms->entropy[i];
            const double by_brier = 4 * (cubes - squares * squares), finite = own > 0 ? -log_own : 0;
            terms->brier[i] = brier;
            lane[SUM_N][j] += terms->counted[i];
            lane[SUM_W][j] += w;
            lane[SUM_W2][j] += w2;
            lane[SUM_TERMS + ROW_BRIER][j] += w * brier;
            lane[SUM_TERMS + ROW_NLL][j] -= w * log_own;
            lane[SUM_TERMS + ROW_CORRECT][j] += w * hit;
            lane[SUM_TERMS + ROW_CONFIDENCE][j] += w * top;
            lane[SUM_TERMS + ROW_ENTROPY][j] += w * entropy;
            lane[SUM_SPREAD][j] += w * (2 * beside - total_p);
            lane[SUM_SPREAD_VARIANCE][j] += w2 * (terms->tilts[i] + missed * top * (tilt * tilt));
            lane[SUM_W2_SQUARED][j] += w2 * brier;
            lane[SUM_W2X + ROW_BRIER][j] += w2 * brier;
            lane[SUM_W2X + ROW_NLL][j] += w2 * finite;
            lane[SUM_W2X + ROW_CORRECT][j] += w2 * hit;
            lane[SUM_W2X + ROW_CONFIDENCE][j] += w2 * top;
            lane[SUM_W2X + ROW_ENTROPY][j] += w2 * entropy;
            lane[SUM_W2XX + ROW_BRIER][j] += w2 * (brier * brier);
            lane[SUM_W2XX + ROW_NLL][j] += w2 * (finite * finite);
            lane[SUM_W2XX + ROW_CORRECT][j] += w2 * hit;
            lane[SUM_W2XX + ROW_CONFIDENCE][j] += w2 * (top * top);
            lane[SUM_W2XX + ROW_ENTROPY][j] += w2 * (entropy * entropy);
            lane[SUM_BY_CHANCE][j] += w2 * (by_brier > 0 ? by_brier : 0);
            lane[SUM_BY_CHANCE + 1][j] += w2 * terms->log_variance[i];
        }
    for (int k = 0; k < N_TALLY_SUMS; k++)
        sums[k] += total(lane[k]);
}

/* --- sums by class ------------------------------------------------------------------------------------------------ */

FUSED WIDER static void add_turned_classes(const double *tile, Py_ssize_t n_classes, const Terms *terms, double *wp,
                                     double *wpp)
{
    double once[TILE_ROWS], twice[TILE_ROWS];
    for (Py_ssize_t i = 0; i < TILE_ROWS; i++) {
        const double per_sum = 1 / terms->sum[i];
        once[i] = terms->w[i] * per_sum;
        twice[i] = once[i] * per_sum;
    }
    for (Py_ssize_t k = 0; k < n_classes; k++) {
        const double *const e = tile + k * TILE_ROWS;
        double lanes[LANES] = {0}, squares[LANES] = {0};
        for (Py_ssize_t start = 0; start < TILE_ROWS; start += LANES)
            for (int j = 0; j < LANES; j++) {
                const double x = e[start + j];
                lanes[j] += once[start + j] * x;
                squares[j] += twice[start + j] * (x * x);
            }
        wp[k] += total(lanes);
        wpp[k] += total(squares);
    }
}

#define TOGETHER_ROWS 4

/* Adds four rows at once, so that the sums are read and written less often. */
FUSED WIDER static void add_four_rows(const double *const *e, const double *once, const double *twice, Py_ssize_t n,
                                double *restrict wp, double *restrict wpp)
{
    const double *const a = e[0], *const b = e[1], *const c = e[2], *const d = e[3];
    for (Py_ssize_t k = 0; k < n; k++) {
        wp[k] += (once[0] * a[k] + once[1] * b[k]) + (once[2] * c[k] + once[3] * d[k]);
        wpp[k] += (twice[0] * (a[k] * a[k]) + twice[1] * (b[k] * b[k])) +
                  (twice[2] * (c[k] * c[k]) + twice[3] * (d[k] * d[k]));
    }
}

FUSED WIDER static void add_one_row(const double *e, double once, double twice, Py_ssize_t n, double *restrict wp,
                              double *restrict wpp)
{
    for (Py_ssize_t k = 0; k < n; k++) {
        wp[k] += once * e[k];
        wpp[k] += twice * (e[k] * e[k]);
    }
}

static void add_classes(const Job *job, Py_ssize_t n, double *wp, double *wpp)
{
    const Terms *const terms = &job->terms;
    const double *e[TILE_ROWS];
    double once[TILE_ROWS], twice[TILE_ROWS];
    Py_ssize_t n_counted = 0, i = 0;
    if (is_turned(job)) {
        add_turned_classes(job->tile, job->n_classes, terms, wp, wpp);
        return;
    }
    for (Py_ssize_t row = 0; row < n; row++)
        if (terms->counted[row] != 0) {
            e[n_counted] = job->tile + row * job->padded;
            once[n_counted] = terms->w[row] / terms->sum[row];
            twice[n_counted] = once[n_counted] / terms->sum[row];
            n_counted++;
        }
    for (; i + TOGETHER_ROWS <= n_counted; i += TOGETHER_ROWS)
        add_four_rows(e + i, once + i, twice + i, job->n_classes, wp, wpp);
    for (; i < n_counted; i++)
        add_one_row(e[i], once[i], twice[i], job->n_classes, wp, wpp);
}

/* --- slots -------------------------------------------------------------------------------------------------------- */

static int32_t slot_of(const View *view, Py_ssize_t stratum, double p, int outcome)
{
    return (int32_t)(2 * (stratum * (view->codes.n_bounds + 1) + code_of(p, &view->codes)) + outcome);
}

/* Writes the r largest probabilities of a row to `ranked`, and returns the rank of the label, r if it is lower; of equal
 * ones the lowest class is first. */
static Py_ssize_t rank(const Job *job, Py_ssize_t row, Py_ssize_t r, double *ranked)
{
    const Py_ssize_t label = job->terms.label[row];
    Py_ssize_t n_ranked = 0, label_at = r;
    for (Py_ssize_t k = 0; k < job->n_classes; k++) {
        const double p = probability(job, row, k);
        if (n_ranked == r && !(p > ranked[r - 1]))
            continue;
        Py_ssize_t at = n_ranked < r ? n_ranked++ : r - 1;
        for (; at > 0 && ranked[at - 1] < p; at--)
            ranked[at] = ranked[at - 1];
        ranked[at] = p;
        if (k == label)
            label_at = at;
        else if (label_at < r && at <= label_at)
            label_at++;
    }
    return label_at;
}

/* The sum of the r largest, in the type of the scores. */
static double together(const Job *job, Py_ssize_t r)
{
    double sum = 0;
    for (Py_ssize_t k = 0; k < r; k++)
        sum += job->ranked[k];
    sum = sum < 1 ? sum : 1;
    return job->rows.from_logits || job->rows.scores.type == 'd' ? sum : (double)(float)sum;
}

static void write_ranked(Job *job, const View *view, Py_ssize_t i, Py_ssize_t at)
{
    const Py_ssize_t r = view->r, of_label = rank(job, i, r, job->ranked);
    if (view->notion == RTH) {
        view->scores[at] = job->ranked[r - 1];
        view->slots[at] = slot_of(view, 0, view->scores[at], of_label == r - 1);
    } else if (view->notion == WITHIN_TOP_R) {
        view->scores[at] = together(job, r);
        view->slots[at] = slot_of(view, 0, view->scores[at], of_label < r);
    } else {
        for (Py_ssize_t k = 0; k < r; k++) {
            view->scores[at * r + k] = job->ranked[k];
            view->slots[at * r + k] = slot_of(view, k, job->ranked[k], of_label == k);
        }
    }
}

/* Writes the slot and score of a row of the tile for a view. */
static void write_slot(Job *job, const View *view, Py_ssize_t i, Py_ssize_t at)
{
    const Terms *const terms = &job->terms;
    if (terms->counted[i] == 0) {
        const Py_ssize_t each = view->notion == TOP_R ? view->r : 1;
        for (Py_ssize_t k = 0; k < each; k++)
            view->scores[at * each + k] = 0, view->slots[at * each + k] = LEFT_OUT;
    } else if (view->notion == CONFIDENCE || view->notion == TOP_LABEL) {
        view->scores[at] = terms->top[i];
        view->slots[at] =
            slot_of(view, view->notion == TOP_LABEL ? terms->arg[i] : 0, terms->top[i], terms->is_top[i] != 0);
    } else if (view->notion == BINARY) {
        view->scores[at] = probability(job, i, 1);
        view->slots[at] = slot_of(view, 0, view->scores[at], terms->label[i] == 1);
    } else {
        write_ranked(job, view, i, at);
    }
}

/* --- a range of rows ---------------------------------------------------------------------------------------------- */

/* Adds the sums of the rows from start to stop; 0 if a row is invalid. */
static int run(Job *job, Py_ssize_t start, Py_ssize_t stop, double *sums)
{
    const Py_ssize_t n_classes = job->n_classes;
    double *const wp = sums + N_TALLY_SUMS, *const wpp = wp + n_classes;
    for (Py_ssize_t at = start; at < stop; at += job->tile_rows) {
        const Py_ssize_t n = stop - at < job->tile_rows ? stop - at : job->tile_rows;
        if (!take_labels(job, at, n))
            return 0;
        read_tile(job, at, n);
        if (!take_terms(job, n))
            return 0;
        sum_rows(&job->terms, sums);
        memcpy(job->brier + at, job->terms.brier, (size_t)n * sizeof(double));
        add_classes(job, n, wp, wpp);
        for (Py_ssize_t v = 0; v < job->n_views; v++)
            for (Py_ssize_t i = 0; i < n; i++)
                write_slot(job, &job->views[v], i, at + i);
        if (job->probabilities != NULL)
            for (Py_ssize_t i = 0; i < n; i++)
                for (Py_ssize_t k = 0; k < n_classes; k++)
                    job->probabilities[(at + i) * n_classes + k] = probability(job, i, k);
    }
    return 1;
}

/* A view from its arguments: slots, scores, bounds, first, notion, r. 0 if they do not fit n rows of n_classes. */
static int take_view(PyObject *const *args, Array *arrays, Py_ssize_t n, Py_ssize_t n_classes, View *view)
{
    Py_ssize_t numbers[2];
    if (!take_numbers(args, 6, 4, 2, numbers))
        return 0;
    const Codes codes = take_codes(&arrays[2], &arrays[3]);
    *view = (View){(int)numbers[0], numbers[1], codes, arrays[0].data, arrays[1].data};
    const Py_ssize_t each = view->notion == TOP_R ? view->r : 1, size = n * each;
    const Py_ssize_t n_strata = view->notion == TOP_LABEL ? n_classes : each;
    return view->notion >= CONFIDENCE && view->notion <= TOP_R && view->r >= 1 && view->r <= n_classes &&
           codes.n_bounds > 0 && n_strata <= INT32_MAX / 2 / (codes.n_bounds + 1) && arrays[0].size == size &&
           arrays[1].size == size;
}

/* Allocates what a pass works with; 0 if there is no memory. */
static int prepare(Job *job)
{
    Py_ssize_t most = 1;
    for (Py_ssize_t v = 0; v < job->n_views; v++)
        most = job->views[v].r > most ? job->views[v].r : most;
    job->padded = (job->n_classes + LANES - 1) / LANES * LANES;
    job->tile_rows = is_turned(job) || TILE / job->padded > TILE_ROWS ? TILE_ROWS : TILE / job->padded;
    job->tile_rows = job->tile_rows < 1 ? 1 : job->tile_rows;
    const Py_ssize_t entries = is_turned(job) ? job->n_classes * TILE_ROWS : job->tile_rows * job->padded;
    job->tile = calloc((size_t)(entries + most), sizeof(double));
    job->ranked = job->tile == NULL ? NULL : job->tile + entries;
    return job->tile != NULL;
}

/* tally_classes(scores, labels, weights, sums, labels_out, brier, probabilities, tolerance, from_logits, is_ignoring,
 * ignored, each, first, last, slots, scores, bounds, first, notion, r, slots, ...): adds the sums of the parts from
 * first to last, of `each` rows, to `sums` (parts, N_TALLY_SUMS + 2 classes), which end with wp and wpp, and writes what
 * the rows add to tables. Returns whether every row is valid; if not, the results are meaningless. */
static PyObject *tally_classes(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    static const char *const TAKES[] = {"fd", "bBhHiIq", "?d", ">d", ">i", ">d", "?>d", NULL};
    static const char *const OF_VIEW[] = {">i", ">d", "d", "?i", NULL};
    enum { N_ARRAYS = 7, N_FIXED = 14, PER_VIEW = 6, ARRAYS_PER_VIEW = 4 };
    Array a[N_ARRAYS], of_views[ARRAYS_PER_VIEW * MOST_VIEWS];
    Py_ssize_t numbers[6], taken = 0;
    (void)self;
    const Py_ssize_t n_views = (n_args - N_FIXED) / PER_VIEW;
    if (n_args < N_FIXED || n_args != N_FIXED + PER_VIEW * n_views || n_views > MOST_VIEWS) {
        PyErr_SetString(PyExc_TypeError, "tally_classes: too few or too many arguments");
        return NULL;
    }
    if (!take_arrays(args, n_args, TAKES, a))
        return NULL;
    const double tolerance = PyFloat_AsDouble(args[N_ARRAYS]);
    const int given = take_numbers(args, N_FIXED, N_ARRAYS + 1, 6, numbers);
    const Py_ssize_t n = a[1].size, each = numbers[3], first = numbers[4], last = numbers[5];
    const Py_ssize_t n_classes = n > 0 ? a[0].size / n : 0, n_parts = n > 0 && each > 0 ? (n - 1) / each + 1 : 0;
    int fits = given && n_classes >= 2 && n_classes <= INT32_MAX && a[0].size == n * n_classes &&
               (a[2].data == NULL || a[2].size == n) && a[3].size == n_parts * (N_TALLY_SUMS + 2 * n_classes) &&
               a[4].size == n && a[5].size == n && (a[6].data == NULL || a[6].size == a[0].size) &&
               is_within(numbers + 4, n_parts);
    Job *const job = calloc(1, sizeof *job);
    if (job == NULL)
        PyErr_NoMemory();
    for (Py_ssize_t v = 0; v < n_views && fits && !PyErr_Occurred(); v++) {
        PyObject *const *const own = args + N_FIXED + PER_VIEW * v;
        if (!take_arrays(own, ARRAYS_PER_VIEW, OF_VIEW, of_views + taken))
            break;
        taken += ARRAYS_PER_VIEW;
        fits &= take_view(own, of_views + taken - ARRAYS_PER_VIEW, n, n_classes, &job->views[v]);
    }
    PyObject *result = NULL;
    if (PyErr_Occurred() || !fits) {
        unfit("tally_classes");
    } else {
        job->rows = given_rows(a, numbers), job->n_classes = n_classes, job->tolerance = tolerance;
        job->labels = a[4].data, job->brier = a[5].data, job->probabilities = a[6].data, job->n_views = n_views;
        if (!prepare(job)) {
            PyErr_NoMemory();
        } else {
            int valid = 1;
            Py_BEGIN_ALLOW_THREADS;
            for (Py_ssize_t part = first; part < last && valid; part++)
                valid = run(job, part * each, n - part * each < each ? n : (part + 1) * each,
                            (double *)a[3].data + part * (N_TALLY_SUMS + 2 * n_classes));
            Py_END_ALLOW_THREADS;
            result = PyBool_FromLong(valid);
            free(job->tile);
        }
    }
    free(job);
    drop_arrays(of_views, taken);
    drop_arrays(a, N_ARRAYS);
    return result;
}

PyMethodDef tally_classes_methods[] = {
    METHOD(tally_classes),
    NO_MORE_METHODS,
};
