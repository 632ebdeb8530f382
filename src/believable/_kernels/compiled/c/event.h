/* A block of 1-D scores and their outcomes in float64: the sums behind proper scores, and the cells on several grids.
 *
 * A row's cell grows with its score on every grid, so the sum of its cell numbers, its code, determines each of them. */
#ifndef BELIEVABLE_EVENT_H
#define BELIEVABLE_EVENT_H

#include "coded.h"
#include "logarithm.h"

#define ROWS 256       /* rows of a block, whose buffers fit in the L1 cache */
#define AHEAD 16       /* rows whose slots are prefetched: the tables do not fit in a near cache */
#define LANES 8        /* rows of a block alternate among lanes: sums vectorise, and round less */
#define MOST_GRIDS 8
#define MOST_CELLS (1 << 27) /* largest sum of cells of a code, so that positions and codes fit into an int32 */
#define LARGEST_LOGIT 36.75  /* logit of the float64 below 1, log(2^53 - 1), plus a little for rounding */

enum { W, W2, WP, WY, BRIER, NLL, CORRECT, CONFIDENCE, ENTROPY, SPREAD, SPREAD_VARIANCE, W2_SQUARED, DEVIATION };
#define N_SUMS 13

typedef struct {
    const double *edges;   /* n + 1 of them */
    const int32_t *table;  /* for logit-spaced cells: number of edges below the scores next to 1 */
    Py_ssize_t n, n_table; /* cells between {0} and {1}; last entry of the table */
    double reach;
} Grid;

typedef struct {
    double p[ROWS], y[ROWS], w[ROWS], log_p[ROWS], log_q[ROWS], place[ROWS], window[ROWS];
    int32_t code[ROWS], cell[ROWS + AHEAD], look[ROWS];
} Block;

/* --- from the arrays to float64 ----------------------------------------------------------------------------------- */

#define WIDEN(TYPE)                                                                                                    \
    for (Py_ssize_t i = 0; i < n; i++)                                                                                 \
        to[i] = (double)((const TYPE *)array->data)[start + i]

WIDER static void widen(const Array *array, Py_ssize_t start, Py_ssize_t n, double *to)
{
    OF_ENTRIES(array->type, WIDEN)
}

/* Blocks are padded to whole lanes with rows of weight 0. */
static Py_ssize_t filled(Py_ssize_t n)
{
    return (n + LANES - 1) / LANES * LANES;
}

/* Computes log p and log(1 - p), with 0 instead of -infinity, because 0 log 0 is 0 in the entropy. 1 - p is rounded,
 * and its rounding error is added back. */
WIDER static void logarithms(Block *block, Py_ssize_t n)
{
    for (Py_ssize_t i = 0; i < n; i++) {
        const double p = block->p[i], q = 1 - p, log_p = logarithm(p);
        block->log_p[i] = p > 0 ? log_p : 0;
        block->log_q[i] = logarithm_of_normal(q > 0 ? q : 1, q > 0 ? (1 - q) - p : 0, 0);
    }
}

/* --- sums of rows ------------------------------------------------------------------------------------------------- */

static double total(const double *lanes)
{
    return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

/* n is a multiple of LANES; rows beyond the block's have weight 0. */
WIDER static void sum_block(const Block *block, Py_ssize_t n, double *sums)
{
    double lane[N_SUMS + 1][LANES] = {{0}};
    for (Py_ssize_t start = 0; start < n; start += LANES)
        for (int j = 0; j < LANES; j++) {
            const Py_ssize_t i = start + j;
            const double p = block->p[i], y = block->y[i], w = block->w[i], w2 = w * w, q = 1 - p, not_y = 1 - y;
            const double log_p = block->log_p[i], log_q = block->log_q[i], tilt = q - p;
            const double brier = y * (q * q) + not_y * (p * p), impossible = (p > 0 ? 0 : y) + (q > 0 ? 0 : not_y);
            lane[W][j] += w;
            lane[W2][j] += w2;
            lane[WP][j] += w * p;
            lane[WY][j] += w * y;
            lane[BRIER][j] += w * brier;
            lane[NLL][j] -= w * (y * log_p + not_y * log_q);
            lane[CORRECT][j] += w * (p > 0.5 ? y : not_y);
            lane[CONFIDENCE][j] += w * (p > q ? p : q);
            lane[ENTROPY][j] -= w * (p * log_p + q * log_q);
            lane[SPREAD][j] += w * ((y - p) * tilt);
            lane[SPREAD_VARIANCE][j] += w2 * ((tilt * tilt) * (q * p));
            lane[W2_SQUARED][j] += w2 * brier;
            lane[N_SUMS][j] += w * impossible;
        }
    for (int k = 0; k < DEVIATION; k++)
        sums[k] = total(lane[k]);
    if (total(lane[N_SUMS]) > 0)
        sums[NLL] = (double)INFINITY;
    const double mean = sums[WP] / sums[W];
    double deviation[LANES] = {0};
    for (Py_ssize_t start = 0; start < n; start += LANES)
        for (int j = 0; j < LANES; j++) {
            const double away = block->p[start + j] - mean;
            deviation[j] += block->w[start + j] * (away * away);
        }
    sums[DEVIATION] = total(deviation);
}

/* --- cells -------------------------------------------------------------------------------------------------------- */

/* Writes the cell of each row among n cells to `cell`, and to `look` whether rounding may have changed it. */
WIDER static void place_uniform(Block *block, Py_ssize_t n, double cells, double window)
{
    for (Py_ssize_t i = 0; i < n; i++) {
        const double product = block->p[i] * cells;
        const int32_t k = (int32_t)product;
        block->cell[i] = k;
        block->look[i] = product - k <= window;
    }
}

/* The same for logit-spaced cells; a score of 0, or of at least `high`, must be looked up too. Two loops, because one
 * would not be vectorised. */
WIDER static void place_logit(Block *block, Py_ssize_t n, double per_unit, double middle, double window, double high)
{
    for (Py_ssize_t i = 0; i < n; i++) {
        const double x = (block->log_p[i] - block->log_q[i]) * per_unit + middle, p = block->p[i];
        block->place[i] = x > 0 ? x : 0;
        block->window[i] = fabs(p - high / 2) < high / 2 ? window : 2;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        const int32_t k = (int32_t)block->place[i];
        block->cell[i] = k;
        block->look[i] = block->place[i] - k <= block->window[i];
    }
}

/* The entry of a table, if it is a valid cell. */
INLINE int32_t capped(int32_t cell, int32_t last)
{
    return (uint32_t)cell < (uint32_t)last ? cell : last;
}

/* Writes the rows to look at again; there are few, so several are passed over at once. */
static Py_ssize_t find_open(const int32_t *look, Py_ssize_t n, int32_t *open)
{
    enum { SEVERAL = 8 };
    Py_ssize_t n_open = 0;
    for (Py_ssize_t start = 0; start < n; start += SEVERAL) {
        uint64_t any[SEVERAL / 2];
        memcpy(any, look + start, sizeof any);
        if ((any[0] | any[1] | any[2] | any[3]) == 0)
            continue;
        for (Py_ssize_t i = start; i < n && i < start + SEVERAL; i++)
            if (look[i])
                open[n_open++] = (int32_t)i;
    }
    return n_open;
}

/* Finds the number of inner edges below each score, by the rules of `uniform_floor` and `logit_floor`; with `apart`, 0
 * and 1 have their own cells, before and after the others. */
static void place(Block *block, Py_ssize_t n, const Grid *grid, char type, int apart)
{
    const double below_one = type == 'f' ? 5.960464477539063e-08 : 1.1102230246251565e-16; /* spacing of scores there */
    double high = 2;
    if (grid->table == NULL) {
        place_uniform(block, n, (double)grid->n, 4 * (double)grid->n * below_one);
    } else {
        const double per_unit = (double)grid->n / (2 * grid->reach), window = per_unit * 2 / (double)grid->n_table;
        high = 1 - (double)grid->n_table * below_one;
        place_logit(block, n, per_unit, grid->reach * per_unit + window, 2 * window, high);
    }
    int32_t open[ROWS];
    const Py_ssize_t n_open = find_open(block->look, n, open);
    for (Py_ssize_t at = 0; at < n_open; at++) {
        const Py_ssize_t i = open[at];
        const double p = block->p[i];
        int32_t k = block->cell[i];
        if (p <= 0)
            k = -apart;
        else if (p >= 1 && apart)
            k = (int32_t)grid->n;
        else if (p >= high)
            k = capped(grid->table[(Py_ssize_t)((1 - p) / below_one)], (int32_t)grid->n - 1);
        else
            k -= p <= grid->edges[k] && k > 0;
        block->cell[i] = k;
    }
}

/* Whether no position can lie beyond the edges: the edges must reach as far as the largest logit plus its rounding
 * window. */
static int is_safe(const Grid *grid)
{
    if (grid->n < 1 || grid->n > MOST_CELLS)
        return 0;
    return grid->table == NULL || (grid->n_table >= 1 && grid->reach >= LARGEST_LOGIT + 2.0 / (double)grid->n_table);
}

/* Takes n_grids grids, each an array of edges, a table or None, and a reach; `arrays` receives two for each. Returns the
 * number of codes, or 0 if they do not fit; then, too, the caller lets go of *taken arrays. */
static Py_ssize_t take_grids(PyObject *const *args, Py_ssize_t n_grids, Array *arrays, Grid *grids, Py_ssize_t *taken)
{
    static const char *const TAKES[] = {"d", "?i", NULL};
    Py_ssize_t n_codes = 1;
    int fits = 1;
    *taken = 0;
    for (Py_ssize_t k = 0; k < n_grids; k++) {
        Array *const own = &arrays[2 * k];
        if (!take_arrays(args + 3 * k, 2, TAKES, own))
            return 0;
        *taken += 2;
        const double reach = PyFloat_AsDouble(args[3 * k + 2]);
        grids[k] = (Grid){own[0].data, own[1].data, own[0].size - 1, own[1].size - 1, reach};
        n_codes += grids[k].n + 1;
        fits &= !PyErr_Occurred() && is_safe(&grids[k]) && n_codes <= MOST_CELLS;
    }
    return fits ? n_codes : 0;
}

#endif
