/* Scores in ascending order, and what is summed at each distinct one.
 *
 * Scores that are not negative have bit patterns in their own order, with the sign bit free for a label: a packed
 * key. Other scores, and rows that bring more than a label, are keys with the number of their row. Many rows are
 * first spread over cells, by a range of rows in each thread; then the cells are sorted, by a range of cells in each
 * thread. */
#include "sorting.h"

#define CHAIN 1024 /* terms of a sum that are added separately, because short chains round less */

#define OWN_KEY(item) (item)
SORT_OF(sort_packed32, uint32_t, uint32_t, OWN_KEY)
SORT_OF(sort_packed64, uint64_t, uint64_t, OWN_KEY)
SORT_OF(sort_keyed, Keyed, uint64_t, KEY_FIELD)

typedef struct {
    const void *scores;
    const uint8_t *labels; /* none for keys with rows */
    void *items, *spare;
    Py_ssize_t start, stop, cells;
    uint64_t low;
    int shift;
} Job;

INLINE uint32_t packed32(const Job *job, Py_ssize_t i)
{
    uint32_t bits;
    memcpy(&bits, (const float *)job->scores + i, sizeof bits);
    return bits << 1 | (job->labels[i] != 0);
}

INLINE uint64_t packed64(const Job *job, Py_ssize_t i)
{
    uint64_t bits;
    memcpy(&bits, (const double *)job->scores + i, sizeof bits);
    return bits << 1 | (job->labels[i] != 0);
}

INLINE Keyed keyed(const Job *job, Py_ssize_t i)
{
    return (Keyed){key_of_double(((const double *)job->scores)[i]), (uint64_t)i};
}

/* Cells of equally many keys from low on; what lies outside is in the outermost. */
INLINE Py_ssize_t cell_of(uint64_t key, uint64_t low, int shift, uint64_t last)
{
    const uint64_t cell = key > low ? (key - low) >> shift : 0;
    return (Py_ssize_t)(cell < last ? cell : last);
}

#define SPREAD(NAME, ITEM, ITEM_AT, KEY_OF)                                                                            \
    static void NAME##_make(const Job *job)                                                                            \
    {                                                                                                                  \
        ITEM *const items = job->items;                                                                                \
        for (Py_ssize_t i = job->start; i < job->stop; i++)                                                            \
            items[i] = ITEM_AT(job, i);                                                                                \
    }                                                                                                                  \
    static void NAME##_count(const Job *job, uint64_t *counts)                                                         \
    {                                                                                                                  \
        const uint64_t low = job->low, last = (uint64_t)job->cells - 1;                                                \
        for (Py_ssize_t i = job->start; i < job->stop; i++)                                                            \
            counts[cell_of(KEY_OF(ITEM_AT(job, i)), low, job->shift, last)]++;                                         \
    }                                                                                                                  \
    static int NAME##_spread(const Job *job, int64_t *places, int64_t room)                                            \
    {                                                                                                                  \
        const uint64_t low = job->low, last = (uint64_t)job->cells - 1;                                                \
        ITEM *const items = job->items;                                                                                \
        for (Py_ssize_t i = job->start; i < job->stop; i++) {                                                          \
            const ITEM item = ITEM_AT(job, i);                                                                         \
            int64_t *const place = &places[cell_of(KEY_OF(item), low, job->shift, last)];                              \
            if ((uint64_t)*place >= (uint64_t)room)                                                                    \
                return 0;                                                                                              \
            items[(*place)++] = item;                                                                                  \
        }                                                                                                              \
        return 1;                                                                                                      \
    }                                                                                                                  \
    static void NAME##_cells(const Job *job, const int64_t *ends, uint32_t *counts)                                    \
    {                                                                                                                  \
        ITEM *const items = job->items, *const spare = job->spare;                                                     \
        for (Py_ssize_t cell = job->start; cell < job->stop; cell++) {                                                 \
            const int64_t start = cell > 0 ? ends[cell - 1] : 0;                                                       \
            NAME(items + start, spare + start, (Py_ssize_t)(ends[cell] - start), counts);                              \
        }                                                                                                              \
    }

SPREAD(sort_packed32, uint32_t, packed32, OWN_KEY)
SPREAD(sort_packed64, uint64_t, packed64, OWN_KEY)
SPREAD(sort_keyed, Keyed, keyed, KEY_FIELD)

#define BY_KIND(WHAT, ...)                                                                                             \
    do {                                                                                                               \
        if (width == 4)                                                                                                \
            sort_packed32_##WHAT(__VA_ARGS__);                                                                         \
        else if (width == 8)                                                                                           \
            sort_packed64_##WHAT(__VA_ARGS__);                                                                         \
        else                                                                                                           \
            sort_keyed_##WHAT(__VA_ARGS__);                                                                            \
    } while (0)

/* Bytes of an item: 4 or 8 with labels, which fit floats or doubles, and 16 without, which fit doubles; 0 if none
 * does. */
static Py_ssize_t width_of(const Array *scores, const Array *labels, const Array *items)
{
    const Py_ssize_t bytes = items->view.len, n = scores->size;
    if (labels->data != NULL && labels->size != n)
        return 0;
    if (labels->data == NULL)
        return scores->type == 'd' && items->type == 'Q' && bytes == 16 * n ? 16 : 0;
    if (scores->type == 'f')
        return items->type == 'I' && bytes == 4 * n ? 4 : 0;
    return items->type == 'Q' && bytes == 8 * n ? 8 : 0;
}

/* sort_scores(scores, labels, items, spare): the items of all rows, sorted. */
static PyObject *sort_scores(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    static const char *const TAKES[] = {"fd", "?B", ">IQ", ">IQ", NULL};
    Array a[4];
    (void)self;
    if (!take_arrays(args, n_args, TAKES, a))
        return NULL;
    const Py_ssize_t width = width_of(&a[0], &a[1], &a[2]);
    uint32_t *counts = NULL;
    PyObject *result = NULL;
    if (n_args != 4 || width == 0 || a[3].type != a[2].type || a[3].size != a[2].size ||
        (uint64_t)a[0].size > UINT32_MAX) {
        unfit("sort_scores");
    } else if ((counts = malloc(ROOM_FOR_COUNTS)) == NULL) {
        PyErr_NoMemory();
    } else {
        const Job job = {a[0].data, a[1].data, a[2].data, a[3].data, 0, a[0].size, 1, 0, 0};
        Py_BEGIN_ALLOW_THREADS;
        BY_KIND(make, &job);
        if (width == 4)
            sort_packed32(job.items, job.spare, job.stop, counts);
        else if (width == 8)
            sort_packed64(job.items, job.spare, job.stop, counts);
        else
            sort_keyed(job.items, job.spare, job.stop, counts);
        Py_END_ALLOW_THREADS;
        result = Py_NewRef(Py_None);
    }
    free(counts);
    drop_arrays(a, 4);
    return result;
}

/* sort_count(scores, labels, items, counts, low, shift, start, stop): adds to counts how many rows are in each cell.
 * sort_spread(scores, labels, items, places, low, shift, start, stop): puts their items where the places of cells
 * say. */
static PyObject *count_or_spread(PyObject *const *args, Py_ssize_t n_args, int spread)
{
    static const char *const TAKES[] = {"fd", "?B", ">IQ", ">q", NULL};
    Array a[4];
    Py_ssize_t numbers[3];
    if (!take_arrays(args, n_args, TAKES, a))
        return NULL;
    const int given = take_numbers(args, n_args, 5, 3, numbers);
    const uint64_t low = given ? PyLong_AsUnsignedLongLong(args[4]) : 0;
    const Py_ssize_t width = width_of(&a[0], &a[1], &a[2]);
    PyObject *result = NULL;
    if (!given || PyErr_Occurred() || width == 0 || a[3].size < 1 || numbers[0] < 0 || numbers[0] > 63 ||
        !is_within(numbers + 1, a[0].size)) {
        unfit("sort_count");
    } else {
        const int shift = (int)numbers[0];
        const Job job = {a[0].data, a[1].data, a[2].data, NULL, numbers[1], numbers[2], a[3].size, low, shift};
        int fits = 1;
        Py_BEGIN_ALLOW_THREADS;
        if (!spread)
            BY_KIND(count, &job, a[3].data);
        else if (width == 4)
            fits = sort_packed32_spread(&job, a[3].data, a[0].size);
        else if (width == 8)
            fits = sort_packed64_spread(&job, a[3].data, a[0].size);
        else
            fits = sort_keyed_spread(&job, a[3].data, a[0].size);
        Py_END_ALLOW_THREADS;
        result = fits ? Py_NewRef(Py_None) : unfit("sort_spread");
    }
    drop_arrays(a, 4);
    return result;
}

static PyObject *sort_count(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    (void)self;
    return count_or_spread(args, n_args, 0);
}

static PyObject *sort_spread(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    (void)self;
    return count_or_spread(args, n_args, 1);
}

/* sort_cells(items, spare, ends, width, first, last): sorts the items within each of these cells. */
static PyObject *sort_cells(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    static const char *const TAKES[] = {">IQ", ">IQ", "q", NULL};
    Array a[3];
    Py_ssize_t numbers[3];
    (void)self;
    if (!take_arrays(args, n_args, TAKES, a))
        return NULL;
    int fits = take_numbers(args, n_args, 3, 3, numbers);
    const Py_ssize_t width = numbers[0], first = numbers[1], last = numbers[2];
    fits = fits && (a[0].type == 'I' ? width == 4 : width == 8 || width == 16) && a[1].type == a[0].type &&
           a[1].size == a[0].size && is_within(numbers + 1, a[2].size);
    const int64_t *ends = a[2].data;
    int64_t before = fits && first > 0 ? ends[first - 1] : 0;
    fits = fits && before >= 0;
    for (Py_ssize_t cell = first; fits && cell < last; before = ends[cell++])
        fits = ends[cell] >= before && ends[cell] <= a[0].view.len / width &&
               ends[cell] - before <= (int64_t)UINT32_MAX;
    uint32_t *counts = NULL;
    PyObject *result = NULL;
    if (!fits) {
        unfit("sort_cells");
    } else if ((counts = malloc(ROOM_FOR_COUNTS)) == NULL) {
        PyErr_NoMemory();
    } else {
        const Job job = {NULL, NULL, a[0].data, a[1].data, first, last, a[2].size, 0, 0};
        Py_BEGIN_ALLOW_THREADS;
        BY_KIND(cells, &job, ends, counts);
        Py_END_ALLOW_THREADS;
        result = Py_NewRef(Py_None);
    }
    free(counts);
    drop_arrays(a, 3);
    return result;
}

/* --- one entry for each distinct score ---------------------------------------------------------------------------- */

/* Each returns how many distinct scores there are from start to stop; they are written from place start on. */
#define DISTINCT_OF(NAME, ITEM, SCORE)                                                                                 \
    static Py_ssize_t NAME(const ITEM *items, Py_ssize_t start, Py_ssize_t stop, double *score, int64_t *n, double *w, \
                           double *wy)                                                                                 \
    {                                                                                                                  \
        Py_ssize_t at = start;                                                                                         \
        for (Py_ssize_t i = start; i < stop; at++) {                                                                   \
            const ITEM bits = items[i] >> 1;                                                                           \
            const Py_ssize_t from = i;                                                                                 \
            int64_t positive = 0;                                                                                      \
            do                                                                                                         \
                positive += items[i++] & 1;                                                                            \
            while (i < stop && items[i] >> 1 == bits);                                                                 \
            SCORE value;                                                                                               \
            memcpy(&value, &bits, sizeof value);                                                                       \
            score[at] = (double)value, n[at] = i - from, w[at] = (double)(i - from), wy[at] = (double)positive;        \
        }                                                                                                              \
        return at - start;                                                                                             \
    }

DISTINCT_OF(distinct32, uint32_t, float)
DISTINCT_OF(distinct64, uint64_t, double)

/* distinct_pairs(items, score, n, w, wy, start, stop), of packed keys. */
static PyObject *distinct_pairs(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    static const char *const TAKES[] = {"IQ", ">d", ">q", ">d", ">d", NULL};
    Array a[5];
    Py_ssize_t range[2], found = -1;
    (void)self;
    if (!take_arrays(args, n_args, TAKES, a))
        return NULL;
    int fits = take_numbers(args, n_args, 5, 2, range) && is_within(range, a[0].size);
    for (int i = 1; i < 5; i++)
        fits = fits && a[i].size == a[0].size;
    if (!fits) {
        unfit("distinct_pairs");
    } else {
        Py_BEGIN_ALLOW_THREADS;
        found = a[0].type == 'I'
                    ? distinct32(a[0].data, range[0], range[1], a[1].data, a[2].data, a[3].data, a[4].data)
                    : distinct64(a[0].data, range[0], range[1], a[1].data, a[2].data, a[3].data, a[4].data);
        Py_END_ALLOW_THREADS;
    }
    drop_arrays(a, 5);
    return found < 0 ? NULL : PyLong_FromSsize_t(found);
}

/* Sums of u and v, and where there is a third and fourth place, of u, uv, u^2 and u^2 v. */
static Py_ssize_t distinct_keyed(const Keyed *items, Py_ssize_t n_rows, Py_ssize_t start, Py_ssize_t stop,
                                 const double *u, const double *v, double *score, int64_t *n, double *const out[4])
{
    Py_ssize_t at = start;
    for (Py_ssize_t i = start; i < stop; at++) {
        const uint64_t key = items[i].key, only = items[i].row;
        const Py_ssize_t from = i;
        if (only < (uint64_t)n_rows && (i + 1 == stop || items[i + 1].key != key)) { /* usually a single row */
            const double first = u[only], second = v[only], square = first * first;
            score[at] = double_of_key(key), n[at] = 1, out[0][at] = first;
            out[1][at] = out[2] == NULL ? second : first * second;
            if (out[2] != NULL)
                out[2][at] = square, out[3][at] = square * second;
            i++;
            continue;
        }
        double sums[4] = {0, 0, 0, 0};
        while (i < stop && items[i].key == key) {
            double some[4] = {0, 0, 0, 0};
            for (Py_ssize_t left = CHAIN; left > 0 && i < stop && items[i].key == key; left--, i++) {
                const uint64_t row = items[i].row;
                if (row >= (uint64_t)n_rows)
                    return -1;
                const double first = u[row], second = v[row];
                some[0] += first;
                if (out[2] == NULL) {
                    some[1] += second;
                } else {
                    const double square = first * first;
                    some[1] += first * second, some[2] += square, some[3] += square * second;
                }
            }
            for (int k = 0; k < 4; k++)
                sums[k] += some[k];
        }
        score[at] = double_of_key(key), n[at] = i - from;
        for (int k = 0; k < 4 && out[k] != NULL; k++)
            out[k][at] = sums[k];
    }
    return at - start;
}

/* distinct_rows(items, u, v, score, n, first, second, third, fourth, start, stop), of keys with rows; third and fourth
 * may be None. */
static PyObject *distinct_rows(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    static const char *const TAKES[] = {"Q", "d", "d", ">d", ">q", ">d", ">d", "?>d", "?>d", NULL};
    Array a[9];
    Py_ssize_t range[2], found = -1;
    (void)self;
    if (!take_arrays(args, n_args, TAKES, a))
        return NULL;
    const Py_ssize_t n = a[0].size / 2;
    int fits = take_numbers(args, n_args, 9, 2, range) && is_within(range, n) && a[0].size == 2 * n;
    for (int i = 1; i < 9; i++)
        fits = fits && (a[i].type == 0 || a[i].size == n);
    fits = fits && (a[7].type == 0) == (a[8].type == 0);
    if (fits) {
        double *const out[4] = {a[5].data, a[6].data, a[7].data, a[8].data};
        Py_BEGIN_ALLOW_THREADS;
        found = distinct_keyed(a[0].data, n, range[0], range[1], a[1].data, a[2].data, a[3].data, a[4].data, out);
        Py_END_ALLOW_THREADS;
    }
    drop_arrays(a, 9);
    return found < 0 ? unfit("distinct_rows") : PyLong_FromSsize_t(found);
}

/* --- ranking ------------------------------------------------------------------------------------------------------ */

#define WINS_OF(NAME, ITEM)                                                                                            \
    static void NAME(const ITEM *items, Py_ssize_t start, Py_ssize_t stop, uint64_t *found)                            \
    {                                                                                                                  \
        uint64_t wins = 0, positive = 0, negative = 0;                                                                 \
        for (Py_ssize_t i = start; i < stop;) {                                                                        \
            const ITEM bits = items[i] >> 1;                                                                           \
            const Py_ssize_t from = i;                                                                                 \
            uint64_t here = 0;                                                                                         \
            do                                                                                                         \
                here += items[i++] & 1;                                                                                \
            while (i < stop && items[i] >> 1 == bits);                                                                 \
            const uint64_t others = (uint64_t)(i - from) - here;                                                       \
            wins += here * (2 * negative + others);                                                                    \
            positive += here, negative += others;                                                                      \
        }                                                                                                              \
        found[0] = wins, found[1] = positive, found[2] = negative;                                                     \
    }

WINS_OF(wins32, uint32_t)
WINS_OF(wins64, uint64_t)

/* wins(items, start, stop), of packed keys: twice the pairs in which a positive is above a negative, ties once; and how
 * many positives and negatives there are. */
static PyObject *wins(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    static const char *const TAKES[] = {"IQ", NULL};
    Array a[1];
    Py_ssize_t range[2];
    uint64_t found[3] = {0, 0, 0};
    (void)self;
    if (!take_arrays(args, n_args, TAKES, a))
        return NULL;
    const int fits = take_numbers(args, n_args, 1, 2, range) && is_within(range, a[0].size);
    if (fits) {
        Py_BEGIN_ALLOW_THREADS;
        if (a[0].type == 'I')
            wins32(a[0].data, range[0], range[1], found);
        else
            wins64(a[0].data, range[0], range[1], found);
        Py_END_ALLOW_THREADS;
    }
    drop_arrays(a, 1);
    return fits ? Py_BuildValue("(KKK)", (unsigned long long)found[0], (unsigned long long)found[1],
                                (unsigned long long)found[2])
                : unfit("wins");
}

/* Whether every score is at least 0, and every row one positive or one negative; then labels say which. */
WIDER static int take_labels(const double *scores, const double *positive, const double *negative, uint8_t *labels,
                             Py_ssize_t n)
{
    unsigned other = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        const unsigned is_positive = positive[i] == 1;
        other |= !(scores[i] >= 0) | (positive[i] != (double)is_positive) | (negative[i] != 1 - (double)is_positive);
        labels[i] = (uint8_t)is_positive;
    }
    return other == 0;
}

/* outcomes(scores, positive, negative, labels): as take_labels says. */
static PyObject *outcomes(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    static const char *const TAKES[] = {"d", "d", "d", ">B", NULL};
    Array a[4];
    int found = -1;
    (void)self;
    if (!take_arrays(args, n_args, TAKES, a))
        return NULL;
    if (n_args == 4 && a[1].size == a[0].size && a[2].size == a[0].size && a[3].size == a[0].size) {
        Py_BEGIN_ALLOW_THREADS;
        found = take_labels(a[0].data, a[1].data, a[2].data, a[3].data, a[0].size);
        Py_END_ALLOW_THREADS;
    }
    drop_arrays(a, 4);
    return found < 0 ? unfit("outcomes") : PyBool_FromLong(found);
}

PyMethodDef sorting_methods[] = {
    METHOD(sort_scores),   METHOD(sort_count), METHOD(sort_spread), METHOD(sort_cells),     METHOD(distinct_pairs),
    METHOD(distinct_rows), METHOD(wins),       METHOD(outcomes),    NO_MORE_METHODS,
};
