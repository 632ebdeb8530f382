/* Where numbers lie between ascending knots, and lines from knot to knot: the rules of `believable._kernels.piecewise`.
 *
 * A table over evenly spaced cells says how many knots lie in cells before each, so that a search is short. Numbers and
 * knots come to their cells by one map that never falls, and so cells compare as they do. */
#include "arrays.h"

typedef struct {
    const void *knots;
    const int32_t *first; /* of each cell and the one after the last; or NULL */
    Py_ssize_t n, n_cells;
    double low, scale; /* the cell of x is (x - low) * scale, in the type of x */
} Knots;

/* The number of knots below x, or, with or_equal, not above it; NaN is above all. */
#define BELOW(NAME, SCORE)                                                                                             \
    INLINE Py_ssize_t NAME(SCORE x, const Knots *k, int or_equal)                                                      \
    {                                                                                                                  \
        const SCORE *const knots = k->knots;                                                                           \
        Py_ssize_t from = 0, end = k->n;                                                                               \
        if (x != x)                                                                                                    \
            return end;                                                                                                \
        if (k->first != NULL) {                                                                                        \
            const SCORE last = (SCORE)(k->n_cells - 1), raw = (x - (SCORE)k->low) * (SCORE)k->scale;                   \
            const SCORE place = raw > 0 ? raw < last ? raw : last : 0;                                                 \
            const int32_t cell = (int32_t)place;                                                                       \
            from = k->first[cell], end = k->first[cell + 1];                                                           \
        }                                                                                                              \
        while (from < end) {                                                                                           \
            const Py_ssize_t middle = from + (end - from) / 2;                                                         \
            const int above = or_equal ? knots[middle] <= x : knots[middle] < x;                                       \
            from = above ? middle + 1 : from;                                                                          \
            end = above ? end : middle;                                                                                \
        }                                                                                                              \
        return from;                                                                                                   \
    }

BELOW(below_float, float)
BELOW(below_double, double)

#define ALL_BELOW(NAME, SCORE, BELOW_IT)                                                                               \
    static void NAME(const SCORE *x, Knots k, int64_t *out, int or_equal, Py_ssize_t start, Py_ssize_t stop)           \
    {                                                                                                                  \
        if (or_equal)                                                                                                  \
            for (Py_ssize_t i = start; i < stop; i++)                                                                  \
                out[i] = (int64_t)BELOW_IT(x[i], &k, 1);                                                               \
        else                                                                                                           \
            for (Py_ssize_t i = start; i < stop; i++)                                                                  \
                out[i] = (int64_t)BELOW_IT(x[i], &k, 0);                                                               \
    }

ALL_BELOW(floats_below, float, below_float)
ALL_BELOW(doubles_below, double, below_double)

/* A table, as large as it says, whose entries lead nowhere but to knots. */
static int is_table(const Array *first, Py_ssize_t n_knots)
{
    if (first->data == NULL)
        return 1;
    const int32_t *const at = first->data;
    int well = first->size >= 2 && first->size <= INT32_MAX;
    for (Py_ssize_t i = 0; well && i < first->size; i++)
        well = at[i] >= (i > 0 ? at[i - 1] : 0) && at[i] <= n_knots;
    return well && at[0] == 0 && at[first->size - 1] == n_knots;
}

static Knots knots_of(const Array *knots, const Array *first, double low, double scale)
{
    return (Knots){knots->data, first->data, knots->size, first->data == NULL ? 0 : first->size - 1, low, scale};
}

/* knots_below(x, knots, first, out, or_equal, low, scale, start, stop): for some x, how many knots lie below. */
static PyObject *knots_below(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    static const char *const TAKES[] = {"fd", "fd", "?i", ">q", NULL};
    Array a[4];
    (void)self;
    if (!take_arrays(args, n_args, TAKES, a))
        return NULL;
    const int known = n_args == 9;
    const int or_equal = known ? PyObject_IsTrue(args[4]) : 0;
    const double low = known ? PyFloat_AsDouble(args[5]) : 0, scale = known ? PyFloat_AsDouble(args[6]) : 0;
    const Py_ssize_t start = known ? PyLong_AsSsize_t(args[7]) : -1, stop = known ? PyLong_AsSsize_t(args[8]) : -1;
    const int fits = !PyErr_Occurred() && a[0].type == a[1].type && a[3].size == a[0].size && start >= 0 &&
                     start <= stop && stop <= a[0].size && is_table(&a[2], a[1].size);
    if (fits) {
        const Knots knots = knots_of(&a[1], &a[2], low, scale);
        Py_BEGIN_ALLOW_THREADS;
        if (a[0].type == 'f')
            floats_below(a[0].data, knots, a[3].data, or_equal, start, stop);
        else
            doubles_below(a[0].data, knots, a[3].data, or_equal, start, stop);
        Py_END_ALLOW_THREADS;
    }
    drop_arrays(a, 4);
    return fits ? Py_NewRef(Py_None) : unfit("knots_below");
}

/* pieces: for each knot, where it is (in units), the gap to the next, its value, the rise to the next and the next. */
enum { AT, GAP, VALUE, RISE, TOP, N_PIECE };

static void draw_lines(const double *x, Knots knots, const double *pieces, double unit, double *out, Py_ssize_t start,
                       Py_ssize_t stop)
{
    for (Py_ssize_t i = start; i < stop; i++) {
        const Py_ssize_t below = below_double(x[i], &knots, 1);
        const double *const piece = pieces + (below > 0 ? below - 1 : 0) * N_PIECE;
        const double along = x[i] / unit - piece[AT];
        const double share = (along > 0 ? along : along != along ? along : 0) / piece[GAP]; /* NaN stays */
        const double value = piece[VALUE] + share * piece[RISE];
        out[i] = value > piece[TOP] ? piece[TOP] : value;
    }
}

/* knot_lines(x, knots, first, pieces, out, unit, low, scale, start, stop): the lines at some x. */
static PyObject *knot_lines(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    static const char *const TAKES[] = {"d", "d", "?i", "d", ">d", NULL};
    Array a[5];
    (void)self;
    if (!take_arrays(args, n_args, TAKES, a))
        return NULL;
    const int known = n_args == 10;
    double numbers[3] = {0, 0, 0};
    for (int i = 0; i < 3 && known; i++)
        numbers[i] = PyFloat_AsDouble(args[5 + i]);
    const Py_ssize_t start = known ? PyLong_AsSsize_t(args[8]) : -1, stop = known ? PyLong_AsSsize_t(args[9]) : -1;
    const int fits = !PyErr_Occurred() && a[1].size > 0 && a[3].size == N_PIECE * a[1].size && a[4].size == a[0].size &&
                     start >= 0 && start <= stop && stop <= a[0].size && is_table(&a[2], a[1].size);
    if (fits) {
        const Knots knots = knots_of(&a[1], &a[2], numbers[1], numbers[2]);
        Py_BEGIN_ALLOW_THREADS;
        draw_lines(a[0].data, knots, a[3].data, numbers[0], a[4].data, start, stop);
        Py_END_ALLOW_THREADS;
    }
    drop_arrays(a, 5);
    return fits ? Py_NewRef(Py_None) : unfit("knot_lines");
}

PyMethodDef piecewise_methods[] = {
    METHOD(knots_below),
    METHOD(knot_lines),
    NO_MORE_METHODS,
};
