/* Sums over pairs of sorted points with the kernel exp(-|x_i - x_j| / h), in one walk along the points.
 *
 * What is behind is kept in units of an anchor a: sum v_i exp((x_i - a) / h). As long as points are near the anchor,
 * their exponentials are short polynomials; where they are not, the sum fades and the anchor moves on. So nothing
 * overflows, and a dense crowd of points multiplies no chain of factors that are all rounded the same way. */
#include "sorting.h"

#define CHUNK 256
#define NEAR 0.0625 /* for |u| up to this, nine powers give exp(u) */
#define SLIGHT 0.125 /* for t up to this, eleven give 1 - exp(-t) */

enum { SUMS, BEFORE, AROUND, FORM, PAIRS };

SORT_OF(sort_points, Keyed, uint64_t, KEY_FIELD)

typedef struct {
    const double *x, *values;
    Py_ssize_t n;
    double h;
} Walk;

WIDER static void exponentials(const double *u, double *out, Py_ssize_t n)
{
    for (Py_ssize_t i = 0; i < n; i++) {
        double e = 1.0 / 362880;
        e = e * u[i] + 1.0 / 40320;
        e = e * u[i] + 1.0 / 5040;
        e = e * u[i] + 1.0 / 720;
        e = e * u[i] + 1.0 / 120;
        e = e * u[i] + 1.0 / 24;
        e = e * u[i] + 1.0 / 6;
        e = e * u[i] + 0.5;
        e = e * u[i] + 1;
        out[i] = e * u[i] + 1;
    }
}

/* 1 - exp(-t) */
WIDER static void losses(const double *t, double *out, Py_ssize_t n)
{
    int64_t large = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        const double s = -t[i];
        double e = 1.0 / 39916800;
        e = e * s + 1.0 / 3628800;
        e = e * s + 1.0 / 362880;
        e = e * s + 1.0 / 40320;
        e = e * s + 1.0 / 5040;
        e = e * s + 1.0 / 720;
        e = e * s + 1.0 / 120;
        e = e * s + 1.0 / 24;
        e = e * s + 1.0 / 6;
        e = e * s + 0.5;
        out[i] = -s * (e * s + 1);
        large |= t[i] > SLIGHT;
    }
    for (Py_ssize_t i = 0; large && i < n; i++)
        if (t[i] > SLIGHT)
            out[i] = -expm1(-t[i]);
}

/* A walk back goes from the last point to the first. */
INLINE Py_ssize_t at(const Walk *walk, Py_ssize_t i, int back)
{
    return back ? walk->n - 1 - i : i;
}

INLINE double steps(const Walk *walk, Py_ssize_t i, double anchor, int back)
{
    const double x = walk->x[at(walk, i, back)];
    return (back ? anchor - x : x - anchor) / walk->h;
}

/* Returns how many points from start on, at most CHUNK, are near the anchor. */
INLINE Py_ssize_t length(const Walk *walk, Py_ssize_t start, double anchor, int back)
{
    const Py_ssize_t most = walk->n - start < CHUNK ? walk->n - start : CHUNK;
    if (steps(walk, start + most - 1, anchor, back) <= NEAR)
        return most;
    Py_ssize_t n = 1;
    while (n < most && steps(walk, start + n, anchor, back) <= NEAR) /* NaN is not near, either */
        n++;
    return n;
}

static double sum_of_products(const double *first, const double *second, Py_ssize_t n)
{
    double sums[4] = {0, 0, 0, 0};
    Py_ssize_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (int lane = 0; lane < 4; lane++)
            sums[lane] += first[i + lane] * second[i + lane];
    for (; i < n; i++)
        sums[0] += first[i] * second[i];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/* Writes the requested sums to out, or returns the quadratic form or the sum over pairs. */
INLINE double go(const Walk *walk, int what, int back, double *out)
{
    double u[CHUNK], growth[CHUNK], v[CHUNK], sums[CHUNK];
    double anchor = walk->x[at(walk, 0, back)], base = 0, total = 0;
    const int own = what == SUMS || what == FORM;
    for (Py_ssize_t start = 0, n; start < walk->n; start += n) {
        const double away = steps(walk, start, anchor, back);
        if (away > NEAR)
            base *= exp(-away), anchor = walk->x[at(walk, start, back)];
        n = length(walk, start, anchor, back);
        for (Py_ssize_t i = 0; i < n; i++)
            u[i] = steps(walk, start + i, anchor, back), v[i] = walk->values[at(walk, start + i, back)];
        exponentials(u, growth, n);
        double here = 0;
        for (Py_ssize_t i = 0; i < n; i++) {
            const double before = here;
            here += v[i] * growth[i];
            sums[i] = own ? here : before;
        }
        for (Py_ssize_t i = 0; i < n; i++)
            sums[i] = (base + sums[i]) / growth[i];
        base += here;
        if (what == PAIRS) {
            total += sum_of_products(sums, v, n);
        } else if (what == FORM) {
            const Py_ssize_t inner = start + n < walk->n ? n : n - 1; /* points that have one after them */
            const double *const x = walk->x + start;
            if (inner < n)
                total += sums[n - 1] * sums[n - 1];
            for (Py_ssize_t i = 0; i < inner; i++) {
                u[i] = 2 * ((x[i + 1] - x[i]) / walk->h);
                sums[i] *= sums[i];
            }
            losses(u, growth, inner);
            total += sum_of_products(sums, growth, inner);
        } else {
            for (Py_ssize_t i = 0; i < n; i++)
                out[at(walk, start + i, back)] = back ? out[at(walk, start + i, back)] + sums[i] : sums[i];
        }
    }
    return total;
}

/* fade(x, values, out, bandwidth, what, start, stop): for these rows of values, with one column per point, computes
 * what: 0, the decaying sums up to each point; 1, those before it; 2, those before and after it; 3, the quadratic form.
 * */
static PyObject *fade(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    static const char *const TAKES[] = {"d", "d", ">d", NULL};
    Array a[3];
    (void)self;
    if (!take_arrays(args, n_args, TAKES, a))
        return NULL;
    Py_ssize_t numbers[3];
    const int given = take_numbers(args, n_args, 4, 3, numbers);
    const double h = given ? PyFloat_AsDouble(args[3]) : 0;
    const Py_ssize_t n = a[0].size, rows = n > 0 ? a[1].size / n : 0, wanted = numbers[0];
    const int fits = given && !PyErr_Occurred() && n > 0 && a[1].size == rows * n && wanted >= SUMS && wanted <= FORM &&
                     a[2].size == (wanted == FORM ? rows : a[1].size) && is_within(numbers + 1, rows);
    if (fits) {
        double *const out = a[2].data;
        Py_BEGIN_ALLOW_THREADS;
        for (Py_ssize_t row = numbers[1]; row < numbers[2]; row++) {
            const Walk walk = {a[0].data, (const double *)a[1].data + row * n, n, h};
            if (wanted == FORM) {
                out[row] = go(&walk, FORM, 0, NULL);
            } else if (wanted == SUMS) {
                go(&walk, SUMS, 0, out + row * n);
            } else {
                go(&walk, BEFORE, 0, out + row * n);
                if (wanted == AROUND)
                    go(&walk, BEFORE, 1, out + row * n);
            }
        }
        Py_END_ALLOW_THREADS;
    }
    drop_arrays(a, 3);
    return fits ? Py_NewRef(Py_None) : unfit("fade");
}

/* Sums over the pairs of a few points in any order; `room` holds 2 n numbers. */
static double pairs_of_few(const double *x, const double *values, Py_ssize_t n, double h, double *room)
{
    double *const sorted = room, *const ordered = room + n;
    for (Py_ssize_t i = 0; i < n; i++) {
        Py_ssize_t place = i;
        for (; place > 0 && sorted[place - 1] > x[i]; place--)
            sorted[place] = sorted[place - 1], ordered[place] = ordered[place - 1];
        sorted[place] = x[i], ordered[place] = values[i];
    }
    double behind = 0, total = 0;
    for (Py_ssize_t i = 1; i < n; i++) {
        behind = (behind + ordered[i - 1]) * exp(-((sorted[i] - sorted[i - 1]) / h));
        total += behind * ordered[i];
    }
    return total;
}

/* The same for more points; `room` holds 2 n items and 2 n numbers. */
static double pairs_of(const double *x, const double *values, Py_ssize_t n, double h, Keyed *room, uint32_t *counts)
{
    double *const sorted = (double *)(room + 2 * n), *const ordered = sorted + n;
    if (n <= FEW_ITEMS)
        return pairs_of_few(x, values, n, h, sorted);
    for (Py_ssize_t i = 0; i < n; i++)
        room[i] = (Keyed){key_of_double(x[i]), (uint64_t)i};
    sort_points(room, room + n, n, counts);
    for (Py_ssize_t i = 0; i < n; i++)
        sorted[i] = x[room[i].row], ordered[i] = values[room[i].row];
    const Walk walk = {sorted, ordered, n, h};
    return go(&walk, PAIRS, 0, NULL);
}

/* fade_pairs(x, values, out, bandwidth, start, stop): writes the sum over pairs of points within each of these rows. */
static PyObject *fade_pairs(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    static const char *const TAKES[] = {"d", "d", ">d", NULL};
    Array a[3];
    PyObject *result = NULL;
    uint32_t *counts = NULL;
    Keyed *room = NULL;
    (void)self;
    if (!take_arrays(args, n_args, TAKES, a))
        return NULL;
    Py_ssize_t range[2];
    const int given = take_numbers(args, n_args, 4, 2, range);
    const double h = given ? PyFloat_AsDouble(args[3]) : 0;
    const Py_ssize_t rows = a[2].size, n = rows > 0 ? a[0].size / rows : 0;
    if (!given || PyErr_Occurred() || n < 1 || (uint64_t)n > UINT32_MAX || a[0].size != rows * n ||
        a[1].size != a[0].size || !is_within(range, rows)) {
        unfit("fade_pairs");
    } else if ((counts = malloc(ROOM_FOR_COUNTS)) == NULL ||
               (room = room_for(n, 2 * (sizeof(Keyed) + sizeof(double)))) == NULL) {
        PyErr_NoMemory();
    } else {
        const double *const x = a[0].data, *const values = a[1].data;
        double *const out = a[2].data;
        Py_BEGIN_ALLOW_THREADS;
        for (Py_ssize_t row = range[0]; row < range[1]; row++)
            out[row] = pairs_of(x + row * n, values + row * n, n, h, room, counts);
        Py_END_ALLOW_THREADS;
        result = Py_NewRef(Py_None);
    }
    free(room);
    free(counts);
    drop_arrays(a, 3);
    return result;
}

PyMethodDef laplace_methods[] = {METHOD(fade), METHOD(fade_pairs), NO_MORE_METHODS};
