/* A first look at pieces of rows: see rows.h. Plain loops over lanes, which compilers turn into vectors. */
#include "rows.h"

#define PIECE 4096 /* entries of many columns */
#define SMALL 1024 /* entries of few columns: with their bins and positions in a table they fit in the L1 cache */
#define TURNED 64  /* rows transposed at a time; a multiple of BESIDE */
#define STRETCH 64 /* columns searched together */

Py_ssize_t rows_in_piece(Py_ssize_t width)
{
    if (width > FEW_COLUMNS)
        return PIECE > width ? PIECE / width : 1;
    const Py_ssize_t rows = SMALL / width / TURNED * TURNED;
    return rows > TURNED ? rows : TURNED;
}

#define AS_COLUMNS(NAME, LABEL)                                                                                        \
    WIDER static int NAME(const LABEL *labels, Py_ssize_t n, Py_ssize_t width, int32_t *column)                        \
    {                                                                                                                  \
        int well = 1;                                                                                                  \
        for (Py_ssize_t i = 0; i < n; i++) {                                                                           \
            const uint64_t label = (uint64_t)(int64_t)labels[i]; /* a negative one is large */                         \
            const int fits = label < (uint64_t)width;                                                                  \
            well &= fits;                                                                                              \
            column[i] = fits ? (int32_t)label : 0;                                                                     \
        }                                                                                                              \
        return well;                                                                                                   \
    }

AS_COLUMNS(columns_of_int8_t, int8_t)
AS_COLUMNS(columns_of_uint8_t, uint8_t)
AS_COLUMNS(columns_of_int16_t, int16_t)
AS_COLUMNS(columns_of_uint16_t, uint16_t)
AS_COLUMNS(columns_of_int32_t, int32_t)
AS_COLUMNS(columns_of_uint32_t, uint32_t)
AS_COLUMNS(columns_of_int64_t, int64_t)
AS_COLUMNS(columns_of_uint64_t, uint64_t)

int labels_as_columns(const Array *labels, Py_ssize_t start, Py_ssize_t n, Py_ssize_t width, int32_t *column)
{
#define COLUMNS_OF(TYPE) return columns_of_##TYPE((const TYPE *)labels->data + start, n, width, column)
    OF_INTEGERS(labels->type, COLUMNS_OF)
#undef COLUMNS_OF
}

/* Rows of few columns are turned, so that a lane is a row: TURNED at a time, since what was just written bit by bit
 * cannot be read as a vector before it has reached the cache. */
#define LOOK(NAME, SCORE, LARGEST)                                                                                     \
    INLINE void NAME##_beside(const SCORE *x, Py_ssize_t n, Py_ssize_t width, SCORE *top, int32_t *column, SCORE *low, \
                              double *sum)                                                                             \
    {                                                                                                                  \
        SCORE turned[FEW_COLUMNS * TURNED];                                                                            \
        for (Py_ssize_t j = 0; j < TURNED; j++) {                                                                      \
            const SCORE *row = x + (j < n ? j : n - 1) * width;                                                        \
            for (Py_ssize_t k = 0; k < width; k++)                                                                     \
                turned[k * TURNED + j] = row[k];                                                                       \
        }                                                                                                              \
        for (Py_ssize_t i = 0; i < TURNED && i < n; i += BESIDE) {                                                     \
            SCORE high[BESIDE], least[BESIDE], total[BESIDE];                                                          \
            int32_t at[BESIDE];                                                                                        \
            for (int j = 0; j < BESIDE; j++)                                                                           \
                high[j] = least[j] = total[j] = turned[i + j], at[j] = 0;                                              \
            for (int32_t k = 1; k < (int32_t)width; k++)                                                               \
                for (int j = 0; j < BESIDE; j++) {                                                                     \
                    const SCORE p = turned[k * TURNED + i + j];                                                        \
                    const int32_t better = p > high[j] ? k : 0;                                                        \
                    at[j] = better > at[j] ? better : at[j]; /* without a branch, which would wait */                  \
                    high[j] = p > high[j] ? p : high[j];                                                               \
                    least[j] = p < least[j] ? p : least[j];                                                            \
                    total[j] += p;                                                                                     \
                }                                                                                                      \
            for (Py_ssize_t j = 0; j < (n - i < BESIDE ? n - i : BESIDE); j++)                                         \
                top[i + j] = high[j], column[i + j] = at[j], low[i + j] = least[j], sum[i + j] = (double)total[j];     \
        }                                                                                                              \
    }                                                                                                                  \
    INLINE void NAME##_along(const SCORE *x, Py_ssize_t width, SCORE *top, int32_t *column, SCORE *low, double *sum)   \
    {                                                                                                                  \
        SCORE high = x[0], least = x[0], total = 0;                                                                    \
        TOGETHER(reduction(max : high) reduction(min : least) reduction(+ : total))                                    \
        for (Py_ssize_t k = 0; k < width; k++) {                                                                       \
            const SCORE p = x[k];                                                                                      \
            high = p > high ? p : high;                                                                                \
            least = p < least ? p : least;                                                                             \
            total += p;                                                                                                \
        }                                                                                                              \
        if (high == -LARGEST || least == LARGEST) { /* where some compilers start, though it is not infinite */        \
            high = least = x[0];                                                                                       \
            for (Py_ssize_t k = 1; k < width; k++)                                                                     \
                high = x[k] > high ? x[k] : high, least = x[k] < least ? x[k] : least;                                 \
        }                                                                                                              \
        Py_ssize_t k = 0;                                                                                              \
        for (int found = 0; k + STRETCH <= width; k += STRETCH) {                                                      \
            TOGETHER(reduction(| : found))                                                                             \
            for (int j = 0; j < STRETCH; j++)                                                                          \
                found |= x[k + j] == high;                                                                             \
            if (found)                                                                                                 \
                break;                                                                                                 \
        }                                                                                                              \
        while (k < width - 1 && x[k] != high)                                                                          \
            k++;                                                                                                       \
        *top = high, *column = (int32_t)k, *low = least, *sum = (double)total;                                         \
    }                                                                                                                  \
    WIDER void NAME(const SCORE *x, Py_ssize_t n, Py_ssize_t width, SCORE *top, int32_t *column, SCORE *low,           \
                    double *sum)                                                                                       \
    {                                                                                                                  \
        if (width > FEW_COLUMNS)                                                                                       \
            for (Py_ssize_t i = 0; i < n; i++)                                                                         \
                NAME##_along(x + i * width, width, top + i, column + i, low + i, sum + i);                             \
        else                                                                                                           \
            for (Py_ssize_t i = 0; i < n; i += TURNED)                                                                 \
                NAME##_beside(x + i * width, n - i, width, top + i, column + i, low + i, sum + i);                     \
    }

LOOK(look_at_floats, float, FLT_MAX)
LOOK(look_at_doubles, double, DBL_MAX)

#define SUM_ROWS(NAME, SCORE)                                                                                          \
    WIDER void NAME(const SCORE *x, Py_ssize_t n, Py_ssize_t width, double *sum)                                       \
    {                                                                                                                  \
        for (Py_ssize_t i = 0; i < n; i++, x += width) {                                                               \
            SCORE total = 0;                                                                                           \
            if (width > FEW_COLUMNS) {                                                                                 \
                TOGETHER(reduction(+ : total))                                                                         \
                for (Py_ssize_t k = 0; k < width; k++)                                                                 \
                    total += x[k];                                                                                     \
            } else {                                                                                                   \
                for (Py_ssize_t k = 0; k < width; k++)                                                                 \
                    total += x[k];                                                                                     \
            }                                                                                                          \
            sum[i] = (double)total;                                                                                    \
        }                                                                                                              \
    }                                                                                                                  \
    WIDER int SCORE##s_inside(const SCORE *x, Py_ssize_t n)                                                            \
    {                                                                                                                  \
        SCORE high = 0, least = 0, total = 0; /* the total is NaN if one of them is */                                 \
        TOGETHER(reduction(max : high) reduction(min : least) reduction(+ : total))                                    \
        for (Py_ssize_t i = 0; i < n; i++) {                                                                           \
            high = x[i] > high ? x[i] : high;                                                                          \
            least = x[i] < least ? x[i] : least;                                                                       \
            total += x[i];                                                                                             \
        }                                                                                                              \
        return (least >= 0) & (high <= 1) & (total == total);                                                          \
    }

SUM_ROWS(sum_float_rows, float)
SUM_ROWS(sum_double_rows, double)

WIDER int near_one(const double *sum, Py_ssize_t n, double tolerance)
{
    double high = 1, least = 1, total = 0;
    TOGETHER(reduction(max : high) reduction(min : least) reduction(+ : total))
    for (Py_ssize_t i = 0; i < n; i++) {
        high = sum[i] > high ? sum[i] : high;
        least = sum[i] < least ? sum[i] : least;
        total += sum[i];
    }
    return (high <= 1 + tolerance) & (least >= 1 - tolerance) & (total == total);
}

#define PLACE(NAME, SCORE, BIN)                                                                                        \
    WIDER static void NAME##_uniform(const SCORE *x, Py_ssize_t n, Bins bins, int32_t *bin)                            \
    {                                                                                                                  \
        if (bins.apart)                                                                                                \
            for (Py_ssize_t i = 0; i < n; i++)                                                                         \
                bin[i] = BIN(x[i], &bins, UNIFORM, 1);                                                                 \
        else                                                                                                           \
            for (Py_ssize_t i = 0; i < n; i++)                                                                         \
                bin[i] = BIN(x[i], &bins, UNIFORM, 0);                                                                 \
    }                                                                                                                  \
    void NAME(const SCORE *x, Py_ssize_t n, const Bins *bins, int32_t *bin)                                            \
    {                                                                                                                  \
        if (bins->kind == UNIFORM)                                                                                     \
            NAME##_uniform(x, n, *bins, bin);                                                                          \
        else                                                                                                           \
            for (Py_ssize_t i = 0; i < n; i++)                                                                         \
                bin[i] = BIN(x[i], bins, bins->kind, bins->apart);                                                     \
    }

PLACE(place_floats, float, bin_of_float)
PLACE(place_doubles, double, bin_of_double)
