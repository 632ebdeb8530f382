/* Assigns rows to cells along a line, and finds rows by their cell. */
#include "arrays.h"

#define CELLS 4096  /* cells of [0, 1], and one more for 1 itself */
#define BLOCK 65536 /* rows whose weights are summed separately, because short chains round less */

typedef struct {
    double sum[3], lost[3]; /* rounding error of each sum, subtracted at the end */
} Cell;

/* The cell of a score in [0, 1]; an invalid score gets some cell too. */
INLINE Py_ssize_t cell_of_float(float p)
{
    return (Py_ssize_t)((p > 0 ? p < 1 ? p : 1.0f : 0.0f) * (float)CELLS);
}

INLINE Py_ssize_t cell_of_double(double p)
{
    return (Py_ssize_t)((p > 0 ? p < 1 ? p : 1.0 : 0.0) * (double)CELLS);
}

#define CELLS_OF(SUFFIX, SCORE, CELL_OF)                                                                               \
    static void count_##SUFFIX(const SCORE *scores, Py_ssize_t start, Py_ssize_t stop, double *out)                    \
    {                                                                                                                  \
        int64_t counts[2][CELLS + 1];                                                                                  \
        memset(counts, 0, sizeof counts);                                                                              \
        for (Py_ssize_t i = start; i < stop; i++)                                                                      \
            counts[i & 1][CELL_OF(scores[i])]++;                                                                       \
        for (int k = 0; k <= CELLS; k++)                                                                               \
            out[k] += (double)(counts[0][k] + counts[1][k]);                                                           \
    }                                                                                                                  \
    static void weigh_##SUFFIX(const SCORE *scores, const double *weights, Py_ssize_t start, Py_ssize_t stop,          \
                               double *out)                                                                            \
    {                                                                                                                  \
        double sums[2][CELLS + 1];                                                                                     \
        for (Py_ssize_t from = start; from < stop; from += BLOCK) {                                                    \
            const Py_ssize_t to = stop - from < BLOCK ? stop : from + BLOCK;                                           \
            memset(sums, 0, sizeof sums);                                                                              \
            for (Py_ssize_t i = from; i < to; i++)                                                                     \
                sums[i & 1][CELL_OF(scores[i])] += weights[i];                                                         \
            for (int k = 0; k <= CELLS; k++)                                                                           \
                out[k] += sums[0][k] + sums[1][k];                                                                     \
        }                                                                                                              \
    }                                                                                                                  \
    static Py_ssize_t find_##SUFFIX(const SCORE *scores, const uint8_t *wanted, Py_ssize_t start, Py_ssize_t stop,     \
                                    int64_t *rows)                                                                     \
    {                                                                                                                  \
        Py_ssize_t n = 0;                                                                                              \
        for (Py_ssize_t i = start; i < stop; i++) {                                                                    \
            rows[n] = i;                                                                                               \
            n += wanted[CELL_OF(scores[i])] != 0;                                                                      \
        }                                                                                                              \
        return n;                                                                                                      \
    }

CELLS_OF(floats, float, cell_of_float)
CELLS_OF(doubles, double, cell_of_double)

/* cell_weights(scores, weights, out, start, stop): adds to out the weight of the rows in each cell, or their number. */
static PyObject *cell_weights(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    static const char *const TAKES[] = {"fd", "?d", ">d", NULL};
    Array a[3];
    Py_ssize_t rows[2];
    (void)self;
    if (!take_arrays(args, n_args, TAKES, a))
        return NULL;
    const int fits = take_numbers(args, n_args, 3, 2, rows) && is_within(rows, a[0].size) && a[2].size == CELLS + 1 &&
                     (a[1].data == NULL || a[1].size == a[0].size);
    if (fits) {
        Py_BEGIN_ALLOW_THREADS;
        if (a[1].data == NULL && a[0].type == 'f')
            count_floats(a[0].data, rows[0], rows[1], a[2].data);
        else if (a[1].data == NULL)
            count_doubles(a[0].data, rows[0], rows[1], a[2].data);
        else if (a[0].type == 'f')
            weigh_floats(a[0].data, a[1].data, rows[0], rows[1], a[2].data);
        else
            weigh_doubles(a[0].data, a[1].data, rows[0], rows[1], a[2].data);
        Py_END_ALLOW_THREADS;
    }
    drop_arrays(a, 3);
    return fits ? Py_NewRef(Py_None) : unfit("cell_weights");
}

/* rows_in_cells(scores, wanted, found, start, stop): writes the rows that are in wanted cells, from position start on,
 * and returns how many they are. Scores of type int32 are already cells. */
static PyObject *rows_in_cells(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    static const char *const TAKES[] = {"fdi", "B", ">q", NULL};
    Array a[3];
    Py_ssize_t rows[2], n = -1;
    (void)self;
    if (!take_arrays(args, n_args, TAKES, a))
        return NULL;
    if (take_numbers(args, n_args, 3, 2, rows) && is_within(rows, a[0].size) && a[2].size == a[0].size &&
        (a[0].type == 'i' || a[1].size == CELLS + 1)) {
        const uint8_t *const wanted = a[1].data;
        const int32_t *const cell = a[0].data;
        int64_t *const found = (int64_t *)a[2].data + rows[0];
        Py_BEGIN_ALLOW_THREADS;
        if (a[0].type == 'f') {
            n = find_floats(a[0].data, wanted, rows[0], rows[1], found);
        } else if (a[0].type == 'd') {
            n = find_doubles(a[0].data, wanted, rows[0], rows[1], found);
        } else {
            n = 0;
            for (Py_ssize_t i = rows[0]; i < rows[1]; i++) {
                found[n] = i;
                n += (uint32_t)cell[i] < (uint64_t)a[1].size && wanted[cell[i]];
            }
        }
        Py_END_ALLOW_THREADS;
    }
    drop_arrays(a, 3);
    return n < 0 ? unfit("rows_in_cells") : PyLong_FromSsize_t(n);
}

typedef struct {
    const double *score, *w, *wy;
    int32_t *cell;
    Cell *cells;
    double low, high, scale, last;
} Line;

INLINE void add(Cell *cell, int k, double term, int careful)
{
    if (!careful) {
        cell->sum[k] += term;
        return;
    }
    const double more = term - cell->lost[k], sum = cell->sum[k] + more;
    cell->lost[k] = (sum - cell->sum[k]) - more;
    cell->sum[k] = sum;
}

INLINE void sum_line(const Line *line, Py_ssize_t start, Py_ssize_t stop, int careful)
{
    const double low = line->low, high = line->high, scale = line->scale, last = line->last;
    for (Py_ssize_t i = start; i < stop; i++) {
        double cut = line->score[i] > low ? line->score[i] : low;
        cut = cut < high ? cut : high;
        const double place = (cut - low) * scale, w = line->w[i];
        const int32_t at = (int32_t)(place > 0 ? place < last ? place : last : 0);
        Cell *const here = &line->cells[at];
        line->cell[i] = at;
        add(here, 0, w, careful), add(here, 1, line->wy[i], careful), add(here, 2, w * place, careful);
    }
}

WIDER static int are_ones(const double *values, Py_ssize_t start, Py_ssize_t stop)
{
    int64_t other = 0;
    for (Py_ssize_t i = start; i < stop; i++)
        other |= values[i] != 1;
    return other == 0;
}

/* cell_sums(score, w, wy, cell, sums, low, high, scale, start, stop): writes the cell of each row, (score - low) scale
 * rounded down, with scores clipped to low and high; and for each cell the sums of w, wy and w times the position
 * before rounding, with the rounding errors of these sums. */
static PyObject *cell_sums(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    static const char *const TAKES[] = {"d", "d", "d", ">i", ">d", NULL};
    Array a[5];
    Py_ssize_t rows[2];
    double numbers[3] = {0, 0, 0};
    (void)self;
    if (!take_arrays(args, n_args, TAKES, a))
        return NULL;
    const int given = take_numbers(args, n_args, 8, 2, rows);
    for (Py_ssize_t i = 0; i < 3 && given && !PyErr_Occurred(); i++)
        numbers[i] = PyFloat_AsDouble(args[5 + i]);
    const Py_ssize_t n_cells = a[4].size / 6;
    int fits = given && !PyErr_Occurred() && is_within(rows, a[0].size) && a[4].size == 6 * n_cells && n_cells > 0 &&
               n_cells <= INT32_MAX;
    for (int i = 1; i < 4; i++)
        fits = fits && a[i].size == a[0].size;
    if (fits) {
        const Line line = {a[0].data,  a[1].data,  a[2].data,  a[3].data,
                           a[4].data,  numbers[0], numbers[1], numbers[2],
                           (double)(n_cells - 1)};
        Py_BEGIN_ALLOW_THREADS;
        if (are_ones(line.w, rows[0], rows[1])) /* counts are exact */
            sum_line(&line, rows[0], rows[1], 0);
        else
            sum_line(&line, rows[0], rows[1], 1);
        Py_END_ALLOW_THREADS;
    }
    drop_arrays(a, 5);
    return fits ? Py_NewRef(Py_None) : unfit("cell_sums");
}

#define SHARE(NAME, SCORE)                                                                                             \
    static void NAME(const SCORE *scores, const double *amount, Py_ssize_t n, double *grid, Py_ssize_t nodes)          \
    {                                                                                                                  \
        const double last = (double)nodes;                                                                             \
        for (Py_ssize_t i = 0; i < n; i++) {                                                                           \
            double place = (double)scores[i] * last;                                                                   \
            place = place > 0 ? place < last ? place : last : 0;                                                       \
            const Py_ssize_t below = (Py_ssize_t)place;                                                                \
            const double above = (place - (double)below) * amount[i];                                                  \
            grid[below] += amount[i] - above;                                                                          \
            grid[below + 1] += above;                                                                                  \
        }                                                                                                              \
    }

SHARE(share_floats, float)
SHARE(share_doubles, double)

/* share_out(scores, amount, grid): divides the amount of each row between the two evenly spaced nodes around its score;
 * the grid has one more entry than [0, 1] has nodes. */
static PyObject *share_out(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    static const char *const TAKES[] = {"fd", "d", ">d", NULL};
    Array a[3];
    (void)self;
    if (!take_arrays(args, n_args, TAKES, a))
        return NULL;
    const int fits = n_args == 3 && a[1].size == a[0].size && a[2].size >= 3;
    if (fits) {
        Py_BEGIN_ALLOW_THREADS;
        if (a[0].type == 'f')
            share_floats(a[0].data, a[1].data, a[0].size, a[2].data, a[2].size - 2);
        else
            share_doubles(a[0].data, a[1].data, a[0].size, a[2].data, a[2].size - 2);
        Py_END_ALLOW_THREADS;
    }
    drop_arrays(a, 3);
    return fits ? Py_NewRef(Py_None) : unfit("share_out");
}

PyMethodDef deposits_methods[] = {
    METHOD(cell_weights), METHOD(rows_in_cells), METHOD(cell_sums), METHOD(share_out), NO_MORE_METHODS,
};
