/* The largest entries of each row, and the smallest and largest of all entries. */
#include "rows.h"

/* --- smallest and largest --- */

/* NaN anywhere makes both NaN. */
#define EXTREMES(NAME, TYPE)                                                                                           \
    WIDER static void NAME(const TYPE *x, Py_ssize_t n, double *low, double *high)                                     \
    {                                                                                                                  \
        TYPE least = x[0], most = x[0];                                                                                \
        int nan = 0;                                                                                                   \
        TOGETHER(reduction(min : least) reduction(max : most) reduction(| : nan))                                      \
        for (Py_ssize_t i = 0; i < n; i++) {                                                                           \
            least = x[i] < least ? x[i] : least;                                                                       \
            most = x[i] > most ? x[i] : most;                                                                          \
            nan |= x[i] != x[i];                                                                                       \
        }                                                                                                              \
        if (x[0] - x[0] != 0) { /* infinite: some compilers start from the largest finite number */                    \
            least = most = x[0];                                                                                       \
            for (Py_ssize_t i = 1; i < n; i++)                                                                         \
                least = x[i] < least ? x[i] : least, most = x[i] > most ? x[i] : most;                                 \
        }                                                                                                              \
        *low = nan ? Py_NAN : (double)least;                                                                           \
        *high = nan ? Py_NAN : (double)most;                                                                           \
    }

EXTREMES(extremes_of_float, float)
EXTREMES(extremes_of_double, double)
EXTREMES(extremes_of_int8_t, int8_t)
EXTREMES(extremes_of_uint8_t, uint8_t)
EXTREMES(extremes_of_int16_t, int16_t)
EXTREMES(extremes_of_uint16_t, uint16_t)
EXTREMES(extremes_of_int32_t, int32_t)
EXTREMES(extremes_of_uint32_t, uint32_t)
EXTREMES(extremes_of_int64_t, int64_t)
EXTREMES(extremes_of_uint64_t, uint64_t)

static void extremes_of(const Array *a, Py_ssize_t start, Py_ssize_t n, double *low, double *high)
{
#define EXTREMES_OF(TYPE) extremes_of_##TYPE((const TYPE *)a->data + start, n, low, high)
    OF_ENTRIES(a->type, EXTREMES_OF)
#undef EXTREMES_OF
}

/* extremes(values, start, stop): the smallest and the largest of the entries from start to stop. */
static PyObject *extremes(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    static const char *const TAKES[] = {"fdbBhHiIqQ", NULL};
    Array a[1];
    (void)self;
    if (!take_arrays(args, n_args, TAKES, a))
        return NULL;
    Py_ssize_t range[2];
    double low = 0, high = 0;
    const int fits = take_numbers(args, n_args, 1, 2, range) && is_within(range, a[0].size) && range[0] < range[1];
    if (fits) {
        Py_BEGIN_ALLOW_THREADS;
        extremes_of(&a[0], range[0], range[1] - range[0], &low, &high);
        Py_END_ALLOW_THREADS;
    }
    drop_arrays(a, 1);
    return fits ? Py_BuildValue("dd", low, high) : unfit("extremes");
}

#define EXTREMES_OF_SUMS(NAME, SCORE)                                                                                  \
    WIDER static void NAME(const SCORE *x, Py_ssize_t n, Py_ssize_t width, double *low, double *high)                  \
    {                                                                                                                  \
        double total = 0;                                                                                              \
        for (Py_ssize_t i = 0; i < n; i++, x += width) {                                                               \
            double sum = 0;                                                                                            \
            TOGETHER(reduction(+ : sum))                                                                               \
            for (Py_ssize_t k = 0; k < width; k++)                                                                     \
                sum += (double)x[k];                                                                                   \
            *low = sum < *low ? sum : *low;                                                                            \
            *high = sum > *high ? sum : *high;                                                                         \
            total += sum;                                                                                              \
        }                                                                                                              \
        if (total != total)                                                                                            \
            *low = *high = total;                                                                                      \
    }

EXTREMES_OF_SUMS(extremes_of_float_sums, float)
EXTREMES_OF_SUMS(extremes_of_double_sums, double)

/* --- the largest of each row --- */

/* For a row whose sum is NaN: the first NaN, if there is one, counts as the largest. */
#define FIRST_NAN(NAME, SCORE)                                                                                         \
    static Py_ssize_t NAME(const SCORE *x, Py_ssize_t width, Py_ssize_t otherwise)                                     \
    {                                                                                                                  \
        for (Py_ssize_t k = 0; k < width; k++)                                                                         \
            if (x[k] != x[k])                                                                                          \
                return k;                                                                                              \
        return otherwise;                                                                                              \
    }                                                                                                                  \
    static void NAME##_or_top(const SCORE *x, Py_ssize_t n, Py_ssize_t width, SCORE *top, int64_t *column)             \
    {                                                                                                                  \
        SCORE low[MOST_ROWS];                                                                                          \
        double sum[MOST_ROWS];                                                                                         \
        int32_t at[MOST_ROWS];                                                                                         \
        const Py_ssize_t rows = rows_in_piece(width);                                                                  \
        for (Py_ssize_t start = 0; start < n; start += rows) {                                                         \
            const Py_ssize_t here = n - start < rows ? n - start : rows;                                               \
            look_at_##SCORE##s(x + start * width, here, width, top + start, at, low, sum);                             \
            for (Py_ssize_t i = 0; i < here; i++) {                                                                    \
                const SCORE *row = x + (start + i) * width;                                                            \
                column[start + i] = sum[i] == sum[i] ? at[i] : NAME(row, width, at[i]);                                \
                if (sum[i] != sum[i])                                                                                  \
                    top[start + i] = row[column[start + i]];                                                           \
            }                                                                                                          \
        }                                                                                                              \
    }

FIRST_NAN(nan_float, float)
FIRST_NAN(nan_double, double)

/* --- the r largest of each row --- */

#define PASSED 64 /* columns checked together */

/* Keeps a list of the r largest so far, in descending order; entries that are not above its last are skipped, many at
 * once. */
#define RANKED(NAME, SCORE)                                                                                            \
    INLINE void NAME##_insert(SCORE p, int64_t k, Py_ssize_t r, SCORE *score, int64_t *column)                         \
    {                                                                                                                  \
        Py_ssize_t at = r - 1;                                                                                         \
        for (; at > 0 && score[at - 1] < p; at--)                                                                      \
            score[at] = score[at - 1], column[at] = column[at - 1];                                                    \
        score[at] = p, column[at] = k;                                                                                 \
    }                                                                                                                  \
    WIDER static void NAME(const SCORE *x, Py_ssize_t n, Py_ssize_t width, Py_ssize_t r, SCORE *score,                 \
                           int64_t *column)                                                                            \
    {                                                                                                                  \
        for (Py_ssize_t i = 0; i < n; i++, x += width, score += r, column += r) {                                      \
            for (Py_ssize_t k = 0; k < r; k++)                                                                         \
                NAME##_insert(x[k], k, k + 1, score, column);                                                          \
            for (Py_ssize_t k = r; k < width;) {                                                                       \
                const Py_ssize_t end = width - k < PASSED ? width : k + PASSED;                                        \
                const SCORE last = score[r - 1];                                                                       \
                int above = 0;                                                                                         \
                TOGETHER(reduction(| : above))                                                                         \
                for (Py_ssize_t j = k; j < end; j++)                                                                   \
                    above |= x[j] > last;                                                                              \
                for (; above && k < end; k++)                                                                          \
                    if (x[k] > score[r - 1])                                                                           \
                        NAME##_insert(x[k], k, r, score, column);                                                      \
                k = end;                                                                                               \
            }                                                                                                          \
        }                                                                                                              \
    }

RANKED(ranked_floats, float)
RANKED(ranked_doubles, double)

/* --- called from Python --- */

typedef struct {
    Array a[3];
    Py_ssize_t n, width, r;
} Rows;

/* Reads the arguments (matrix, n, width) or, if `written` is 2, (matrix, scores, columns, n, width, r), and checks
 * their sizes. */
static int take_rows(PyObject *const *args, Py_ssize_t n_args, int written, Rows *rows)
{
    static const char *const ONE[] = {"fd", NULL}, *const THREE[] = {"fd", ">fd", ">q", NULL};
    const Py_ssize_t n_arrays = 1 + written;
    const Array *const a = rows->a;
    Py_ssize_t numbers[3] = {0, 0, 1};
    if (!take_arrays(args, n_args, written ? THREE : ONE, rows->a))
        return 0;
    const int given = take_numbers(args, n_args, n_arrays, written ? 3 : 2, numbers);
    const Py_ssize_t n = numbers[0], width = numbers[1], r = numbers[2];
    rows->n = n, rows->width = width, rows->r = r;
    if (given && n >= 0 && width > 0 && width <= INT32_MAX && r > 0 && r <= width && a[0].size / width == n &&
        a[0].size % width == 0 &&
        (!written || (a[1].type == a[0].type && a[1].size == n * r && a[2].size == n * r)))
        return 1;
    unfit("rows");
    drop_arrays(rows->a, n_arrays);
    return 0;
}

/* row_sum_extremes(matrix, n, width): the smallest and the largest sum of a row, in double precision. */
static PyObject *row_sum_extremes(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    Rows rows;
    double low = Py_HUGE_VAL, high = -Py_HUGE_VAL;
    (void)self;
    if (!take_rows(args, n_args, 0, &rows))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    if (rows.a[0].type == 'f')
        extremes_of_float_sums(rows.a[0].data, rows.n, rows.width, &low, &high);
    else
        extremes_of_double_sums(rows.a[0].data, rows.n, rows.width, &low, &high);
    Py_END_ALLOW_THREADS;
    drop_arrays(rows.a, 1);
    return Py_BuildValue("dd", low, high);
}

/* largest(matrix, scores, columns, n, width, r): the r largest entries of each row in descending order, and their
 * columns, the lower of equals first; if r is 1, NaN is larger than all. */
static PyObject *largest(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    Rows rows;
    (void)self;
    if (!take_rows(args, n_args, 2, &rows))
        return NULL;
    Array *const a = rows.a;
    Py_BEGIN_ALLOW_THREADS;
    if (rows.r == 1 && a[0].type == 'f')
        nan_float_or_top(a[0].data, rows.n, rows.width, a[1].data, a[2].data);
    else if (rows.r == 1)
        nan_double_or_top(a[0].data, rows.n, rows.width, a[1].data, a[2].data);
    else if (a[0].type == 'f')
        ranked_floats(a[0].data, rows.n, rows.width, rows.r, a[1].data, a[2].data);
    else
        ranked_doubles(a[0].data, rows.n, rows.width, rows.r, a[1].data, a[2].data);
    Py_END_ALLOW_THREADS;
    drop_arrays(a, 3);
    Py_RETURN_NONE;
}

PyMethodDef ranks_methods[] = {
    METHOD(extremes),
    METHOD(row_sum_extremes),
    METHOD(largest),
    NO_MORE_METHODS,
};
