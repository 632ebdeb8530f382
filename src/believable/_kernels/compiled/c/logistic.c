/* First and second derivatives of a logistic likelihood with few parameters, for `believable._kernels.logistic`. */
#include "exponential.h"

#define CHUNK 256       /* points whose means stay in the nearest cache */
#define LANES 8
#define MOST_COLUMNS 8

/* Computes the terms of the points of a chunk, y - mu and mu (1 - mu) times weight, both accurate in the tails too. */
WIDER static void residuals(const double *predictor, const double *above, const double *below, Py_ssize_t n,
                            double *residual, double *variance)
{
    for (Py_ssize_t i = 0; i < n; i++) {
        const double x = predictor[i], tail = exponential(x < 0 ? x : -x);
        const double large = 1 / (1 + tail), small = tail * large;
        const double mu = x >= 0 ? large : small, nu = x >= 0 ? small : large;
        residual[i] = above[i] * nu - below[i] * mu;
        variance[i] = (above[i] + below[i]) * (small * large);
    }
}

/* Returns the sum of products; both arrays are padded with 0 to whole lanes. */
WIDER static double inner(const double *a, const double *b, Py_ssize_t n)
{
    double lane[LANES] = {0};
    for (Py_ssize_t i = 0; i < n; i += LANES)
        for (int j = 0; j < LANES; j++)
            lane[j] += a[i + j] * b[i + j];
    return ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

WIDER static void add_times(double c, const double *x, Py_ssize_t n, double *to)
{
    for (Py_ssize_t i = 0; i < n; i++)
        to[i] += c * x[i];
}

WIDER static void multiply(const double *a, const double *b, Py_ssize_t n, double *to)
{
    for (Py_ssize_t i = 0; i < n; i++)
        to[i] = a[i] * b[i];
}

typedef struct {
    const double *columns, *offset; /* (k, points) and (points) */
    Py_ssize_t k, points;
} Design;

/* Adds the gradient, and the upper half of the information row by row, of some points to `out`. */
static void derive(const Design *design, const double *coefficients, const double *above, const double *below,
                   Py_ssize_t start, Py_ssize_t stop, double *out)
{
    double predictor[CHUNK], residual[CHUNK], variance[CHUNK], times[CHUNK], x[MOST_COLUMNS][CHUNK];
    for (Py_ssize_t at = start; at < stop; at += CHUNK) {
        const Py_ssize_t n = stop - at < CHUNK ? stop - at : CHUNK, padded = (n + LANES - 1) / LANES * LANES;
        memcpy(predictor, design->offset + at, (size_t)n * sizeof(double));
        for (Py_ssize_t k = 0; k < design->k; k++) {
            memcpy(x[k], design->columns + k * design->points + at, (size_t)n * sizeof(double));
            memset(x[k] + n, 0, (size_t)(padded - n) * sizeof(double));
            add_times(coefficients[k], x[k], n, predictor);
        }
        residuals(predictor, above + at, below + at, n, residual, variance);
        memset(residual + n, 0, (size_t)(padded - n) * sizeof(double));
        memset(variance + n, 0, (size_t)(padded - n) * sizeof(double));
        double *to = out;
        for (Py_ssize_t k = 0; k < design->k; k++)
            *to++ += inner(residual, x[k], padded);
        for (Py_ssize_t k = 0; k < design->k; k++) {
            multiply(variance, x[k], padded, times);
            for (Py_ssize_t j = k; j < design->k; j++)
                *to++ += inner(times, x[j], padded);
        }
    }
}

/* logistic_sums(coefficients, columns, offset, positive, negative, out, each, first, last): computes the derivatives
 * for every replicate and every part of `each` points, from number first to last; parts of the same replicate have
 * consecutive numbers. Coefficients have shape (replicates, k), positive and negative (replicates, points), out
 * (replicates, parts, k + k (k + 1) / 2). */
static PyObject *logistic_sums(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    static const char *const TAKES[] = {"d", "d", "d", "d", "d", ">d", NULL};
    Array a[6];
    Py_ssize_t numbers[3];
    (void)self;
    if (!take_arrays(args, n_args, TAKES, a))
        return NULL;
    const int given = take_numbers(args, n_args, 6, 3, numbers);
    const Py_ssize_t each = numbers[0], first = numbers[1], last = numbers[2], points = a[2].size;
    const Py_ssize_t k = points > 0 ? a[1].size / points : 0, replicates = points > 0 ? a[3].size / points : 0;
    const Py_ssize_t parts = each > 0 ? (points + each - 1) / each : 0, width = k + k * (k + 1) / 2;
    const int fits = given && parts > 0 && k > 0 && k <= MOST_COLUMNS && a[1].size == k * points &&
                     a[3].size == replicates * points && a[4].size == a[3].size && a[0].size == replicates * k &&
                     a[5].size == replicates * parts * width && is_within(numbers + 1, replicates * parts);
    if (fits) {
        const Design design = {a[1].data, a[2].data, k, points};
        Py_BEGIN_ALLOW_THREADS;
        for (Py_ssize_t task = first; task < last; task++) {
            const Py_ssize_t replicate = task / parts, start = task % parts * each;
            derive(&design, (const double *)a[0].data + replicate * k, (const double *)a[3].data + replicate * points,
                   (const double *)a[4].data + replicate * points, start, points - start < each ? points : start + each,
                   (double *)a[5].data + task * width);
        }
        Py_END_ALLOW_THREADS;
    }
    drop_arrays(a, 6);
    return fits ? Py_NewRef(Py_None) : unfit("logistic_sums");
}

PyMethodDef logistic_methods[] = {
    METHOD(logistic_sums),
    NO_MORE_METHODS,
};
