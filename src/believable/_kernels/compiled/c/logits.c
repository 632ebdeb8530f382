/* Logits by row: the largest, how far the label's is behind it, the largest difference; and softmax. */
#include "exponential.h"

#define ROWS 128 /* rows of a block */
#define FEW 64   /* for no more columns, lanes are rows instead of columns */
#define FARTHEST_BEHIND (-1.7976931348623157e308)

/* The largest and the smallest of `rows` rows. Each loop is over LANES entries, of one row or of a column, that have
 * extremes of their own, so that it becomes vector instructions. */
#define EXTREMES(NAME, LOGIT, LANES)                                                                                   \
    INLINE void NAME##_add(const LOGIT *z, Py_ssize_t stride, Py_ssize_t count, LOGIT *restrict high,                  \
                           LOGIT *restrict low)                                                                        \
    {                                                                                                                  \
        for (Py_ssize_t l = 0; l < count; l++) {                                                                       \
            const LOGIT value = z[l * stride];                                                                         \
            high[l] = value > high[l] ? value : high[l];                                                               \
            low[l] = value < low[l] ? value : low[l];                                                                  \
        }                                                                                                              \
    }                                                                                                                  \
    WIDER static void NAME##_wide(const void *logits, Py_ssize_t rows, Py_ssize_t width, void *top, void *bottom)      \
    {                                                                                                                  \
        for (Py_ssize_t r = 0; r < rows; r++) {                                                                        \
            const LOGIT *z = (const LOGIT *)logits + r * width;                                                        \
            LOGIT high[LANES], low[LANES];                                                                             \
            for (int l = 0; l < LANES; l++)                                                                            \
                high[l] = low[l] = z[0];                                                                               \
            Py_ssize_t k = 0;                                                                                          \
            for (; k + LANES <= width; k += LANES)                                                                     \
                NAME##_add(z + k, 1, LANES, high, low);                                                                \
            NAME##_add(z + k, 1, width - k, high, low);                                                                \
            for (int half = LANES / 2; half > 0; half /= 2)                                                            \
                for (int l = 0; l < half; l++) {                                                                       \
                    high[l] = high[half + l] > high[l] ? high[half + l] : high[l];                                     \
                    low[l] = low[half + l] < low[l] ? low[half + l] : low[l];                                          \
                }                                                                                                      \
            ((LOGIT *)top)[r] = high[0];                                                                               \
            ((LOGIT *)bottom)[r] = low[0];                                                                             \
        }                                                                                                              \
    }                                                                                                                  \
    WIDER static void NAME##_few(const void *logits, Py_ssize_t rows, Py_ssize_t width, void *top, void *bottom)       \
    {                                                                                                                  \
        for (Py_ssize_t r = 0; r < rows; r += LANES) {                                                                 \
            const LOGIT *z = (const LOGIT *)logits + r * width;                                                        \
            const Py_ssize_t count = rows - r < LANES ? rows - r : LANES;                                              \
            LOGIT high[LANES], low[LANES];                                                                             \
            for (Py_ssize_t l = 0; l < count; l++)                                                                     \
                high[l] = low[l] = z[l * width];                                                                       \
            if (count == LANES)                                                                                        \
                for (Py_ssize_t k = 1; k < width; k++)                                                                 \
                    NAME##_add(z + k, width, LANES, high, low);                                                        \
            else                                                                                                       \
                for (Py_ssize_t k = 1; k < width; k++)                                                                 \
                    NAME##_add(z + k, width, count, high, low);                                                        \
            memcpy((LOGIT *)top + r, high, (size_t)count * sizeof(LOGIT));                                             \
            memcpy((LOGIT *)bottom + r, low, (size_t)count * sizeof(LOGIT));                                           \
        }                                                                                                              \
    }                                                                                                                  \
    /* Computes how far the labels' logits are below the largest, and returns the largest difference; -1 if a label is
     * not a column. */   \
    static double NAME##_behind(const LOGIT *z, Py_ssize_t rows, Py_ssize_t width, const LOGIT *top,                   \
                                const LOGIT *bottom, const int64_t *labels, double *behind)                            \
    {                                                                                                                  \
        double spread = 0;                                                                                             \
        for (Py_ssize_t r = 0; r < rows; r++) {                                                                        \
            if ((uint64_t)labels[r] >= (uint64_t)width)                                                                \
                return -1;                                                                                             \
            const double difference = (double)top[r] - (double)bottom[r];                                              \
            const double own = (double)z[r * width + labels[r]] - (double)top[r];                                      \
            behind[r] = own < FARTHEST_BEHIND ? FARTHEST_BEHIND : own;                                                 \
            spread = difference > spread ? difference : spread;                                                        \
        }                                                                                                              \
        return spread;                                                                                                 \
    }

EXTREMES(float_extremes, float, 32)
EXTREMES(double_extremes, double, 16)

static void copy_labels(const Array *labels, Py_ssize_t start, Py_ssize_t n, int64_t *to)
{
    /* A number that does not fit into 63 bits becomes negative, which is no label. */
#define COPY(TYPE)                                                                                                     \
    for (Py_ssize_t i = 0; i < n; i++)                                                                                 \
        to[i] = (int64_t)((const TYPE *)labels->data)[start + i]
    OF_INTEGERS(labels->type, COPY)
#undef COPY
}

static double look(const Array *a, Py_ssize_t width, Py_ssize_t start, Py_ssize_t stop)
{
    const int is_float = a[0].type == 'f', few = width <= FEW;
    float low_floats[ROWS];
    double low_doubles[ROWS], *const behind = a[3].data, spread = 0;
    int64_t labels[ROWS];
    for (Py_ssize_t row = start; row < stop; row += ROWS) {
        const Py_ssize_t rows = stop - row < ROWS ? stop - row : ROWS;
        double widest;
        copy_labels(&a[1], row, rows, labels);
        if (is_float) {
            const float *z = (const float *)a[0].data + row * width;
            float *top = (float *)a[2].data + row;
            (few ? float_extremes_few : float_extremes_wide)(z, rows, width, top, low_floats);
            widest = float_extremes_behind(z, rows, width, top, low_floats, labels, behind + row);
        } else {
            const double *z = (const double *)a[0].data + row * width;
            double *top = (double *)a[2].data + row;
            (few ? double_extremes_few : double_extremes_wide)(z, rows, width, top, low_doubles);
            widest = double_extremes_behind(z, rows, width, top, low_doubles, labels, behind + row);
        }
        if (widest < 0)
            return -1;
        spread = widest > spread ? widest : spread;
    }
    return spread;
}

/* logit_rows(logits, labels, top, behind, start, stop): fills top, of the type of the logits, and behind for the rows
 * from start to stop; returns their largest difference. */
static PyObject *logit_rows(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    static const char *const TAKES[] = {"fd", "bBhHiIqQ", ">fd", ">d", NULL};
    Array a[4];
    (void)self;
    if (!take_arrays(args, n_args, TAKES, a))
        return NULL;
    Py_ssize_t range[2];
    const Py_ssize_t n = a[1].size, width = n > 0 ? a[0].size / n : 0;
    double spread = -1;
    if (!take_numbers(args, n_args, 4, 2, range) || !is_within(range, n) || a[0].size != n * width ||
        a[2].type != a[0].type || a[2].size != n || a[3].size != n || (n > 0 && width == 0)) {
        unfit("logit_rows");
    } else {
        Py_BEGIN_ALLOW_THREADS;
        spread = look(a, width, range[0], range[1]);
        Py_END_ALLOW_THREADS;
        if (spread < 0)
            PyErr_SetString(PyExc_IndexError, "a label is not the number of a column");
    }
    drop_arrays(a, 4);
    return spread < 0 ? NULL : PyFloat_FromDouble(spread);
}

/* --- softmax ------------------------------------------------------------------------------------------------------ */

#define SOFTMAX(NAME, LOGIT, LARGEST)                                                                                  \
    FUSED WIDER static void NAME##_wide(const LOGIT *logits, Py_ssize_t rows, Py_ssize_t width, double temperature,    \
                                        const LOGIT *tops, double *restrict out)                                       \
    {                                                                                                                  \
        enum { LANES = 16 };                                                                                           \
        for (Py_ssize_t r = 0; r < rows; r++) {                                                                        \
            const LOGIT *z = logits + r * width;                                                                       \
            double *restrict p = out + r * width, s[LANES] = {0};                                                      \
            const double top = (double)tops[r];                                                                        \
            for (Py_ssize_t k = 0; k < width; k++)                                                                     \
                p[k] = exponential(((double)z[k] - top) / temperature);                                                \
            Py_ssize_t k = 0;                                                                                          \
            for (; k + LANES <= width; k += LANES)                                                                     \
                for (int l = 0; l < LANES; l++)                                                                        \
                    s[l] += p[k + l];                                                                                  \
            for (; k < width; k++)                                                                                     \
                s[k % LANES] += p[k];                                                                                  \
            for (int half = LANES / 2; half > 0; half /= 2)                                                            \
                for (int l = 0; l < half; l++)                                                                         \
                    s[l] += s[half + l];                                                                               \
            for (k = 0; k < width; k++)                                                                                \
                p[k] /= s[0];                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    FUSED WIDER static void NAME##_few(const LOGIT *logits, Py_ssize_t rows, Py_ssize_t width, double temperature,     \
                                       const LOGIT *tops, double *restrict out)                                        \
    {                                                                                                                  \
        enum { LANES = 16 };                                                                                           \
        double e[FEW * LANES];                                                                                         \
        for (Py_ssize_t r = 0; r < rows; r += LANES) {                                                                 \
            const Py_ssize_t count = rows - r < LANES ? rows - r : LANES;                                              \
            const LOGIT *z = logits + r * width;                                                                       \
            double s[LANES] = {0}, top[LANES] = {0};                                                                   \
            for (Py_ssize_t l = 0; l < count; l++)                                                                     \
                top[l] = (double)tops[r + l];                                                                          \
            if (count < LANES)                                                                                         \
                memset(e, 0, sizeof e);                                                                                \
            for (Py_ssize_t k = 0; k < width; k++)                                                                     \
                if (count == LANES)                                                                                    \
                    for (int l = 0; l < LANES; l++)                                                                    \
                        e[k * LANES + l] = (double)z[l * width + k];                                                   \
                else                                                                                                   \
                    for (Py_ssize_t l = 0; l < count; l++)                                                             \
                        e[k * LANES + l] = (double)z[l * width + k];                                                   \
            for (Py_ssize_t k = 0; k < width; k++)                                                                     \
                for (int l = 0; l < LANES; l++) {                                                                      \
                    e[k * LANES + l] = exponential((e[k * LANES + l] - top[l]) / temperature);                         \
                    s[l] += e[k * LANES + l];                                                                          \
                }                                                                                                      \
            for (Py_ssize_t k = 0; k < width; k++)                                                                     \
                for (int l = 0; l < LANES; l++)                                                                        \
                    e[k * LANES + l] /= s[l];                                                                          \
            for (Py_ssize_t l = 0; l < count; l++)                                                                     \
                for (Py_ssize_t k = 0; k < width; k++)                                                                 \
                    out[(r + l) * width + k] = e[k * LANES + l];                                                       \
        }                                                                                                              \
    }                                                                                                                  \
    static void NAME(const LOGIT *logits, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t width, double temperature,     \
                     double *out)                                                                                      \
    {                                                                                                                  \
        LOGIT top[ROWS], bottom[ROWS];                                                                                 \
        for (Py_ssize_t row = start; row < stop; row += ROWS) {                                                        \
            const Py_ssize_t rows = stop - row < ROWS ? stop - row : ROWS;                                             \
            const LOGIT *z = logits + row * width;                                                                     \
            (width <= FEW ? LARGEST##_few : LARGEST##_wide)(z, rows, width, top, bottom);                              \
            (width <= FEW ? NAME##_few : NAME##_wide)(z, rows, width, temperature, top, out + row * width);            \
        }                                                                                                              \
    }

SOFTMAX(float_softmax, float, float_extremes)
SOFTMAX(double_softmax, double, double_extremes)

/* softmax(logits, out, temperature, width, start, stop): rows from start to stop of exp(z / T) over its sum. */
static PyObject *softmax(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    static const char *const TAKES[] = {"fd", ">d", NULL};
    Array a[2];
    Py_ssize_t numbers[3];
    (void)self;
    if (!take_arrays(args, n_args, TAKES, a))
        return NULL;
    const int given = take_numbers(args, n_args, 3, 3, numbers);
    const double temperature = given ? PyFloat_AsDouble(args[2]) : 1;
    const Py_ssize_t width = numbers[0], start = numbers[1], stop = numbers[2];
    const int fits = given && !PyErr_Occurred() && a[0].size == a[1].size && width > 0 && a[0].size % width == 0 &&
                     is_within(numbers + 1, a[0].size / width);
    if (fits) {
        Py_BEGIN_ALLOW_THREADS;
        if (a[0].type == 'f')
            float_softmax(a[0].data, start, stop, width, temperature, a[1].data);
        else
            double_softmax(a[0].data, start, stop, width, temperature, a[1].data);
        Py_END_ALLOW_THREADS;
    }
    drop_arrays(a, 2);
    return fits ? Py_NewRef(Py_None) : unfit("softmax");
}

PyMethodDef logits_methods[] = {
    METHOD(logit_rows),
    METHOD(softmax),
    NO_MORE_METHODS,
};
