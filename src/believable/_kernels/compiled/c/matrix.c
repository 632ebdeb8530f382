/* Moments of a matrix of probabilities, one label to a row: of the largest entry of each row, or of every entry by
 * class.
 *
 * Rows are taken in pieces that stay in the nearest cache: they are looked at and checked there, and then counted. */
#include <float.h>

#include "moments.h"
#include "rows.h"

#define BLOCK 16384 /* at least this many rows are summed separately, because short chains round less */
#define LANES 4     /* tables among which rows alternate, so that additions do not wait for each other */
#define FEW 256     /* tables of no more entries are repeated LANES times: more would not fit in the L1 cache */

enum { TOPS, BY_CLASS, EVERY_ENTRY }; /* what is counted: largest entries, or those by column, or all by column */

typedef struct {
    const void *matrix;
    const Array *labels;
    const double *weights;
    Bins bins;
    Py_ssize_t width, start, stop, n_parts, rows; /* rows: in a piece */
    Py_ssize_t entries;                           /* entries of a table */
    int is_float, weighted, squares, m, by_class, every_entry, wide, lanes;
    double tolerance;
    double *tables, *out;
    /* for the rows of a piece */
    int32_t *label, *column, *bin;
    void *top, *low;
    double *sum;
    int32_t *offset; /* of every entry, and of few columns: where in the table its column starts */
    /* of every entry, and of many columns: what lies outside of the first part, and sums by column of what is in it */
    int32_t *other_row, *other_column;
    void *other;
    double *first, *n_others;
} Job;

static const void *row_at(const Job *job, Py_ssize_t i)
{
    return (const char *)job->matrix + (size_t)(i * job->width) * (job->is_float ? sizeof(float) : sizeof(double));
}

/* Calls a function with its last two arguments known to the compiler. */
#define WITH_KNOWN(job, call)                                                                                          \
    do {                                                                                                               \
        if (!(job)->weighted && !(job)->squares) {                                                                     \
            enum { WEIGHTED = 0, SQUARES = 0 };                                                                        \
            call;                                                                                                      \
        } else if (!(job)->weighted) {                                                                                 \
            enum { WEIGHTED = 0, SQUARES = 1 };                                                                        \
            call;                                                                                                      \
        } else if (!(job)->squares) {                                                                                  \
            enum { WEIGHTED = 1, SQUARES = 0 };                                                                        \
            call;                                                                                                      \
        } else {                                                                                                       \
            enum { WEIGHTED = 1, SQUARES = 1 };                                                                        \
            call;                                                                                                      \
        }                                                                                                              \
    } while (0)

/* --- the largest entry of each row --- */

#define COUNT_TOPS(NAME, SCORE)                                                                                        \
    INLINE void NAME(const Job *job, Py_ssize_t start, Py_ssize_t n, int weighted, int squares)                        \
    {                                                                                                                  \
        const SCORE *restrict top = job->top;                                                                          \
        const int32_t *restrict column = job->column, *restrict label = job->label, *restrict bin = job->bin;          \
        const double *restrict weights = weighted ? job->weights + start : NULL;                                       \
        double *restrict tables = job->tables;                                                                         \
        const int m = n_moments(weighted, squares);                                                                    \
        const Py_ssize_t apart = job->by_class ? job->n_parts : 0, lane = job->lanes > 1 ? job->entries : 0;           \
        for (Py_ssize_t i = 0; i < n; i++) {                                                                           \
            const Py_ssize_t at = (2 * (column[i] * apart + bin[i]) + (column[i] == label[i])) * m;                    \
            add_pair(tables + (i % LANES) * lane + at, (double)top[i], weighted ? weights[i] : 1, weighted, squares);  \
        }                                                                                                              \
    }

COUNT_TOPS(count_float_tops, float)
COUNT_TOPS(count_double_tops, double)

static int top_piece(Job *job, Py_ssize_t start, Py_ssize_t n)
{
    const void *x = row_at(job, start);
    int well = labels_as_columns(job->labels, start, n, job->width, job->label);
    if (job->is_float) {
        look_at_floats(x, n, job->width, job->top, job->column, job->low, job->sum);
        well &= floats_inside(job->low, n) & floats_inside(job->top, n);
    } else {
        look_at_doubles(x, n, job->width, job->top, job->column, job->low, job->sum);
        well &= doubles_inside(job->low, n) & doubles_inside(job->top, n);
    }
    if (!well || !near_one(job->sum, n, job->tolerance))
        return 0;
    if (job->is_float) {
        place_floats(job->top, n, &job->bins, job->bin);
        WITH_KNOWN(job, count_float_tops(job, start, n, WEIGHTED, SQUARES));
    } else {
        place_doubles(job->top, n, &job->bins, job->bin);
        WITH_KNOWN(job, count_double_tops(job, start, n, WEIGHTED, SQUARES));
    }
    return 1;
}

/* --- every entry, by class --- */

/* Of few columns every entry finds its place in the table first, several at once, and is added there after that. The
 * table is of the entries that are not their row's label's, and after them of those that are. */
#define PLACES(NAME, SCORE, BIN)                                                                                       \
    INLINE void NAME##_as(const SCORE *restrict x, Py_ssize_t n, Bins bins, const int32_t *restrict offset, int32_t m, \
                          int32_t *restrict place, int kind, int apart)                                                \
    {                                                                                                                  \
        for (Py_ssize_t i = 0; i < n; i++)                                                                             \
            place[i] = m * BIN(x[i], &bins, kind, apart) + offset[i];                                                  \
    }                                                                                                                  \
    WIDER static void NAME##_uniform(const SCORE *x, Py_ssize_t n, Bins bins, const int32_t *offset, int32_t m,        \
                                     int32_t *place)                                                                   \
    {                                                                                                                  \
        if (bins.apart)                                                                                                \
            NAME##_as(x, n, bins, offset, m, place, UNIFORM, 1);                                                       \
        else                                                                                                           \
            NAME##_as(x, n, bins, offset, m, place, UNIFORM, 0);                                                       \
    }                                                                                                                  \
    static void NAME(const Job *job, const SCORE *x, Py_ssize_t n)                                                     \
    {                                                                                                                  \
        const Bins bins = job->bins;                                                                                   \
        if (bins.kind == UNIFORM)                                                                                      \
            NAME##_uniform(x, n, bins, job->offset, job->m, job->bin);                                                 \
        else                                                                                                           \
            NAME##_as(x, n, bins, job->offset, job->m, job->bin, bins.kind, bins.apart);                               \
    }

PLACES(places_of_floats, float, bin_of_float)
PLACES(places_of_doubles, double, bin_of_double)

#define COUNT_ALL(NAME, SCORE)                                                                                         \
    INLINE void NAME##_as(const Job *job, Py_ssize_t start, Py_ssize_t n, int weighted, int squares)                   \
    {                                                                                                                  \
        const SCORE *restrict x = row_at(job, start);                                                                  \
        const int32_t *restrict place = job->bin;                                                                      \
        const double *restrict weights = weighted ? job->weights + start : NULL;                                       \
        const Py_ssize_t width = job->width, pairs = width / 2 * 2;                                                    \
        double *restrict table = job->tables, *restrict sum = job->sum;                                                \
        for (Py_ssize_t i = 0; i < n; i++, x += width, place += width) {                                               \
            const double w = weighted ? weights[i] : 1;                                                                \
            double even = 0, odd = 0;                                                                                  \
            for (Py_ssize_t k = 0; k < pairs; k += 2) {                                                                \
                const double p = (double)x[k], q = (double)x[k + 1];                                                   \
                add_pair(table + place[k], p, w, weighted, squares);                                                   \
                add_pair(table + place[k + 1], q, w, weighted, squares);                                               \
                even += p, odd += q;                                                                                   \
            }                                                                                                          \
            if (pairs < width) {                                                                                       \
                add_pair(table + place[pairs], (double)x[pairs], w, weighted, squares);                                \
                even += (double)x[pairs];                                                                              \
            }                                                                                                          \
            sum[i] = even + odd;                                                                                       \
        }                                                                                                              \
    }                                                                                                                  \
    WIDER static void NAME(const Job *job, Py_ssize_t start, Py_ssize_t n)                                             \
    {                                                                                                                  \
        WITH_KNOWN(job, NAME##_as(job, start, n, WEIGHTED, SQUARES));                                                  \
    }

COUNT_ALL(count_all_floats, float)
COUNT_ALL(count_all_doubles, double)

static int narrow_piece(Job *job, Py_ssize_t start, Py_ssize_t n)
{
    const void *x = row_at(job, start);
    const Py_ssize_t width = job->width, size = n * width;
    const int32_t *restrict label = job->label;
    int32_t *restrict place = job->bin;
    const int32_t own = (int32_t)(job->entries / 2);
    if (!labels_as_columns(job->labels, start, n, width, job->label) ||
        !(job->is_float ? floats_inside(x, size) : doubles_inside(x, size)))
        return 0;
    if (job->is_float)
        places_of_floats(job, x, size);
    else
        places_of_doubles(job, x, size);
    for (Py_ssize_t i = 0; i < n; i++)
        place[i * width + label[i]] += own;
    (job->is_float ? count_all_floats : count_all_doubles)(job, start, n);
    return near_one(job->sum, n, job->tolerance); /* rows are summed while they are counted */
}

/* Of many columns most entries lie in the first part above 0, from low to high. Those are summed by column, in `first`:
 * p, pp; or w, wp, w2, w2p, wpp, w2pp. The others are listed. */
#define SUM_FIRST(NAME, SCORE)                                                                                         \
    INLINE int NAME##_stretch(const SCORE *x, Py_ssize_t n, Py_ssize_t width, SCORE low, SCORE high, double w,         \
                              double *first, int weighted, int squares)                                                \
    {                                                                                                                  \
        int others = 0;                                                                                                \
        const double w2 = w * w;                                                                                       \
        for (Py_ssize_t k = 0; k < n; k++) {                                                                           \
            const int inside = (x[k] >= low) & (x[k] <= high);                                                         \
            const double p = (double)(inside ? x[k] : 0);                                                              \
            others |= !inside;                                                                                         \
            if (!weighted) {                                                                                           \
                first[k] += p;                                                                                         \
                if (squares)                                                                                           \
                    first[k + width] += p * p;                                                                         \
                continue;                                                                                              \
            }                                                                                                          \
            first[k] += inside ? w : 0;                                                                                \
            first[k + width] += w * p;                                                                                 \
            first[k + 2 * width] += inside ? w2 : 0;                                                                   \
            first[k + 3 * width] += w2 * p;                                                                            \
            if (squares) {                                                                                             \
                first[k + 4 * width] += w * p * p;                                                                     \
                first[k + 5 * width] += w2 * p * p;                                                                    \
            }                                                                                                          \
        }                                                                                                              \
        return others;                                                                                                 \
    }                                                                                                                  \
    INLINE Py_ssize_t NAME##_as(const Job *job, Py_ssize_t start, Py_ssize_t n, SCORE low, SCORE high, int weighted,   \
                                int squares)                                                                           \
    {                                                                                                                  \
        const Py_ssize_t width = job->width;                                                                           \
        SCORE *other = job->other;                                                                                     \
        Py_ssize_t found = 0;                                                                                          \
        for (Py_ssize_t i = 0; i < n; i++) {                                                                           \
            const SCORE *x = (const SCORE *)job->matrix + (start + i) * width;                                         \
            const double w = weighted ? job->weights[start + i] : 1;                                                   \
            for (Py_ssize_t k = 0; k < width; k += STRETCH) {                                                          \
                double *first = job->first + k;                                                                        \
                const Py_ssize_t end = width - k < STRETCH ? width : k + STRETCH;                                      \
                if (!(end - k == STRETCH                                                                               \
                          ? NAME##_stretch(x + k, STRETCH, width, low, high, w, first, weighted, squares)              \
                          : NAME##_stretch(x + k, end - k, width, low, high, w, first, weighted, squares)))            \
                    continue;                                                                                          \
                for (Py_ssize_t j = k; j < end; j++) { /* written every time, kept where it should be */               \
                    other[found] = x[j];                                                                               \
                    job->other_row[found] = (int32_t)i;                                                                \
                    job->other_column[found] = (int32_t)j;                                                             \
                    found += !((x[j] >= low) & (x[j] <= high));                                                        \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
        return found;                                                                                                  \
    }                                                                                                                  \
    WIDER static Py_ssize_t NAME(const Job *job, Py_ssize_t start, Py_ssize_t n, SCORE low, SCORE high)                \
    {                                                                                                                  \
        Py_ssize_t found;                                                                                              \
        WITH_KNOWN(job, found = NAME##_as(job, start, n, low, high, WEIGHTED, SQUARES));                               \
        return found;                                                                                                  \
    }                                                                                                                  \
    INLINE void NAME##_others(const Job *job, Py_ssize_t start, Py_ssize_t n, int weighted, int squares)               \
    {                                                                                                                  \
        const SCORE *other = job->other;                                                                               \
        const int m = n_moments(weighted, squares);                                                                    \
        for (Py_ssize_t i = 0; i < n; i++) {                                                                           \
            const Py_ssize_t k = job->other_column[i];                                                                 \
            const double w = weighted ? job->weights[start + job->other_row[i]] : 1;                                   \
            add_pair(job->tables + (k * job->n_parts + job->bin[i]) * m, (double)other[i], w, weighted, squares);      \
            job->n_others[k] += 1;                                                                                     \
        }                                                                                                              \
    }                                                                                                                  \
    INLINE void NAME##_own(const Job *job, Py_ssize_t start, Py_ssize_t n, int weighted, int squares)                  \
    {                                                                                                                  \
        const SCORE *own = job->top;                                                                                   \
        const int m = n_moments(weighted, squares);                                                                    \
        double *const table = job->tables + job->entries / 2;                                                          \
        for (Py_ssize_t i = 0; i < n; i++)                                                                             \
            add_pair(table + (job->label[i] * job->n_parts + job->bin[i]) * m, (double)own[i],                         \
                     weighted ? job->weights[start + i] : 1, weighted, squares);                                       \
    }                                                                                                                  \
    static int NAME##_piece(Job *job, Py_ssize_t start, Py_ssize_t n)                                                  \
    {                                                                                                                  \
        const SCORE *x = (const SCORE *)job->matrix + start * job->width, *edges = job->bins.edges;                    \
        const SCORE low = job->bins.apart ? SCORE##_LEAST : 0;                                                         \
        const SCORE most = job->bins.apart ? 1 - SCORE##_EPSILON / 2 : 1, high = edges[1] < most ? edges[1] : most;    \
        SCORE *own = job->top;                                                                                         \
        sum_##SCORE##_rows(x, n, job->width, job->sum);                                                                \
        if (!near_one(job->sum, n, job->tolerance) ||                                                                  \
            !labels_as_columns(job->labels, start, n, job->width, job->label))                                         \
            return 0;                                                                                                  \
        const Py_ssize_t found = NAME(job, start, n, low, high);                                                       \
        if (!SCORE##s_inside(job->other, found))                                                                       \
            return 0;                                                                                                  \
        place_##SCORE##s(job->other, found, &job->bins, job->bin);                                                     \
        WITH_KNOWN(job, NAME##_others(job, start, found, WEIGHTED, SQUARES));                                          \
        for (Py_ssize_t i = 0; i < n; i++)                                                                             \
            own[i] = x[i * job->width + job->label[i]];                                                                \
        place_##SCORE##s(own, n, &job->bins, job->bin);                                                                \
        WITH_KNOWN(job, NAME##_own(job, start, n, WEIGHTED, SQUARES));                                                 \
        return 1;                                                                                                      \
    }

#define STRETCH 64 /* columns that are checked together */
#define float_LEAST 1.40129846e-45f /* as FLT_TRUE_MIN, which not every <float.h> has */
#define double_LEAST 4.9406564584124654e-324
#define float_EPSILON FLT_EPSILON
#define double_EPSILON DBL_EPSILON
SUM_FIRST(sum_first_floats, float)
SUM_FIRST(sum_first_doubles, double)

/* From sums by column, which are cleared, to the table. */
static void add_first(const Job *job, Py_ssize_t n_rows)
{
    for (Py_ssize_t k = 0; k < job->width; k++) {
        double *at = job->tables + (k * job->n_parts + job->bins.apart) * job->m;
        at[0] += (double)n_rows - job->n_others[k];
        for (int j = 1; j < job->m; j++)
            at[j] += job->first[(j - 1) * job->width + k];
    }
    memset(job->first, 0, (size_t)(job->m * job->width) * sizeof(double)); /* and n_others, which is next to it */
}

/* --- all rows --- */

typedef int (*Piece)(Job *, Py_ssize_t, Py_ssize_t);

/* From tables, which are cleared, to sums by moment and code: of all, and then of those whose outcome is 1. */
static void add_tables(Job *job)
{
    const int every_entry = job->every_entry;
    const int m = job->m, wide = job->first != NULL; /* then all are together, and own ones once more */
    const Py_ssize_t n_codes = job->entries / (2 * m);
    double *const total = job->out, *const positive = job->out + n_codes * m;
    for (int lane = 0; lane < job->lanes; lane++) {
        const double *table = job->tables + lane * job->entries;
        for (Py_ssize_t code = 0; code < n_codes; code++) {
            const double *all = table + code * (every_entry ? m : 2 * m), *own = all + (every_entry ? n_codes * m : m);
            for (int j = 0; j < m; j++) {
                total[j * n_codes + code] += wide ? all[j] : all[j] + own[j];
                positive[j * n_codes + code] += own[j];
            }
        }
    }
    memset(job->tables, 0, (size_t)(job->lanes * job->entries) * sizeof(double));
}

static int run(Job *job, Piece piece, Py_ssize_t block)
{
    for (Py_ssize_t start = job->start; start < job->stop; start += block) {
        const Py_ssize_t stop = job->stop - start < block ? job->stop : start + block;
        for (Py_ssize_t i = start; i < stop; i += job->rows)
            if (!piece(job, i, stop - i < job->rows ? stop - i : job->rows))
                return 0;
        if (job->first != NULL)
            add_first(job, stop - start);
        add_tables(job);
    }
    return 1;
}

/* Allocates what a job needs from one piece of memory at `base`; if that is NULL, only its size is computed. */
static size_t lay_out(Job *job, char *base)
{
    const int every_entry = job->every_entry, wide = job->wide;
    const size_t score = job->is_float ? sizeof(float) : sizeof(double), rows = (size_t)job->rows;
    const size_t width = (size_t)job->width, listed = every_entry ? rows * width : rows;
    size_t used = 0;
#define TAKE(name, bytes) (job->name = base == NULL ? NULL : (void *)(base + used), used += ((bytes) + 63) / 64 * 64)
    TAKE(top, rows * score);
    TAKE(low, rows * score);
    TAKE(sum, rows * sizeof(double));
    TAKE(label, rows * sizeof(int32_t));
    TAKE(column, rows * sizeof(int32_t));
    TAKE(bin, listed * sizeof(int32_t));
    if (every_entry && !wide) {
        TAKE(offset, listed * sizeof(int32_t));
        for (size_t i = 0; base != NULL && i < listed; i++)
            job->offset[i] = (int32_t)(i % width * (size_t)(job->n_parts * job->m));
    }
    if (wide) {
        TAKE(other, (listed + 1) * score); /* the last one is written to and not kept */
        TAKE(other_row, (listed + 1) * sizeof(int32_t));
        TAKE(other_column, (listed + 1) * sizeof(int32_t));
        TAKE(first, (size_t)job->m * width * sizeof(double));
        if (base != NULL)
            job->n_others = job->first + (size_t)(job->m - 1) * width;
    }
    TAKE(tables, (size_t)(job->lanes * job->entries) * sizeof(double));
#undef TAKE
    return used;
}

/* entry_sums(matrix, labels, weights, edges, first, out, tolerance, kind, apart, squares, what, start, stop): adds the
 * moments of the rows from start to stop to out, of shape (2, moments, codes). What: 0, the largest entries, whose code
 * is their part; 1, those by column, and 2, every entry by column, with the code column * parts + part. Returns whether
 * all rows are valid: entries are probabilities, labels are columns, and rows sum to one within the tolerance. If not,
 * out is meaningless. */
static PyObject *entry_sums(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    static const char *const TAKES[] = {"fd", "bBhHiIqQ", "?d", "fd", "?i", ">d", NULL};
    Array a[6];
    (void)self;
    if (!take_arrays(args, n_args, TAKES, a))
        return NULL;
    Py_ssize_t numbers[6];
    const int given = take_numbers(args, n_args, 7, 6, numbers);
    const double tolerance = given ? PyFloat_AsDouble(args[6]) : 0;
    const Py_ssize_t n = a[1].size, width = n > 0 ? a[0].size / n : 0, what = numbers[3];
    Job job = {.matrix = a[0].data, .labels = &a[1], .weights = a[2].data, .width = width, .out = a[5].data};
    job.bins = take_bins(&a[3], &a[4], a[0].type, numbers[0], numbers[1]);
    job.is_float = a[0].type == 'f', job.weighted = a[2].data != NULL, job.squares = numbers[2] != 0;
    job.by_class = what == BY_CLASS, job.every_entry = what == EVERY_ENTRY, job.tolerance = tolerance;
    job.start = numbers[4], job.stop = numbers[5];
    job.m = n_moments(job.weighted, job.squares);
    job.n_parts = job.bins.n + 2 * job.bins.apart;
    job.entries = a[5].size;
    job.lanes = job.entries <= FEW && !job.every_entry ? LANES : 1;
    job.wide = job.every_entry && (width > FEW_COLUMNS || job.entries > INT32_MAX); /* places are an int32 if narrow */
    const Py_ssize_t of_column = job.n_parts * 2 * job.m, n_columns = what == TOPS ? 1 : width;
    PyObject *result = NULL;
    char *memory = NULL;
    if (!given || PyErr_Occurred() || job.bins.n < 1 || what < TOPS || what > EVERY_ENTRY || width < 1 ||
        width > INT32_MAX || a[0].size != n * width || (job.weighted && a[2].size != n) ||
        job.entries / of_column != n_columns || job.entries % of_column != 0 || !is_within(numbers + 4, n)) {
        unfit("entry_sums");
    } else {
        job.rows = rows_in_piece(width);
        if ((memory = calloc(lay_out(&job, NULL) + 64, 1)) == NULL)
            PyErr_NoMemory();
    }
    if (memory != NULL) {
        int well;
        Py_BEGIN_ALLOW_THREADS;
        (void)lay_out(&job, memory + 64 - (uintptr_t)memory % 64);
        Py_ssize_t block = job.every_entry ? 16 * job.n_parts * job.m : 64 * job.entries;
        block = (block > BLOCK ? block : BLOCK) / job.rows * job.rows;
        const Piece wide = job.is_float ? sum_first_floats_piece : sum_first_doubles_piece;
        well = run(&job, job.wide ? wide : job.every_entry ? narrow_piece : top_piece, block);
        Py_END_ALLOW_THREADS;
        free(memory);
        result = PyBool_FromLong(well);
    }
    drop_arrays(a, 6);
    return result;
}

PyMethodDef matrix_methods[] = {
    METHOD(entry_sums),
    NO_MORE_METHODS,
};
