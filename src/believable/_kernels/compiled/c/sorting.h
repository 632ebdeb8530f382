/* Sorting by cells: items are spread over cells by the leading bits in which their keys differ, and so on within
 * each cell, until cells are a few items. What is spread last is put right by insertion, which hardly ever moves
 * anything. */
#ifndef BELIEVABLE_SORTING_H
#define BELIEVABLE_SORTING_H

#include "arrays.h"

#define FEW_ITEMS 24    /* cells of no more items are sorted by insertion */
#define MOST_BITS 12    /* bits of a key that choose the cell: more than 4096 cells do not fit in the cache */
#define DEEPEST 17      /* every level uses at least 4 bits of a key, so 64 / 4 levels suffice */
#define LEVEL ((1 << MOST_BITS) + 1)
#define ROOM_FOR_COUNTS (DEEPEST * (size_t)LEVEL * sizeof(uint32_t))

typedef struct {
    uint64_t key, row;
} Keyed;

#define KEY_FIELD(item) ((item).key)

/* Converts doubles to integers in the same order; -0 becomes 0, and NaN comes last. */
INLINE uint64_t key_of_double(double value)
{
    uint64_t bits;
    value += 0.0;
    memcpy(&bits, &value, sizeof bits);
    if (value != value)
        return UINT64_MAX;
    return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

INLINE double double_of_key(uint64_t key)
{
    const uint64_t bits = key >> 63 ? key & ~((uint64_t)1 << 63) : ~key;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

INLINE int bits_in(uint64_t number)
{
    int bits = 0;
    for (int step = 32; step > 0; step /= 2)
        if (number >> step)
            number >>= step, bits += step;
    return bits + (number > 0);
}

/* NAME(items, spare, n, counts) sorts the items, in the order they came where keys are equal; n is below 2^32, spare
 * has room for as many, counts for ROOM_FOR_COUNTS. */
#define SORT_OF(NAME, ITEM, KEY, KEY_OF)                                                                               \
    static void NAME##_insert(const ITEM *from, ITEM *to, Py_ssize_t n)                                                \
    {                                                                                                                  \
        for (Py_ssize_t i = 0; i < n; i++) {                                                                           \
            const ITEM item = from[i];                                                                                 \
            Py_ssize_t at = i;                                                                                         \
            for (; at > 0 && KEY_OF(to[at - 1]) > KEY_OF(item); at--)                                                  \
                to[at] = to[at - 1];                                                                                   \
            to[at] = item;                                                                                             \
        }                                                                                                              \
    }                                                                                                                  \
    static void NAME(ITEM *items, ITEM *spare, Py_ssize_t n, uint32_t *counts)                                         \
    {                                                                                                                  \
        if (n <= FEW_ITEMS) {                                                                                          \
            NAME##_insert(items, items, n);                                                                            \
            return;                                                                                                    \
        }                                                                                                              \
        KEY low = KEY_OF(items[0]), high = low;                                                                        \
        for (Py_ssize_t i = 1; i < n; i++) {                                                                           \
            const KEY key = KEY_OF(items[i]);                                                                          \
            low = key < low ? key : low;                                                                               \
            high = key > high ? key : high;                                                                            \
        }                                                                                                              \
        if (low == high)                                                                                               \
            return;                                                                                                    \
        const int wanted = bits_in((uint64_t)n) - 1, bits = wanted < MOST_BITS ? wanted : MOST_BITS;                   \
        const int differ = bits_in((uint64_t)(high - low)), shift = differ > bits ? differ - bits : 0;                 \
        const Py_ssize_t cells = (Py_ssize_t)((high - low) >> shift) + 1;                                              \
        memset(counts, 0, (size_t)(cells + 1) * sizeof *counts);                                                       \
        for (Py_ssize_t i = 0; i < n; i++)                                                                             \
            counts[((KEY_OF(items[i]) - low) >> shift) + 1]++;                                                         \
        for (Py_ssize_t cell = 0; cell < cells; cell++)                                                                \
            counts[cell + 1] += counts[cell];                                                                          \
        for (Py_ssize_t i = 0; i < n; i++)                                                                             \
            spare[counts[(KEY_OF(items[i]) - low) >> shift]++] = items[i];                                             \
        Py_ssize_t start = 0;                                                                                          \
        for (Py_ssize_t cell = 0; shift > 0 && cell < cells; cell++) { /* a count is now where its cell ends */        \
            const Py_ssize_t stop = (Py_ssize_t)counts[cell];                                                          \
            if (stop - start > FEW_ITEMS)                                                                              \
                NAME(spare + start, items + start, stop - start, counts + LEVEL);                                      \
            start = stop;                                                                                              \
        }                                                                                                              \
        NAME##_insert(spare, items, n);                                                                                \
    }

#endif
