/* Softmax of b z, by row: sums of exp(x) x^j with x_k = b (z_k - max z) <= 0, and the derivatives of the cost in b. */
#include "exponential.h"

#define STRETCH 4096 /* columns after which sums of lanes are added up: longer chains of float32 would round too much */
#define ROWS 128     /* rows of a block, at most */
#define FEW 64       /* for no more columns, lanes are rows instead of columns */
#define FURTHEST 1e200 /* as in Python: labels further behind are clipped, so that sums are finite */
#define LOG2_E 1.4426950408889634
#define LOG_2 0.6931471805599453
#define LEAST -1009.0      /* 2^y of smaller numbers is negligible */
#define LEAST_FLOAT -115.0 /* in float32 */

/* The four sums of `rows` rows, in sums[j * ROWS + row]. Each loop is over LANES entries, which have sums of their own,
 * so that it becomes vector instructions: entries of one row, or of a column. Exponents are to base 2, y = x / log 2,
 * and not below `least`: were that a constant, the compiler would fold it into every sum. */
#define POWER_SUMS(NAME, LOGIT, NUMBER, LANES, POWER)                                                                  \
    INLINE void NAME##_add(const LOGIT *z, Py_ssize_t stride, const NUMBER *top, Py_ssize_t next_top, Py_ssize_t count,\
                           NUMBER b, NUMBER lowest, NUMBER *restrict s)                                                \
    {                                                                                                                  \
        for (Py_ssize_t l = 0; l < count; l++) {                                                                       \
            NUMBER y = ((NUMBER)z[l * stride] - top[l * next_top]) * b;                                                \
            y = y < lowest ? lowest : y;                                                                               \
            const NUMBER e = POWER(y), ey = e * y, eyy = ey * y;                                                       \
            s[l] += e;                                                                                                 \
            s[LANES + l] += ey;                                                                                        \
            s[2 * LANES + l] += eyy;                                                                                   \
            s[3 * LANES + l] += eyy * y;                                                                               \
        }                                                                                                              \
    }                                                                                                                  \
    FUSED WIDER static void NAME##_wide(const void *logits, const void *tops, Py_ssize_t rows, Py_ssize_t width,       \
                                        double b, double least, double *restrict sums)                                 \
    {                                                                                                                  \
        for (Py_ssize_t r = 0; r < rows; r++) {                                                                        \
            const LOGIT *z = (const LOGIT *)logits + r * width;                                                        \
            const NUMBER top = (NUMBER)((const LOGIT *)tops)[r], factor = (NUMBER)(b * LOG2_E), lowest = (NUMBER)least;\
            double total[4] = {0};                                                                                     \
            for (Py_ssize_t from = 0; from < width; from += STRETCH) {                                                 \
                const Py_ssize_t end = width - from < STRETCH ? width : from + STRETCH;                                \
                NUMBER s[4 * LANES] = {0};                                                                             \
                Py_ssize_t k = from;                                                                                   \
                for (; k + LANES <= end; k += LANES)                                                                   \
                    NAME##_add(z + k, 1, &top, 0, LANES, factor, lowest, s);                                           \
                NAME##_add(z + k, 1, &top, 0, end - k, factor, lowest, s);                                             \
                for (int j = 0; j < 4; j++) {                                                                          \
                    for (int half = LANES / 2; half > 0; half /= 2)                                                    \
                        for (int l = 0; l < half; l++)                                                                 \
                            s[j * LANES + l] += s[j * LANES + half + l];                                               \
                    total[j] += (double)s[j * LANES];                                                                  \
                }                                                                                                      \
            }                                                                                                          \
            sums[r] = total[0];                                                                                        \
            sums[ROWS + r] = total[1] * LOG_2;                                                                         \
            sums[2 * ROWS + r] = total[2] * (LOG_2 * LOG_2);                                                           \
            sums[3 * ROWS + r] = total[3] * (LOG_2 * LOG_2 * LOG_2);                                                   \
        }                                                                                                              \
    }                                                                                                                  \
    FUSED WIDER static void NAME##_few(const void *logits, const void *tops, Py_ssize_t rows, Py_ssize_t width,        \
                                       double b, double least, double *restrict sums)                                  \
    {                                                                                                                  \
        const NUMBER factor = (NUMBER)(b * LOG2_E), lowest = (NUMBER)least;                                            \
        for (Py_ssize_t r = 0; r < rows; r += LANES) {                                                                 \
            const LOGIT *z = (const LOGIT *)logits + r * width;                                                        \
            const Py_ssize_t count = rows - r < LANES ? rows - r : LANES;                                              \
            NUMBER s[4 * LANES] = {0}, top[LANES];                                                                     \
            for (Py_ssize_t l = 0; l < count; l++)                                                                     \
                top[l] = (NUMBER)((const LOGIT *)tops)[r + l];                                                         \
            if (count == LANES)                                                                                        \
                for (Py_ssize_t k = 0; k < width; k++)                                                                 \
                    NAME##_add(z + k, width, top, 1, LANES, factor, lowest, s);                                        \
            else                                                                                                       \
                for (Py_ssize_t k = 0; k < width; k++)                                                                 \
                    NAME##_add(z + k, width, top, 1, count, factor, lowest, s);                                        \
            for (Py_ssize_t l = 0; l < count; l++) {                                                                   \
                sums[r + l] = (double)s[l];                                                                            \
                sums[ROWS + r + l] = (double)s[LANES + l] * LOG_2;                                                     \
                sums[2 * ROWS + r + l] = (double)s[2 * LANES + l] * (LOG_2 * LOG_2);                                   \
                sums[3 * ROWS + r + l] = (double)s[3 * LANES + l] * (LOG_2 * LOG_2 * LOG_2);                           \
            }                                                                                                          \
        }                                                                                                              \
    }

POWER_SUMS(float_sums, float, double, 16, power_of_two_within)
POWER_SUMS(double_sums, double, double, 16, power_of_two_within)
POWER_SUMS(rough_float_sums, float, float, 32, power_of_two_float_within)
POWER_SUMS(rough_double_sums, double, float, 32, power_of_two_float_within)

typedef void (*Sums)(const void *, const void *, Py_ssize_t, Py_ssize_t, double, double, double *);

static Sums sums_for(char logit, int rough, Py_ssize_t width)
{
    static const Sums ALL[2][2][2] = {
        {{double_sums_wide, double_sums_few}, {rough_double_sums_wide, rough_double_sums_few}},
        {{float_sums_wide, float_sums_few}, {rough_float_sums_wide, rough_float_sums_few}},
    };
    return ALL[logit == 'f'][rough != 0][width <= FEW];
}

/* Returns where row r of an array begins. */
static const void *at_row(const Array *array, Py_ssize_t r, Py_ssize_t width)
{
    return (const char *)array->data + r * width * array->view.itemsize;
}

/* Returns the sum, computed as that of two halves, and so on. */
static double total_of(double *values, Py_ssize_t n)
{
    while (n > 1) {
        const Py_ssize_t half = n / 2, rest = n - half;
        for (Py_ssize_t i = 0; i < half; i++)
            values[i] += values[rest + i];
        n = rest;
    }
    return n == 1 ? values[0] : 0;
}

/* Derivatives of the cost of a block's rows, times b, b^2, b^3: cumulants of x, minus the label's x. */
WIDER static void cumulants(const double *restrict sums, const double *restrict behind, const double *weights,
                            Py_ssize_t rows, double b, double *restrict first, double *restrict second,
                            double *restrict third)
{
    for (Py_ssize_t r = 0; r < rows; r++) {
        const double total = sums[r], mean = sums[ROWS + r] / total, square = sums[2 * ROWS + r] / total;
        const double cube = sums[3 * ROWS + r] / total, variance = square - mean * mean, x = b * behind[r];
        first[r] = mean - (x < -FURTHEST ? -FURTHEST : x);
        second[r] = variance;
        third[r] = cube - mean * (square + 2 * variance);
    }
    if (weights != NULL)
        for (Py_ssize_t r = 0; r < rows; r++) {
            first[r] *= weights[r];
            second[r] *= weights[r];
            third[r] *= weights[r];
        }
}

/* slopes(logits, top, behind, weights, out, b, rough, block, start, stop): the derivatives of the rows of each block
 * from number start to stop, into out, of shape (3, blocks); `block` rows make one. */
static PyObject *slopes(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    static const char *const TAKES[] = {"fd", "fd", "d", "?d", ">d", NULL};
    Array a[5];
    Py_ssize_t numbers[4];
    (void)self;
    if (!take_arrays(args, n_args, TAKES, a))
        return NULL;
    const int given = take_numbers(args, n_args, 6, 4, numbers);
    const double b = given ? PyFloat_AsDouble(args[5]) : 0, *weights = a[3].data;
    const Py_ssize_t block = numbers[1], start = numbers[2], stop = numbers[3], n = a[1].size, blocks = a[4].size / 3;
    const Py_ssize_t width = n > 0 ? a[0].size / n : 0;
    const int fits = given && !PyErr_Occurred() && a[0].type == a[1].type && a[0].size == n * width && width > 0 &&
                     a[2].size == n && (weights == NULL || a[3].size == n) && block > 0 && block <= ROWS &&
                     a[4].size == 3 * blocks && blocks == (n - 1) / block + 1 && is_within(numbers + 2, blocks);
    if (fits) {
        const Sums sums_of = sums_for(a[0].type, numbers[0] != 0, width);
        const double lowest = numbers[0] ? LEAST_FLOAT : LEAST;
        double *const out = a[4].data;
        const double *const behind = a[2].data;
        Py_BEGIN_ALLOW_THREADS;
        double sums[4 * ROWS], parts[3][ROWS];
        for (Py_ssize_t i = start; i < stop; i++) {
            const Py_ssize_t row = i * block, rows = n - row < block ? n - row : block;
            sums_of(at_row(&a[0], row, width), at_row(&a[1], row, 1), rows, width, b, lowest, sums);
            const double *w = weights == NULL ? NULL : weights + row;
            cumulants(sums, behind + row, w, rows, b, parts[0], parts[1], parts[2]);
            for (int j = 0; j < 3; j++)
                out[j * blocks + i] = total_of(parts[j], rows);
        }
        Py_END_ALLOW_THREADS;
    }
    drop_arrays(a, 5);
    return fits ? Py_NewRef(Py_None) : unfit("slopes");
}

/* power_sums(logits, top, out, b, rough, start, stop): the sums of the rows from start to stop, for j below the number
 * of rows of out, which has a column for each row of the logits. */
static PyObject *power_sums(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    static const char *const TAKES[] = {"fd", "fd", ">d", NULL};
    Array a[3];
    Py_ssize_t numbers[3];
    (void)self;
    if (!take_arrays(args, n_args, TAKES, a))
        return NULL;
    const int given = take_numbers(args, n_args, 4, 3, numbers);
    const double b = given ? PyFloat_AsDouble(args[3]) : 0;
    const Py_ssize_t start = numbers[1], stop = numbers[2], n = a[1].size, width = n > 0 ? a[0].size / n : 0;
    const Py_ssize_t n_sums = n > 0 ? a[2].size / n : 0;
    const int fits = given && !PyErr_Occurred() && a[0].type == a[1].type && a[0].size == n * width && width > 0 &&
                     n_sums <= 4 && a[2].size == n_sums * n && is_within(numbers + 1, n);
    if (fits) {
        const Sums sums_of = sums_for(a[0].type, numbers[0] != 0, width);
        const double lowest = numbers[0] ? LEAST_FLOAT : LEAST;
        double *const out = a[2].data;
        Py_BEGIN_ALLOW_THREADS;
        double sums[4 * ROWS];
        for (Py_ssize_t row = start; row < stop; row += ROWS) {
            const Py_ssize_t rows = stop - row < ROWS ? stop - row : ROWS;
            sums_of(at_row(&a[0], row, width), at_row(&a[1], row, 1), rows, width, b, lowest, sums);
            for (Py_ssize_t j = 0; j < n_sums; j++)
                memcpy(out + j * n + row, sums + j * ROWS, (size_t)rows * sizeof(double));
        }
        Py_END_ALLOW_THREADS;
    }
    drop_arrays(a, 3);
    return fits ? Py_NewRef(Py_None) : unfit("power_sums");
}

/* P(label), and its first and second derivative with respect to log b, of a block's rows; out has n columns. */
FUSED WIDER static void terms_of(const double *restrict sums, const double *restrict behind, Py_ssize_t rows, double b,
                                 double *restrict p, double *restrict first, double *restrict second)
{
    for (Py_ssize_t r = 0; r < rows; r++) {
        const double mean = sums[ROWS + r] / sums[r], square = sums[2 * ROWS + r] / sums[r], given = b * behind[r];
        const double x = given < -700 ? -700 : given, ahead = x - mean;
        p[r] = exponential_within(x) / sums[r];
        first[r] = p[r] * ahead;
        second[r] = p[r] * (ahead * ahead + ahead - (square - mean * mean));
    }
}

/* label_terms(logits, top, behind, out, b, start, stop): those of the rows from start to stop, into out, (3, n). */
static PyObject *label_terms(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    static const char *const TAKES[] = {"fd", "fd", "d", ">d", NULL};
    Array a[4];
    Py_ssize_t numbers[2];
    (void)self;
    if (!take_arrays(args, n_args, TAKES, a))
        return NULL;
    const int given = take_numbers(args, n_args, 5, 2, numbers);
    const double b = given ? PyFloat_AsDouble(args[4]) : 0;
    const Py_ssize_t start = numbers[0], stop = numbers[1], n = a[1].size, width = n > 0 ? a[0].size / n : 0;
    const int fits = given && !PyErr_Occurred() && a[0].type == a[1].type && a[0].size == n * width && width > 0 &&
                     a[2].size == n && a[3].size == 3 * n && is_within(numbers, n);
    if (fits) {
        const Sums sums_of = sums_for(a[0].type, 0, width);
        double *const out = a[3].data;
        Py_BEGIN_ALLOW_THREADS;
        double sums[4 * ROWS];
        for (Py_ssize_t row = start; row < stop; row += ROWS) {
            const Py_ssize_t rows = stop - row < ROWS ? stop - row : ROWS;
            sums_of(at_row(&a[0], row, width), at_row(&a[1], row, 1), rows, width, b, LEAST, sums);
            terms_of(sums, (const double *)a[2].data + row, rows, b, out + row, out + n + row, out + 2 * n + row);
        }
        Py_END_ALLOW_THREADS;
    }
    drop_arrays(a, 4);
    return fits ? Py_NewRef(Py_None) : unfit("label_terms");
}

PyMethodDef temperature_methods[] = {
    METHOD(label_terms),
    METHOD(slopes),
    METHOD(power_sums),
    NO_MORE_METHODS,
};
