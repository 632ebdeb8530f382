/* Rows for a tally: scores or logits, labels, and weights or none.
 *
 * A pass over rows writes to arrays of its own and says whether every row is valid; only then is anything added to the
 * tally. Rows with the ignored label, or with weight 0, are left out: they may hold anything. */
#ifndef BELIEVABLE_TALLY_H
#define BELIEVABLE_TALLY_H

#include "arrays.h"

#define LIGHTEST_WEIGHT 1e-100 /* squares of weights neither underflow nor overflow */
#define HEAVIEST_WEIGHT 1e100
#define LEFT_OUT (-1) /* the slot and the label of a row that is not counted */

/* The sums of a tally, in the order of TALLY_SUM_NAMES. */
enum { ROW_BRIER, ROW_NLL, ROW_CORRECT, ROW_CONFIDENCE, ROW_ENTROPY, N_ROW_TERMS };
enum { SUM_N, SUM_W, SUM_W2, SUM_TERMS, SUM_SPREAD = SUM_TERMS + N_ROW_TERMS, SUM_SPREAD_VARIANCE, SUM_W2_SQUARED };
enum { SUM_W2X = SUM_W2_SQUARED + 1, SUM_W2XX = SUM_W2X + N_ROW_TERMS, SUM_BY_CHANCE = SUM_W2XX + N_ROW_TERMS };
#define N_TALLY_SUMS (SUM_BY_CHANCE + 2)

typedef struct {
    Array scores, labels, weights;
    int from_logits, is_ignoring;
    int64_t ignored;
} GivenRows;

/* The rows at the front of the arguments: scores, labels and weights in `a`, and three numbers. */
static inline GivenRows given_rows(const Array *a, const Py_ssize_t *numbers)
{
    return (GivenRows){a[0], a[1], a[2], numbers[0] != 0, numbers[1] != 0, (int64_t)numbers[2]};
}

static inline int64_t label_of(const Array *labels, Py_ssize_t i)
{
#define LABEL(TYPE) return (int64_t)((const TYPE *)labels->data)[i]
    OF_INTEGERS(labels->type, LABEL)
#undef LABEL
}

static inline double weight_of(const GivenRows *rows, Py_ssize_t i)
{
    return rows->weights.data == NULL ? 1 : ((const double *)rows->weights.data)[i];
}

static inline int is_weight(double w)
{
    return w >= LIGHTEST_WEIGHT && w <= HEAVIEST_WEIGHT;
}

/* --- codes -------------------------------------------------------------------------------------------------------- */

#define LOOKUP 4096 /* cells of the table that narrows the search for a code */

#define ROUNDED_AWAY 2.4e-7 /* how far bounds may be from k/M, in float32 */

/* How a score becomes a code: the number of bounds below it. */
typedef struct {
    const double *bounds;
    const int32_t *first; /* number of bounds below k / LOOKUP; NULL if the bounds are k/M, and the last is next to 1 */
    Py_ssize_t n_bounds;
} Codes;

/* Codes from bounds and the table, if there is one. n_bounds is 0 if a search would not stay within the bounds. */
static inline Codes take_codes(const Array *bounds, const Array *first)
{
    int fits = bounds->size >= 2 && bounds->size < INT32_MAX && (first->data == NULL || first->size == LOOKUP + 2);
    for (Py_ssize_t k = 0; fits && k < first->size; k++) {
        const int32_t below = ((const int32_t *)first->data)[k];
        fits = below >= 0 && below <= (int32_t)bounds->size;
    }
    return (Codes){bounds->data, first->data, fits ? bounds->size : 0};
}

/* The code of a score in [0, 1]. */
INLINE Py_ssize_t code_of(double p, const Codes *codes)
{
    const double *const bounds = codes->bounds;
    if (codes->first == NULL) {
        const double cells = (double)(codes->n_bounds - 1), place = p * cells, window = cells * ROUNDED_AWAY;
        Py_ssize_t code = (Py_ssize_t)place;
        if (place - (double)code > window && place - (double)code < 1 - window)
            return code + 1; /* too far from every bound for its rounding to matter */
        while (code < codes->n_bounds && bounds[code] < p)
            code++;
        while (code > 0 && bounds[code - 1] >= p)
            code--;
        return code;
    }
    const Py_ssize_t cell = (Py_ssize_t)(p * LOOKUP);
    Py_ssize_t low = codes->first[cell], high = codes->first[cell + 1];
    while (low < high) {
        const Py_ssize_t middle = (low + high) / 2;
        if (bounds[middle] < p)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#endif
