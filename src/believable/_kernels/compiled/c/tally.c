/* What a pass over rows has found, added to a tally.
 *
 * Several threads add to one table, each to slots of its own, so that every slot receives its rows in their order
 * whatever the number of threads. */
#include "coded.h"
#include "tally.h"

#define AHEAD 16       /* rows whose slots are prefetched: tables do not fit in a near cache */
#define SLOTS_BESIDE 8 /* neighbouring slots of one thread, whole cache lines of any table */
#define CROWDED 4096   /* rows of a slot from which on further ones are first summed aside, as many at a time */
#define PLACES 64      /* groups of neighbouring slots that can be aside, at least as many as there are shares */

typedef struct {
    const int32_t *slots;
    Array scores, weights;
    double *table;
    Py_ssize_t each; /* slots of one row */
    int moments;
} Scatter;

/* Whether all slots are in the table. */
WIDER static int are_slots(const int32_t *slots, Py_ssize_t n, int32_t n_slots)
{
    int32_t bad = 0;
    for (Py_ssize_t i = 0; i < n; i++)
        bad |= slots[i] >= n_slots;
    return !bad;
}

/* Sums of crowded slots: a row that is added to the sum of millions of others rounds that sum, which adds up. All slots
 * that compete for a place belong to one thread, so the result does not depend on the number of threads. */
typedef struct {
    int32_t slot[PLACES * SLOTS_BESIDE];
    double sums[PLACES * SLOTS_BESIDE][7];
} Aside;

static void put_back(Aside *aside, Py_ssize_t place, double *table, int moments)
{
    double *const at = table + (Py_ssize_t)aside->slot[place] * moments;
    for (int k = 0; k < moments && aside->slot[place] >= 0; k++)
        at[k] += aside->sums[place][k];
    aside->slot[place] = -1;
}

/* Where to add a row of a crowded slot. */
static double *sums_aside(Aside *aside, int32_t slot, double *table, int moments)
{
    const Py_ssize_t place = slot % (PLACES * SLOTS_BESIDE);
    if (aside->slot[place] != slot || aside->sums[place][0] >= CROWDED) {
        put_back(aside, place, table, moments);
        aside->slot[place] = slot;
        memset(aside->sums[place], 0, sizeof aside->sums[place]);
    }
    return aside->sums[place];
}

/* Adds the slots that are one thread's share of a power of two. */
INLINE void scatter_as(const Scatter *to, Py_ssize_t n, uint32_t share, uint32_t shares, int is_float, int moments)
{
    const int32_t *const slots = to->slots;
    const double *const weights = to->weights.data;
    Aside aside;
    memset(aside.slot, -1, sizeof aside.slot);
    for (Py_ssize_t i = 0; i < n; i++) {
        const int32_t slot = slots[i], later = slots[i + AHEAD < n ? i + AHEAD : i];
        PREFETCH(to->table + (Py_ssize_t)later * moments);
        if (slot < 0 || ((uint32_t)slot / SLOTS_BESIDE & (shares - 1)) != share)
            continue;
        const double p = is_float ? (double)((const float *)to->scores.data)[i] : ((const double *)to->scores.data)[i];
        double *at = to->table + (Py_ssize_t)slot * moments;
        if (at[0] >= CROWDED)
            at = sums_aside(&aside, slot, to->table, moments);
        add_row(at, 1, p, weights == NULL ? 1 : weights[i / to->each], moments);
    }
    for (Py_ssize_t place = 0; place < PLACES * SLOTS_BESIDE; place++)
        put_back(&aside, place, to->table, moments);
}

static void scatter(const Scatter *to, Py_ssize_t n, uint32_t share, uint32_t shares)
{
    const int is_float = to->scores.type == 'f';
    if (to->moments == 7)
        scatter_as(to, n, share, shares, is_float, 7);
    else if (is_float)
        scatter_as(to, n, share, shares, 1, 3);
    else
        scatter_as(to, n, share, shares, 0, 3);
}

/* tally_scatter(slots, scores, weights, table, moments, each, share, shares): adds rows to the slots of a table that
 * are one of so many shares; `each` is the number of slots of one row. */
static PyObject *tally_scatter(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    static const char *const TAKES[] = {"i", "fd", "?d", ">d", NULL};
    Array a[4];
    Py_ssize_t numbers[4];
    (void)self;
    if (!take_arrays(args, n_args, TAKES, a))
        return NULL;
    const int given = take_numbers(args, n_args, 4, 4, numbers);
    const Py_ssize_t moments = numbers[0], each = numbers[1], share = numbers[2], shares = numbers[3], n = a[0].size;
    const int fits = given && (moments == 3 || moments == 7) && each > 0 && n % each == 0 && a[1].size == n &&
               (a[2].data == NULL || a[2].size == n / each) && a[3].size % moments == 0 && shares > 0 &&
               shares <= PLACES && (shares & (shares - 1)) == 0 && share >= 0 && share < shares &&
               a[3].size / moments <= INT32_MAX && are_slots(a[0].data, n, (int32_t)(a[3].size / moments));
    if (fits) {
        const Scatter to = {a[0].data, a[1], a[2], a[3].data, each, (int)moments};
        Py_BEGIN_ALLOW_THREADS;
        scatter(&to, n, (uint32_t)share, (uint32_t)shares);
        Py_END_ALLOW_THREADS;
    }
    drop_arrays(a, 4);
    return fits ? Py_NewRef(Py_None) : unfit("tally_scatter");
}

/* --- every entry of a matrix -------------------------------------------------------------------------------------- */

typedef struct {
    const double *probabilities;
    const int32_t *labels;
    const double *weights;
    double *table;
    Codes codes;
    Py_ssize_t n, n_classes;
} Entries;

INLINE void add_entries(const Entries *entries, Py_ssize_t start, Py_ssize_t stop, int moments)
{
    for (Py_ssize_t i = 0; i < entries->n; i++) {
        const int32_t label = entries->labels[i];
        const double w = entries->weights == NULL ? 1 : entries->weights[i];
        if (label == LEFT_OUT)
            continue;
        for (Py_ssize_t k = start; k < stop; k++) {
            const double p = entries->probabilities[i * entries->n_classes + k];
            const Py_ssize_t code = k * (entries->codes.n_bounds + 1) + code_of(p >= 0 && p <= 1 ? p : 0, &entries->codes);
            add_row(entries->table + (2 * code + (k == label)) * moments, 1, p, w, moments);
        }
    }
}

/* tally_classwise(probabilities, labels, weights, bounds, first, table, moments, start, stop): adds the entries of the
 * classes from start to stop to the table, by class, code and outcome. */
static PyObject *tally_classwise(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    static const char *const TAKES[] = {"d", "i", "?d", "d", "?i", ">d", NULL};
    Array a[6];
    Py_ssize_t numbers[3];
    (void)self;
    if (!take_arrays(args, n_args, TAKES, a))
        return NULL;
    const int given = take_numbers(args, n_args, 6, 3, numbers);
    const Py_ssize_t n = a[1].size, moments = numbers[0], n_classes = n > 0 ? a[0].size / n : 0;
    const Codes codes = take_codes(&a[3], &a[4]);
    const int fits = given && (moments == 3 || moments == 7) && a[0].size == n * n_classes &&
                     (a[2].data == NULL || a[2].size == n) && codes.n_bounds > 0 &&
                     a[5].size == n_classes * (codes.n_bounds + 1) * 2 * moments && is_within(numbers + 1, n_classes);
    if (fits) {
        const Entries entries = {a[0].data, a[1].data, a[2].data, a[5].data, codes, n, n_classes};
        Py_BEGIN_ALLOW_THREADS;
        if (moments == 3)
            add_entries(&entries, numbers[1], numbers[2], 3);
        else
            add_entries(&entries, numbers[1], numbers[2], 7);
        Py_END_ALLOW_THREADS;
    }
    drop_arrays(a, 6);
    return fits ? Py_NewRef(Py_None) : unfit("tally_classwise");
}

/* --- sums --------------------------------------------------------------------------------------------------------- */

/* tally_sums(parts, sums, by_class, n_parts): adds the sums of parts of rows, in their order: the first to `sums`, the
 * others to the front of `by_class`. */
static PyObject *tally_sums(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    static const char *const TAKES[] = {"d", ">d", ">d", NULL};
    Array a[3];
    Py_ssize_t n_parts;
    (void)self;
    if (!take_arrays(args, n_args, TAKES, a))
        return NULL;
    const int given = take_numbers(args, n_args, 3, 1, &n_parts);
    const Py_ssize_t width = n_parts > 0 ? a[0].size / n_parts : 0, n_others = width - N_TALLY_SUMS;
    double *const sums = a[1].data, *const by_class = a[2].data;
    const int fits = given && n_parts > 0 && a[0].size == n_parts * width && a[1].size == N_TALLY_SUMS &&
                     n_others >= 0 && n_others <= a[2].size;
    for (Py_ssize_t part = 0; fits && part < n_parts; part++) {
        const double *const from = (const double *)a[0].data + part * width;
        for (Py_ssize_t k = 0; k < N_TALLY_SUMS; k++)
            sums[k] += from[k];
        for (Py_ssize_t k = 0; k < n_others; k++)
            by_class[k] += from[N_TALLY_SUMS + k];
    }
    drop_arrays(a, 3);
    return fits ? Py_NewRef(Py_None) : unfit("tally_sums");
}

/* tally_labels(labels, weights, brier, by_class): adds w, w^2 and w^2 times the Brier score of every row to the last
 * three sums of its label, of shape (5, classes). */
static PyObject *tally_labels(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    static const char *const TAKES[] = {"i", "?d", "d", ">d", NULL};
    Array a[4];
    (void)self;
    if (!take_arrays(args, n_args, TAKES, a))
        return NULL;
    const Py_ssize_t n = a[0].size, n_classes = a[3].size / 5;
    const int32_t *const labels = a[0].data;
    const double *const brier = a[2].data, *const weights = a[1].data;
    double *const wy = (double *)a[3].data + 2 * n_classes, *const w2y = wy + n_classes, *const w2y_brier = w2y + n_classes;
    int fits = a[3].size == 5 * n_classes && a[2].size == n && (weights == NULL || a[1].size == n);
    for (Py_ssize_t i = 0; fits && i < n; i++) {
        const double w = weights == NULL ? 1 : weights[i];
        if (labels[i] >= n_classes) {
            fits = 0;
        } else if (labels[i] >= 0) {
            wy[labels[i]] += w;
            w2y[labels[i]] += w * w;
            w2y_brier[labels[i]] += w * w * brier[i];
        }
    }
    drop_arrays(a, 4);
    return fits ? Py_NewRef(Py_None) : unfit("tally_labels");
}

PyMethodDef tally_methods[] = {
    METHOD(tally_scatter),
    METHOD(tally_classwise),
    METHOD(tally_sums),
    METHOD(tally_labels),
    NO_MORE_METHODS,
};
