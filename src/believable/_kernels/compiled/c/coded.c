/* Converts rows or tables by code to the cells of a grid. Codes are sums of cell numbers, so they grow with the cells
 * of every grid. */
#include "coded.h"

#define MOST_BITS 11 /* bits of a code that one round of sorting uses */

/* --- few rows: sorted by code ------------------------------------------------------------------------------------- */

typedef struct {
    int32_t code, row;
} Coded;

static void sort_round(const Coded *from, Coded *to, Py_ssize_t n, int shift, int bits, Py_ssize_t *starts)
{
    const Py_ssize_t n_starts = (Py_ssize_t)1 << bits, mask = n_starts - 1;
    memset(starts, 0, (size_t)(n_starts + 1) * sizeof *starts);
    for (Py_ssize_t i = 0; i < n; i++)
        starts[((from[i].code >> shift) & mask) + 1]++;
    for (Py_ssize_t k = 1; k < n_starts; k++)
        starts[k] += starts[k - 1];
    for (Py_ssize_t i = 0; i < n; i++)
        to[starts[(from[i].code >> shift) & mask]++] = from[i];
}

/* Sorts the rows by code; the result is in one of the two arrays. */
static const Coded *sorted(const int32_t *codes, Py_ssize_t n, Coded *one, Coded *other)
{
    Py_ssize_t starts[(1 << MOST_BITS) + 1];
    int32_t largest = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        one[i] = (Coded){codes[i], (int32_t)i};
        largest = codes[i] > largest ? codes[i] : largest;
    }
    int bits = 1;
    while (largest >> bits > 0)
        bits++;
    const int rounds = (bits + MOST_BITS - 1) / MOST_BITS, each = (bits + rounds - 1) / rounds;
    for (int shift = 0; shift < bits; shift += each) {
        sort_round(one, other, n, shift, each, starts);
        Coded *const kept = one;
        one = other, other = kept;
    }
    return one;
}

#define WIDEN(TYPE)                                                                                                    \
    for (Py_ssize_t i = 0; i < array->size; i++)                                                                       \
        to[i] = (double)((const TYPE *)array->data)[i]

/* Numbers of any type as float64. */
WIDER static const double *widened(const Array *array, double *to)
{
    if (array->type == 'd')
        return array->data;
    OF_ENTRIES(array->type, WIDEN)
    return to;
}

/* `room` is for 3 n numbers. */
INLINE Py_ssize_t sum_as(const Coded *rows, const Array *a, double *room, int32_t *found, double *sums, int moments,
                         int soft)
{
    const Py_ssize_t n = a[0].size;
    const double *const p = widened(&a[1], room), *const y = widened(&a[2], room + n);
    const double *const w = moments == 3 ? NULL : widened(&a[3], room + 2 * n);
    Py_ssize_t k = -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        const int32_t row = rows[i].row;
        if (k < 0 || found[k] != rows[i].code) {
            found[++k] = rows[i].code;
            for (int j = 0; j < 2 * moments; j++)
                sums[k * 2 * moments + j] = 0;
        }
        const double weight = moments == 3 ? 1 : w[row];
        double *at = sums + k * 2 * moments;
        if (soft)
            add_row(at + moments, y[row], p[row], weight, moments);
        else
            at += y[row] > 0 ? moments : 0;
        add_row(at, 1, p[row], weight, moments);
    }
    return k + 1;
}

static Py_ssize_t sum_sorted(const Coded *rows, const Array *a, double *room, int32_t *found, double *sums)
{
    const int soft = is_soft(a[2].type);
    if (a[3].data == NULL)
        return soft ? sum_as(rows, a, room, found, sums, 3, 1) : sum_as(rows, a, room, found, sums, 3, 0);
    return sum_as(rows, a, room, found, sums, 7, soft);
}

/* sum_by_code(codes, scores, labels, weights, found, sums): writes the codes that occur, in ascending order, and the
 * moments of each; returns how many there are. */
static PyObject *sum_by_code(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    static const char *const TAKES[] = {"i", "fd", "bBhHiIqQfd", "?d", ">i", ">d", NULL};
    Array a[6];
    (void)self;
    if (!take_arrays(args, n_args, TAKES, a))
        return NULL;
    const Py_ssize_t n = a[0].size, moments = a[3].data == NULL ? 3 : 7;
    const int32_t *codes = a[0].data;
    int32_t least = 0;
    for (Py_ssize_t i = 0; i < n; i++)
        least = codes[i] < least ? codes[i] : least;
    Coded *room = NULL;
    double *wide = NULL;
    PyObject *result = NULL;
    if (n_args != 6 || n >= INT32_MAX || a[1].size != n || a[2].size != n || (a[3].data != NULL && a[3].size != n) ||
        a[4].size < n || a[5].size / (2 * moments) < n || least < 0) {
        unfit("sum_by_code");
    } else if ((room = room_for(n, 2 * sizeof(Coded))) == NULL ||
               (wide = room_for(n, 3 * sizeof(double))) == NULL) {
        PyErr_NoMemory();
    } else {
        Py_ssize_t n_found;
        Py_BEGIN_ALLOW_THREADS;
        n_found = sum_sorted(sorted(codes, n, room, room + n), a, wide, a[4].data, a[5].data);
        Py_END_ALLOW_THREADS;
        result = PyLong_FromSsize_t(n_found);
    }
    free(wide);
    free(room);
    drop_arrays(a, 6);
    return result;
}

/* --- many rows: what is in tables --------------------------------------------------------------------------------- */

/* Adds all tables and keeps the codes with rows, whose sums go to the front of the first table. */
static Py_ssize_t pick(double *tables, Py_ssize_t n_tables, Py_ssize_t n_codes, Py_ssize_t width, int32_t *found)
{
    Py_ssize_t k = 0;
    for (Py_ssize_t code = 0; code < n_codes; code++) {
        double *const to = tables + k * width;
        for (Py_ssize_t j = 0; j < width; j++)
            to[j] = tables[code * width + j];
        for (Py_ssize_t table = 1; table < n_tables; table++)
            for (Py_ssize_t j = 0; j < width; j++)
                to[j] += tables[(table * n_codes + code) * width + j];
        found[k] = (int32_t)code;
        k += to[0] > 0 || to[width / 2] > 0;
    }
    return k;
}

/* occupied(tables, found, n_tables): adds tables of moments by code, and keeps the codes with rows: writes these to
 * `found`, and their sums in the same order to the front of the first table. Returns how many there are. */
static PyObject *occupied(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    static const char *const TAKES[] = {">d", ">i", NULL};
    Array a[2];
    (void)self;
    if (!take_arrays(args, n_args, TAKES, a))
        return NULL;
    Py_ssize_t n_tables;
    take_numbers(args, n_args, 2, 1, &n_tables);
    const Py_ssize_t n_codes = a[1].size;
    const Py_ssize_t width = n_tables > 0 && n_codes > 0 ? a[0].size / n_tables / n_codes : 0;
    PyObject *result = NULL;
    if (n_tables < 1 || n_codes > INT32_MAX || width < 2 || a[0].size != n_tables * n_codes * width) {
        unfit("occupied");
    } else {
        Py_ssize_t n_found;
        Py_BEGIN_ALLOW_THREADS;
        n_found = pick(a[0].data, n_tables, n_codes, width, a[1].data);
        Py_END_ALLOW_THREADS;
        result = PyLong_FromSsize_t(n_found);
    }
    drop_arrays(a, 2);
    return result;
}

/* --- from codes to the cells of one grid -------------------------------------------------------------------------- */

typedef struct {
    const int32_t *found, *cells; /* codes, and the cell of every code */
    const double *sums;
    Py_ssize_t n, n_codes, moments, room; /* room: number of cells that fit */
    int soft;
    int64_t *keys;
    double *of_all, *of_positive; /* of shape (moments, room) */
} Codes;

/* Returns the number of cells; -1 if a code has none. */
static Py_ssize_t count_cells(const Codes *codes)
{
    Py_ssize_t n = 0;
    for (Py_ssize_t i = 0; i < codes->n; i++) {
        if (codes->found[i] < 0 || codes->found[i] >= codes->n_codes)
            return -1;
        n += i == 0 || codes->cells[codes->found[i]] != codes->cells[codes->found[i - 1]];
    }
    return n;
}

static void sum_cells(const Codes *codes)
{
    const Py_ssize_t m = codes->moments;
    Py_ssize_t k = -1;
    for (Py_ssize_t i = 0; i < codes->n; i++) {
        const int32_t cell = codes->cells[codes->found[i]];
        if (k < 0 || codes->keys[k] != cell) {
            codes->keys[++k] = cell;
            for (Py_ssize_t j = 0; j < m; j++)
                codes->of_all[j * codes->room + k] = codes->of_positive[j * codes->room + k] = 0;
        }
        const double *first = codes->sums + i * 2 * m, *second = first + m;
        for (Py_ssize_t j = 0; j < m; j++) {
            codes->of_all[j * codes->room + k] += codes->soft ? first[j] : first[j] + second[j];
            codes->of_positive[j * codes->room + k] += second[j];
        }
    }
}

/* cells_of_codes(found, sums, cells, keys, out, soft): writes the cells that hold these codes, and their moments, of
 * all rows and of those with outcome 1. Returns how many there are; without keys and out, it only counts them. */
static PyObject *cells_of_codes(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    static const char *const COUNT[] = {"i", "d", "i", NULL}, *const SUM[] = {"i", "d", "i", ">q", ">d", NULL};
    const int counts = n_args == 3;
    Array a[5];
    (void)self;
    if (!take_arrays(args, n_args, counts ? COUNT : SUM, a))
        return NULL;
    Codes codes = {.found = a[0].data, .cells = a[2].data, .sums = a[1].data, .n = a[0].size, .n_codes = a[2].size};
    PyObject *result = NULL;
    Py_ssize_t n, soft = 0;
    Py_BEGIN_ALLOW_THREADS;
    n = count_cells(&codes);
    Py_END_ALLOW_THREADS;
    int fits = n >= 0 && (counts || take_numbers(args, n_args, 5, 1, &soft));
    if (!counts && n > 0) {
        codes.room = n, codes.moments = a[1].size / codes.n / 2, codes.soft = soft != 0;
        codes.keys = a[3].data, codes.of_all = a[4].data, codes.of_positive = codes.of_all + n * codes.moments;
        fits &= a[1].size == codes.n * 2 * codes.moments && a[3].size == n && a[4].size == 2 * n * codes.moments;
    }
    if (!fits) {
        unfit("cells_of_codes");
    } else {
        Py_BEGIN_ALLOW_THREADS;
        if (!counts)
            sum_cells(&codes);
        Py_END_ALLOW_THREADS;
        result = PyLong_FromSsize_t(n);
    }
    drop_arrays(a, counts ? 3 : 5);
    return result;
}

PyMethodDef coded_methods[] = {
    METHOD(sum_by_code),
    METHOD(occupied),
    METHOD(cells_of_codes),
    NO_MORE_METHODS,
};
