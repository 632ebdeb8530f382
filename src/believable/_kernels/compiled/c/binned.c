/* Moments of scores by bin and outcome, in one read that checks what it reads.
 *
 * Rows are taken in pieces that stay in the nearest cache: first the code of each, 2 * bin + label, several at once;
 * then the additions, one row after the other. */
#include "bins.h"
#include "moments.h"

#define PIECE 1024   /* rows */
#define BLOCK 16384  /* rows summed separately, unless tables are long, because short chains round less */
#define LANES 4      /* tables among which rows alternate, so that additions do not wait for each other */
#define FEW 1024     /* tables of no more entries are repeated LANES times */

typedef struct {
    const char *scores, *labels; /* bytes, so that rows can be addressed whatever the type */
    size_t score_size, label_size;
    const double *weights;
    Bins bins;
    int weighted, squares, lanes;
    Py_ssize_t entries; /* entries of a table: codes x moments */
    double *tables;
} Job;

/* --- codes --- */

/* Computes the code of each row. If a score is outside [0, 1], or a label is not 0 or 1, its code is arbitrary and the
 * result is not 0. A negative label becomes a large one when it is read as unsigned. */
#define CODES(NAME, SCORE, LABEL, BIN)                                                                                 \
    INLINE int NAME##_as(const SCORE *restrict scores, const LABEL *restrict labels, int n, Bins bins,                 \
                         int32_t *restrict code, int kind, int apart)                                                  \
    {                                                                                                                  \
        int outside = 0;                                                                                               \
        LABEL high = 0;                                                                                                \
        for (int i = 0; i < n; i++) {                                                                                  \
            const SCORE capped = scores[i] < 1 ? scores[i] : 1;                                                        \
            const SCORE p = capped > 0 ? capped : 0;                                                                   \
            outside |= p != scores[i];                                                                                 \
            high |= labels[i];                                                                                         \
            code[i] = 2 * BIN(p, &bins, kind, apart) + (int32_t)(labels[i] & 1);                                       \
        }                                                                                                              \
        return outside | (high > 1);                                                                                   \
    }                                                                                                                  \
    WIDER static int NAME##_uniform(const SCORE *scores, const LABEL *labels, int n, Bins bins, int32_t *code)         \
    {                                                                                                                  \
        return NAME##_as(scores, labels, n, bins, code, UNIFORM, 0);                                                   \
    }                                                                                                                  \
    WIDER static int NAME##_apart(const SCORE *scores, const LABEL *labels, int n, Bins bins, int32_t *code)           \
    {                                                                                                                  \
        return NAME##_as(scores, labels, n, bins, code, UNIFORM, 1);                                                   \
    }                                                                                                                  \
    static int NAME(const void *scores, const void *labels, int n, const Bins *bins, int32_t *code)                    \
    {                                                                                                                  \
        if (bins->kind == UNIFORM)                                                                                     \
            return (bins->apart ? NAME##_apart : NAME##_uniform)(scores, labels, n, *bins, code);                      \
        return NAME##_as(scores, labels, n, *bins, code, bins->kind, bins->apart);                                     \
    }

CODES(codes_f1, float, uint8_t, bin_of_float)
CODES(codes_f2, float, uint16_t, bin_of_float)
CODES(codes_f4, float, uint32_t, bin_of_float)
CODES(codes_f8, float, uint64_t, bin_of_float)
CODES(codes_d1, double, uint8_t, bin_of_double)
CODES(codes_d2, double, uint16_t, bin_of_double)
CODES(codes_d4, double, uint32_t, bin_of_double)
CODES(codes_d8, double, uint64_t, bin_of_double)

typedef int (*Codes)(const void *, const void *, int, const Bins *, int32_t *);

static Codes codes_of(char score, Py_ssize_t label_size)
{
    static const Codes OF_FLOATS[] = {codes_f1, codes_f2, codes_f4, codes_f8};
    static const Codes OF_DOUBLES[] = {codes_d1, codes_d2, codes_d4, codes_d8};
    const int at = label_size == 1 ? 0 : label_size == 2 ? 1 : label_size == 4 ? 2 : 3;
    return (score == 'f' ? OF_FLOATS : OF_DOUBLES)[at];
}

/* --- additions --- */

#define ADD_ROWS(NAME, SCORE)                                                                                          \
    INLINE void NAME##_as(const Job *job, const SCORE *scores, const double *weights, const int32_t *code, int n,      \
                          int weighted, int squares, int lanes)                                                        \
    {                                                                                                                  \
        const int m = n_moments(weighted, squares);                                                                    \
        double *const first = job->tables;                                                                             \
        const Py_ssize_t entries = job->entries;                                                                       \
        int i = 0;                                                                                                     \
        if (lanes == LANES) {                                                                                          \
            double *const second = first + entries, *const third = second + entries, *const fourth = third + entries;  \
            for (; i + LANES <= n; i += LANES) {                                                                       \
                add_pair(first + m * code[i], scores[i], weighted ? weights[i] : 1, weighted, squares);                \
                add_pair(second + m * code[i + 1], scores[i + 1], weighted ? weights[i + 1] : 1, weighted, squares);   \
                add_pair(third + m * code[i + 2], scores[i + 2], weighted ? weights[i + 2] : 1, weighted, squares);    \
                add_pair(fourth + m * code[i + 3], scores[i + 3], weighted ? weights[i + 3] : 1, weighted, squares);   \
            }                                                                                                          \
        }                                                                                                              \
        for (; i < n; i++)                                                                                             \
            add_pair(first + (Py_ssize_t)m * code[i], scores[i], weighted ? weights[i] : 1, weighted, squares);        \
    }                                                                                                                  \
    static void NAME(const Job *job, const void *scores, const double *weights, const int32_t *code, int n)            \
    {                                                                                                                  \
        const int lanes = job->lanes;                                                                                  \
        if (job->weighted)                                                                                             \
            NAME##_as(job, scores, weights, code, n, 1, job->squares, lanes);                                          \
        else if (job->squares)                                                                                         \
            NAME##_as(job, scores, weights, code, n, 0, 1, lanes);                                                     \
        else                                                                                                           \
            NAME##_as(job, scores, weights, code, n, 0, 0, lanes);                                                     \
    }

ADD_ROWS(add_floats, float)
ADD_ROWS(add_doubles, double)

/* Adds tables of shape (bins, 2, moments) to the moments of all rows and of positive ones, each of shape (moments,
 * bins). */
static void add_tables(const Job *job, double *out)
{
    const Py_ssize_t m = n_moments(job->weighted, job->squares), n_bins = job->entries / (2 * m);
    for (Py_ssize_t bin = 0; bin < n_bins; bin++)
        for (Py_ssize_t j = 0; j < m; j++) {
            double negative = 0, positive = 0;
            for (int lane = 0; lane < job->lanes; lane++) {
                const double *at = job->tables + lane * job->entries + 2 * m * bin + j;
                negative += at[0];
                positive += at[m];
            }
            out[j * n_bins + bin] += negative + positive;
            out[(m + j) * n_bins + bin] += positive;
        }
}

static int sum_rows(const Job *job, char score, Codes codes, Py_ssize_t start, Py_ssize_t stop, double *out)
{
    const Py_ssize_t block = 64 * job->entries > BLOCK ? 64 * job->entries : BLOCK;
    int32_t code[PIECE];
    int bad = 0;
    for (Py_ssize_t from = start; from < stop; from += block) {
        const Py_ssize_t to = stop - from < block ? stop : from + block;
        memset(job->tables, 0, (size_t)(job->lanes * job->entries) * sizeof(double));
        for (Py_ssize_t at = from; at < to; at += PIECE) {
            const int n = (int)(to - at < PIECE ? to - at : PIECE);
            const void *scores = job->scores + (size_t)at * job->score_size;
            const double *weights = job->weighted ? job->weights + at : NULL;
            bad |= codes(scores, job->labels + (size_t)at * job->label_size, n, &job->bins, code);
            if (bad)
                return 1; /* the sums are invalid, and a score may be NaN */
            (score == 'f' ? add_floats : add_doubles)(job, scores, weights, code, n);
        }
        add_tables(job, out);
    }
    return 0;
}

/* bin_sums(scores, labels, weights, edges, first, out, kind, apart, squares, start, stop): adds the moments of the rows
 * from start to stop to out, of shape (2, moments, bins): of all rows, and of those with label 1. Returns True if a
 * score is not a probability, or a label is not 0 or 1; the sums are then meaningless. */
static PyObject *bin_sums(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    static const char *const TAKES[] = {"fd", "bBhHiIqQ", "?d", "fd", "?i", ">d", NULL};
    Array a[6];
    Py_ssize_t numbers[5];
    PyObject *result = NULL;
    (void)self;
    if (!take_arrays(args, n_args, TAKES, a))
        return NULL;
    const int given = take_numbers(args, n_args, 6, 5, numbers);
    const Py_ssize_t n = a[0].size, *const range = numbers + 3;
    Job job = {.scores = a[0].data, .labels = a[1].data, .weights = a[2].data, .weighted = a[2].data != NULL};
    job.score_size = (size_t)a[0].view.itemsize, job.label_size = (size_t)a[1].view.itemsize;
    job.bins = take_bins(&a[3], &a[4], a[0].type, numbers[0], numbers[1]);
    job.squares = numbers[2] != 0;
    job.entries = (job.bins.n + 2 * job.bins.apart) * 2 * n_moments(job.weighted, job.squares);
    job.lanes = job.entries <= FEW ? LANES : 1;
    if (!given || a[1].size != n || (job.weighted && a[2].size != n) || job.bins.n < 1 || a[5].size != job.entries ||
        !is_within(range, n)) {
        unfit("bin_sums");
    } else if ((job.tables = malloc((size_t)(job.lanes * job.entries) * sizeof(double))) == NULL) {
        PyErr_NoMemory();
    } else {
        int bad;
        Py_BEGIN_ALLOW_THREADS;
        bad = sum_rows(&job, a[0].type, codes_of(a[0].type, a[1].view.itemsize), range[0], range[1], a[5].data);
        Py_END_ALLOW_THREADS;
        free(job.tables);
        result = PyBool_FromLong(bad);
    }
    drop_arrays(a, 6);
    return result;
}

PyMethodDef binned_methods[] = {
    METHOD(bin_sums),
    NO_MORE_METHODS,
};
