/* Which bin a score is in, by the rule of `uniform_index` and `bin_index`: bins are right-closed, and the first also
 * owns 0. */
#ifndef BELIEVABLE_BINS_H
#define BELIEVABLE_BINS_H

#include "arrays.h"

enum { UNIFORM, TABLE, SEARCH }; /* edges k/M; any edges, with a table of where to look; any edges */
#define LOOKUP 4096              /* cells of the table */

typedef struct {
    const void *edges;    /* n + 1 edges, in the type of the scores */
    const int32_t *first; /* for TABLE: the number of inner edges in cells before this one */
    Py_ssize_t n;
    int kind, apart; /* apart: 0 and 1 have separate bins, before and after the others */
} Bins;

/* Returns the bin of a score in [0, 1]. Edges k/M are computed again, which gives exactly the rounded edges, and unlike
 * a lookup can be done for several scores at once. */
#define BIN_OF(NAME, SCORE)                                                                                            \
    INLINE int32_t NAME(SCORE p, const Bins *bins, int kind, int apart)                                                \
    {                                                                                                                  \
        const SCORE *edges = bins->edges;                                                                              \
        int32_t k;                                                                                                     \
        if (kind == UNIFORM) {                                                                                         \
            k = (int32_t)(p * (SCORE)bins->n);                                                                         \
            k -= (p <= (SCORE)k / (SCORE)bins->n) & (k > 0);                                                           \
        } else {                                                                                                       \
            int32_t end = (int32_t)bins->n - 1;                                                                        \
            k = 0;                                                                                                     \
            if (kind == TABLE) {                                                                                       \
                const int32_t cell = (int32_t)(p * (SCORE)LOOKUP);                                                     \
                k = bins->first[cell], end = bins->first[cell + 1];                                                    \
            }                                                                                                          \
            while (k < end) {                                                                                          \
                const int32_t middle = (k + end) / 2;                                                                  \
                if (edges[middle + 1] < p)                                                                             \
                    k = middle + 1;                                                                                    \
                else                                                                                                   \
                    end = middle;                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
        return apart ? k + (p > 0) + (p >= 1) : k;                                                                     \
    }

BIN_OF(bin_of_float, float)
BIN_OF(bin_of_double, double)

#define MOST_BINS (INT32_MAX / 4) /* so that codes of bins and labels are an int32 */
#define MOST_FLOATS (1 << 24)     /* a float distinguishes whole numbers up to this */

/* Returns bins for scores of a type, from edges and the table, if there is one. n is 0 if a lookup would not be safe,
 * because an entry of the table is not a bin. */
static inline Bins take_bins(const Array *edges, const Array *first, char score, Py_ssize_t kind, Py_ssize_t apart)
{
    Bins bins = {edges->data, first->data, edges->size - 1, (int)kind, apart != 0};
    int fits = edges->type == score && bins.n >= 1 && bins.n < MOST_BINS && kind >= UNIFORM && kind <= SEARCH;
    fits = fits && (kind != UNIFORM || score != 'f' || bins.n <= MOST_FLOATS);
    if (kind == TABLE) {
        int32_t low = 0, high = 0;
        fits = fits && first->size == LOOKUP + 2;
        for (Py_ssize_t i = 0; fits && i < LOOKUP + 2; i++) {
            low = bins.first[i] < low ? bins.first[i] : low;
            high = bins.first[i] > high ? bins.first[i] : high;
        }
        fits = fits && low >= 0 && high < bins.n;
    }
    if (!fits)
        bins.n = 0;
    return bins;
}

#endif
