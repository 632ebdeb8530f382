/* Isotonic regression by pooling adjacent violators: blocks are on a stack, and the last one absorbs those it violates.
 * */
#include "arrays.h"

#define CHAIN 1024    /* terms of a sum that are added separately, because short chains round less */
#define LANES 4
#define EXTREME 1e100 /* for larger weights, or smaller than the inverse, products might overflow */

typedef struct {
    double w, wy, mean;
    int64_t start;
} Block;

static double mean_of(const double *w, const double *wy, Py_ssize_t start, Py_ssize_t stop)
{
    double total_w = 0, total_wy = 0;
    for (Py_ssize_t from = start; from < stop; from += CHAIN) {
        const Py_ssize_t to = stop - from < CHAIN ? stop : from + CHAIN;
        double some_w[LANES] = {0}, some_wy[LANES] = {0};
        Py_ssize_t i = from;
        for (; i + LANES <= to; i += LANES)
            for (int lane = 0; lane < LANES; lane++)
                some_w[lane] += w[i + lane], some_wy[lane] += wy[i + lane];
        for (; i < to; i++)
            some_w[0] += w[i], some_wy[0] += wy[i];
        total_w += (some_w[0] + some_w[1]) + (some_w[2] + some_w[3]);
        total_wy += (some_wy[0] + some_wy[1]) + (some_wy[2] + some_wy[3]);
    }
    return total_wy / total_w;
}

INLINE int falls(double w, double wy, double next_w, double next_wy, int ordinary)
{
    return ordinary ? wy * next_w >= next_wy * w : wy / w >= next_wy / next_w;
}

/* Pools the points from start to stop into blocks. A block absorbs all points after it that are no higher, then all
 * blocks before it that are no lower, until there are none. Means are computed later. */
INLINE Py_ssize_t pool_as(const double *w, const double *wy, Py_ssize_t start, Py_ssize_t stop, Block *blocks,
                          int ordinary)
{
    Py_ssize_t m = 0;
    for (Py_ssize_t i = start; i < stop; m++) {
        double now_w = w[i], now_wy = wy[i];
        Py_ssize_t from = i++;
        for (;;) {
            for (; i < stop && falls(now_w, now_wy, w[i], wy[i], ordinary); i++)
                now_w += w[i], now_wy += wy[i];
            if (m == 0 || !falls(blocks[m - 1].w, blocks[m - 1].wy, now_w, now_wy, ordinary))
                break;
            do {
                const Block *last = &blocks[--m];
                now_w += last->w, now_wy += last->wy, from = (Py_ssize_t)last->start;
            } while (m > 0 && falls(blocks[m - 1].w, blocks[m - 1].wy, now_w, now_wy, ordinary));
        }
        blocks[m] = (Block){now_w, now_wy, 0, from};
    }
    return m;
}

static Py_ssize_t pool(const double *w, const double *wy, Py_ssize_t start, Py_ssize_t stop, Block *blocks)
{
    int ordinary = 1;
    for (Py_ssize_t i = start; i < stop; i++)
        ordinary &= (w[i] < EXTREME) & (w[i] > 1 / EXTREME);
    return ordinary ? pool_as(w, wy, start, stop, blocks, 1) : pool_as(w, wy, start, stop, blocks, 0);
}

/* Appends more blocks to m others, and pools them. */
static Py_ssize_t join(Block *blocks, Py_ssize_t m, const Block *more, Py_ssize_t n_more)
{
    for (Py_ssize_t k = 0; k < n_more; k++) {
        Block now = more[k];
        while (m > 0 && falls(blocks[m - 1].w, blocks[m - 1].wy, now.w, now.wy, 0)) {
            const Block *last = &blocks[--m];
            now.w += last->w, now.wy += last->wy, now.start = last->start;
        }
        blocks[m++] = now;
    }
    return m;
}

/* Whether blocks start one after the other, within n points. */
static int are_in_order(const Block *blocks, Py_ssize_t m, Py_ssize_t n)
{
    int64_t before = -1;
    for (Py_ssize_t k = 0; k < m; before = blocks[k++].start)
        if (blocks[k].start <= before || blocks[k].start >= n)
            return 0;
    return 1;
}

/* Computes the means of blocks that end at n, summed again from the points; they do not decrease. */
static void average(const double *w, const double *wy, Py_ssize_t n, Block *blocks, Py_ssize_t m)
{
    double highest = -INFINITY;
    for (Py_ssize_t k = 0; k < m; k++) {
        const Py_ssize_t start = (Py_ssize_t)blocks[k].start, stop = k + 1 < m ? (Py_ssize_t)blocks[k + 1].start : n;
        const double mean = stop - start == 1 ? wy[start] / w[start] : mean_of(w, wy, start, stop);
        highest = mean > highest ? mean : highest;
        blocks[k].mean = highest;
    }
}

static void fill(const Block *blocks, Py_ssize_t m, double *out, Py_ssize_t n)
{
    for (Py_ssize_t k = 0; k < m; k++) {
        const Py_ssize_t start = (Py_ssize_t)blocks[k].start, stop = k + 1 < m ? (Py_ssize_t)blocks[k + 1].start : n;
        const double mean = blocks[k].mean;
        for (Py_ssize_t i = start; i < stop; i++)
            out[i] = mean;
    }
}

static void fit(const double *w, const double *wy, Py_ssize_t n, Block *blocks, double *out)
{
    const Py_ssize_t m = pool(w, wy, 0, n, blocks);
    average(w, wy, n, blocks, m);
    fill(blocks, m, out, n);
}

/* Interpolates at x between the values at n positions `at`; constant beyond the ends. */
static void between(const double *x, Py_ssize_t n_x, const double *at, const double *value, Py_ssize_t n, double *out)
{
    Py_ssize_t k = 0; /* the first position that is not below */
    for (Py_ssize_t i = 0; i < n_x; i++) {
        while (k < n && at[k] < x[i])
            k++;
        if (k == n || k == 0 || at[k] == x[i] || value[k] == value[k - 1])
            out[i] = value[k == n ? n - 1 : k];
        else
            out[i] = (value[k] - value[k - 1]) / (at[k] - at[k - 1]) * (x[i] - at[k - 1]) + value[k - 1];
    }
}

/* Fits one row, some of whose points may have no weight; returns 0 if none has any. `room` holds 4 n numbers. */
static int fit_row(const double *x, const double *w, const double *wy, Py_ssize_t n, Block *blocks, double *room,
                   double *out)
{
    double *at = room, *some_w = room + n, *some_wy = room + 2 * n, *value = room + 3 * n;
    Py_ssize_t here = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        at[here] = x[i], some_w[here] = w[i], some_wy[here] = wy[i];
        here += w[i] > 0;
    }
    if (here == n) {
        fit(w, wy, n, blocks, out);
    } else if (here > 0) {
        fit(some_w, some_wy, here, blocks, value);
        between(x, n, at, value, here, out);
    }
    return here > 0;
}

/* pav_pool(w, wy, blocks, start, stop): pools these points, writes their blocks from position start on, and returns how
 * many there are; `blocks` has room for a block of 4 numbers for every point. */
static PyObject *pav_pool(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    static const char *const TAKES[] = {"d", "d", ">d", NULL};
    Array a[3];
    Py_ssize_t range[2], m = -1;
    (void)self;
    if (!take_arrays(args, n_args, TAKES, a))
        return NULL;
    const Py_ssize_t n = a[0].size;
    if (take_numbers(args, n_args, 3, 2, range) && is_within(range, n) && a[1].size == n && a[2].size == 4 * n) {
        Py_BEGIN_ALLOW_THREADS;
        m = pool(a[0].data, a[1].data, range[0], range[1], (Block *)a[2].data + range[0]);
        Py_END_ALLOW_THREADS;
    }
    drop_arrays(a, 3);
    return m < 0 ? unfit("pav_pool") : PyLong_FromSsize_t(m);
}

/* pav_join(w, wy, blocks, found, starts, values): pools the blocks that pav_pool made of ranges of points; `found`
 * holds the first block and the number of blocks of each range. Writes where each block starts and its mean, and
 * returns how many there are; if starts is None, writes the value at each point. */
static PyObject *pav_join(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    static const char *const TAKES[] = {"d", "d", ">d", "q", "?>q", ">d", NULL};
    Array a[6];
    Py_ssize_t m = 0;
    (void)self;
    if (!take_arrays(args, n_args, TAKES, a))
        return NULL;
    const Py_ssize_t n = a[0].size, n_parts = a[3].size / 2;
    const int64_t *const found = a[3].data;
    int fits = n_args == 6 && a[1].size == n && a[2].size == 4 * n && a[5].size == n &&
               (a[4].data == NULL || a[4].size == n);
    for (Py_ssize_t part = 0; fits && part < n_parts; part++) {
        const int64_t first = found[2 * part], count = found[2 * part + 1];
        fits = first >= m && first <= n && count >= 0 && count <= n - first;
        m += fits ? (Py_ssize_t)count : 0;
    }
    if (fits) {
        Block *const blocks = a[2].data;
        int64_t *const starts = a[4].data;
        double *const values = a[5].data;
        Py_BEGIN_ALLOW_THREADS;
        m = 0;
        for (Py_ssize_t part = 0; part < n_parts; part++)
            m = join(blocks, m, blocks + found[2 * part], (Py_ssize_t)found[2 * part + 1]);
        if ((fits = are_in_order(blocks, m, n)))
            average(a[0].data, a[1].data, n, blocks, m);
        if (fits && starts == NULL)
            fill(blocks, m, values, n);
        for (Py_ssize_t k = 0; fits && starts != NULL && k < m; k++)
            starts[k] = blocks[k].start, values[k] = blocks[k].mean;
        Py_END_ALLOW_THREADS;
    }
    drop_arrays(a, 6);
    return fits ? PyLong_FromSsize_t(m) : unfit("pav_join");
}

/* pav_rows(x, w, wy, out, start, stop): fits these rows of wy and writes them to out, with one column for each entry of
 * x; w is one row, or as many. Returns whether every row has weight. */
static PyObject *pav_rows(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    static const char *const TAKES[] = {"d", "d", "d", ">d", NULL};
    Array a[4];
    Py_ssize_t range[2];
    void *room = NULL;
    int weighted = -1;
    (void)self;
    if (!take_arrays(args, n_args, TAKES, a))
        return NULL;
    const Py_ssize_t n = a[0].size;
    if (!take_numbers(args, n_args, 4, 2, range) || n < 1 || !is_within(range, a[2].size / n) ||
        a[3].size != a[2].size || (a[1].size != n && a[1].size != a[2].size)) {
        unfit("pav_rows");
    } else if ((room = room_for(n, sizeof(Block) + 4 * sizeof(double))) == NULL) {
        PyErr_NoMemory();
    } else {
        const double *const w = a[1].data, *const wy = a[2].data;
        double *const out = a[3].data;
        const Py_ssize_t step = a[1].size == n ? 0 : n;
        Block *const blocks = room;
        double *const more = (double *)(blocks + n);
        Py_BEGIN_ALLOW_THREADS;
        weighted = 1;
        for (Py_ssize_t row = range[0]; row < range[1]; row++)
            weighted &= fit_row(a[0].data, w + row * step, wy + row * n, n, blocks, more, out + row * n);
        Py_END_ALLOW_THREADS;
    }
    free(room);
    drop_arrays(a, 4);
    return weighted < 0 ? NULL : PyBool_FromLong(weighted);
}

PyMethodDef isotonic_methods[] = {METHOD(pav_pool), METHOD(pav_join), METHOD(pav_rows), NO_MORE_METHODS};
