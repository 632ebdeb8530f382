// Draws of NumPy that few rows need: a choice without replacement (with a generator of `draws.js`), and the shuffle of
// the older `RandomState` (MT19937).
const Random = (() => {
  "use strict";

  function numbers(n) {
    const found = new Int32Array(n);
    for (let i = 0; i < n; i++) found[i] = i;
    return found;
  }

  // Swap each place from the last to `first` with one that is drawn up to it.
  function shuffled(array, drawnUpTo, first = 1) {
    for (let i = array.length - 1; i >= first; i--) {
      const j = drawnUpTo(i);
      const kept = array[i];
      array[i] = array[j];
      array[j] = kept;
    }
    return array;
  }

  // `size` different numbers below n, in random order: `rng.choice(n, size, replace=False)`.
  function choice(rng, n, size) {
    const drawn = (most) => rng.below(most + 1);
    if (n > 10000 && size > Math.floor(n / 50)) return shuffled(numbers(n), drawn, Math.max(n - size, 1)).slice(n - size);
    const taken = new Set();
    const found = new Int32Array(size);
    for (let j = n - size; j < n; j++) { // Floyd's method
      const one = drawn(j);
      found[j - n + size] = taken.has(one) ? j : one;
      taken.add(found[j - n + size]);
    }
    return shuffled(found, drawn);
  }

  // The numbers below n as `np.random.RandomState(seed).shuffle` orders them.
  function oldPermutation(n, seed) {
    const key = new Uint32Array(624);
    key[0] = seed;
    for (let i = 1; i < 624; i++) key[i] = Math.imul(1812433253, key[i - 1] ^ (key[i - 1] >>> 30)) + i;
    let at = 624;
    function draw32() {
      if (at === 624) {
        for (let i = 0; i < 624; i++) {
          const y = (key[i] & 0x80000000) | (key[(i + 1) % 624] & 0x7fffffff);
          key[i] = key[(i + 397) % 624] ^ (y >>> 1) ^ (y & 1 ? 0x9908b0df : 0);
        }
        at = 0;
      }
      let y = key[at++];
      y ^= y >>> 11;
      y ^= (y << 7) & 0x9d2c5680;
      y ^= (y << 15) & 0xefc60000;
      return (y ^ (y >>> 18)) >>> 0;
    }
    return shuffled(numbers(n), (most) => { // bits are drawn until they are small enough
      for (;;) {
        const one = (draw32() & (0xffffffff >>> Math.clz32(most))) >>> 0;
        if (one <= most) return one;
      }
    });
  }

  return { choice, oldPermutation };
})();

if (typeof module !== "undefined") module.exports = Random;
