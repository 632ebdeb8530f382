/* Moments of scores by bin and outcome, in one read that checks what it reads. */
#include "bins.h"

#define BLOCK 16384  /* rows, at least, that are summed by themselves: short chains of additions round less */
#define LANES 4      /* tables that rows take turns in, so that they need not wait for each other */
#define FEW 512      /* entries of a table that there are LANES of */

/* One table has n_codes x 2 x m entries: m moments for each outcome of each code. */
typedef struct {
    const void *scores, *labels;
    const double *weights;
    Bins bins;
    Py_ssize_t start, stop;
    int m, lanes, weighted, squares;
    Py_ssize_t entries; /* of a table */
    double *tables;     /* lanes of them */
} Job;

INLINE void add(double *at, double p, const double *weights, Py_ssize_t i,
                                                      int weighted, int squares)
{
    at[0] += 1;
    if (!weighted) {
        at[1] += p;
        if (squares)
            at[2] += p * p;
        return;
    }
    const double w = weights[i], w2 = w * w, wp = w * p, w2p = w2 * p;
    at[1] += w;
    at[2] += wp;
    at[3] += w2;
    at[4] += w2p;
    if (squares) {
        at[5] += wp * p;
        at[6] += w2p * p;
    }
}

/* Rows outside of [0, 1] or with another label than 0 and 1 are counted somewhere, and 1 is returned. */
#define SUM_ROWS(NAME, SCORE, LABEL, BIN)                                                                                \
    INLINE int NAME##_as(const Job *job, Py_ssize_t start, Py_ssize_t stop,        \
                                                               int kind, int apart, int weighted, int squares,          \
                                                               int lanes)                                                \
    {                                                                                                                    \
        const SCORE *scores = job->scores;                                                                              \
        const LABEL *labels = job->labels;                                                                               \
        const int m = weighted ? 5 + 2 * squares : 2 + squares;                                                          \
        const Bins bins = job->bins;                                                                                     \
        double *const tables = job->tables;                                                                              \
        const Py_ssize_t entries = job->entries;                                                                         \
        unsigned bad = 0;                                                                                                \
        for (Py_ssize_t i = start; i < stop; i++) {                                                                      \
            const SCORE given = scores[i];                                                                               \
            const LABEL label = labels[i];                                                                               \
            SCORE p = given < 1 ? given : 1;                                                                             \
            p = p > 0 ? p : 0;                                                                                           \
            bad |= (unsigned)(p != given) | (unsigned)(label > 1);                                                       \
            const Py_ssize_t code = 2 * BIN(p, &bins, kind, apart) + (Py_ssize_t)(label & 1);                            \
            add(tables + (lanes > 1 ? (i & (LANES - 1)) * entries : 0) + code * m, (double)p, job->weights, i, weighted, \
                squares);                                                                                                \
        }                                                                                                                \
        return (int)bad;                                                                                                 \
    }                                                                                                                    \
    static int NAME(const Job *job, Py_ssize_t start, Py_ssize_t stop)                                                   \
    {                                                                                                                    \
        const int kind = job->bins.kind;                                                                                 \
        if (job->weighted || job->bins.apart || kind != UNIFORM || job->lanes == 1)                                      \
            return NAME##_as(job, start, stop, kind, job->bins.apart, job->weighted, job->squares, job->lanes);          \
        return job->squares ? NAME##_as(job, start, stop, UNIFORM, 0, 0, 1, LANES)                                       \
                            : NAME##_as(job, start, stop, UNIFORM, 0, 0, 0, LANES);                                      \
    }

SUM_ROWS(sum_f1, float, uint8_t, bin_of_float)
SUM_ROWS(sum_f2, float, uint16_t, bin_of_float)
SUM_ROWS(sum_f4, float, uint32_t, bin_of_float)
SUM_ROWS(sum_f8, float, uint64_t, bin_of_float)
SUM_ROWS(sum_d1, double, uint8_t, bin_of_double)
SUM_ROWS(sum_d2, double, uint16_t, bin_of_double)
SUM_ROWS(sum_d4, double, uint32_t, bin_of_double)
SUM_ROWS(sum_d8, double, uint64_t, bin_of_double)

typedef int (*Sum)(const Job *, Py_ssize_t, Py_ssize_t);

/* A negative label is a large one without its sign, so four widths are enough. */
static Sum sum_of(char score, Py_ssize_t label_size)
{
    static const Sum OF_FLOATS[] = {sum_f1, sum_f2, sum_f4, sum_f8}, OF_DOUBLES[] = {sum_d1, sum_d2, sum_d4, sum_d8};
    const int at = label_size == 1 ? 0 : label_size == 2 ? 1 : label_size == 4 ? 2 : 3;
    return score == 'f' ? OF_FLOATS[at] : OF_DOUBLES[at];
}

static int run(Job *job, Sum sum, double *out)
{
    const Py_ssize_t size = job->lanes * job->entries;
    const Py_ssize_t block = 64 * job->entries > BLOCK ? 64 * job->entries : BLOCK;
    int bad = 0;
    for (Py_ssize_t start = job->start; start < job->stop; start += block) {
        const Py_ssize_t stop = job->stop - start < block ? job->stop : start + block;
        memset(job->tables, 0, (size_t)size * sizeof(double));
        bad |= sum(job, start, stop);
        for (int lane = 0; lane < job->lanes; lane++)
            for (Py_ssize_t k = 0; k < job->entries; k++)
                out[k] += job->tables[lane * job->entries + k];
    }
    return bad;
}

/* bin_sums(scores, labels, weights, edges, first, out, kind, apart, squares, start, stop): adds the moments of the rows
 * from start to stop to out, of shape (bins, 2, moments); whether a row is none: no probability, or no 0 or 1. */
static PyObject *bin_sums(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    static const char *const TAKES[] = {"fd", "bBhHiIqQ", "?d", "fd", "?i", ">d", NULL};
    Array a[6];
    (void)self;
    if (!take_arrays(args, n_args, TAKES, a))
        return NULL;
    Py_ssize_t numbers[5] = {0};
    for (Py_ssize_t i = 0; i < 5; i++)
        numbers[i] = n_args == 11 ? PyLong_AsSsize_t(args[6 + i]) : -1;
    const Py_ssize_t start = numbers[3], stop = numbers[4];
    Job job = {.scores = a[0].data, .labels = a[1].data, .weights = a[2].data, .start = start, .stop = stop};
    job.bins = (Bins){a[3].data, a[4].data, a[3].size - 1, (int)numbers[0], (int)numbers[1]};
    job.squares = (int)numbers[2], job.weighted = a[2].data != NULL;
    job.m = job.weighted ? 5 + 2 * job.squares : 2 + job.squares;
    job.entries = (job.bins.n + 2 * job.bins.apart) * 2 * job.m;
    job.lanes = job.entries <= FEW ? LANES : 1;
    PyObject *result = NULL;
    if (n_args != 11 || PyErr_Occurred() || a[3].type != a[0].type || a[1].size != a[0].size || start < 0 ||
        stop > a[0].size || job.bins.n < 1 || a[5].size != job.entries ||
        (job.weighted && a[2].size != a[0].size) || (job.bins.kind == TABLE && a[4].size != LOOKUP + 2)) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "bin_sums: the arrays do not fit together");
    } else if ((job.tables = malloc((size_t)(job.lanes * job.entries) * sizeof(double))) == NULL) {
        PyErr_NoMemory();
    } else {
        int bad;
        Py_BEGIN_ALLOW_THREADS;
        bad = run(&job, sum_of(a[0].type, a[1].view.itemsize), a[5].data);
        Py_END_ALLOW_THREADS;
        free(job.tables);
        result = PyBool_FromLong(bad);
    }
    drop_arrays(a, 6);
    return result;
}

PyMethodDef binned_methods[] = {
    {"bin_sums", (PyCFunction)(void (*)(void))bin_sums, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};
