// The noise floor: what a perfectly calibrated model would show; and the joint test of perfect calibration.
const Floor = (() => {
  "use strict";

  const POINTS_OF_FLOOR = 500;
  const [GROUPS_OF_SCORES, BINS_OF_TEST, NEAREST] = [200, 10, 1e-6];
  const [POWER, HALVINGS] = [0.8, 12];

  // The mean and the 95th percentile of a calibration error under perfect calibration, and the p-value of the data.
  function floor(question, nDraws, seed) {
    return floorWith(question, nDraws, Draws.generator(seed));
  }

  function floorWith(question, nDraws, rng) {
    const cells = question.cells(POINTS_OF_FLOOR);
    const outcomes = question.view === "classwise" ? Units.labels(question.rows, cells, nDraws, rng) : Cells.draw(cells, cells.conf, rng, nDraws);
    const value = question.replicates(cells, cells.wy)[0];
    const drawn = question.replicates(cells, outcomes);
    const tiny = 1e-12 * Math.abs(value);
    let above = 1;
    for (const one of drawn) if (one >= value - tiny) above++;
    return { mean: Count.sum(drawn) / drawn.length, q95: share(drawn, 0.95), pValue: above / (1 + nDraws) };
  }

  // The smallest value that a share of the values does not exceed.
  function share(values, level) {
    const sorted = Float64Array.from(values).sort();
    return sorted[Math.min(Math.max(Math.ceil(sorted.length * level - 1e-9) - 1, 0), sorted.length - 1)];
  }

  // The error, with equal gaps towards one half, that exceeds the floor's 95th percentile with 80 % power.
  function detectable(question, nDraws, rng) {
    const cells = question.cells(POINTS_OF_FLOOR);
    const shown = (rate) => question.replicates(cells, Cells.draw(cells, rate, rng, nDraws));
    const threshold = Curves.quantile(shown(cells.conf).sort(), 0.95);
    const moved = (gap) => cells.conf.map((p) => Math.min(Math.max(p + (p < 0.5 ? gap : -gap), 0), 1));
    let [low, high] = [0, 1];
    for (let round = 0; round < HALVINGS; round++) {
      const gap = (low + high) / 2;
      const found = shown(moved(gap));
      let beyond = 0;
      for (const one of found) if (one > threshold) beyond++;
      if (beyond / found.length < POWER) low = gap;
      else high = gap;
    }
    if (high === 1) return null;
    return question.replicates(cells, moved(high).map((rate, j) => cells.w[j] * rate))[0];
  }

  // --- the joint test ------------------------------------------------------------------------------------------------

  // Test perfect calibration by the average, the slope, the cumulative gaps and bins together. With clusters, `added` are
  // what each of them contributes to the excess of each group of scores (rows of numbers per group).
  function jointTest(given, alpha, nDraws, rng, added = null) {
    const unit = Count.sum(given.w) / Count.sum(given.n); // a common factor of all weights changes nothing
    const points = { score: given.score, n: given.n, ny: given.ny };
    for (const [name, by] of [["w", unit], ["wy", unit], ["w2", unit * unit], ["w2y", unit * unit]]) points[name] = unit === 1 ? given[name] : given[name].map((one) => one / by);
    const groups = groupsOf(points);
    const own = added && { units: added.units, m: added.m, values: added.values.map((one) => one / unit) };
    const design = designOf(points, groups, own);
    const m = groups.score.length;
    const covariance = new Float64Array(m * m);
    for (let j = 0; j < m; j++) covariance[j * m + j] = groups.variance[j] * design;
    let found = compared(groups, drawnExcess(groups, nDraws, design, rng), covariance, alpha, nDraws);
    const refuted = refutedShare(points);
    if (refuted > 0) return { pValue: 1 / (1 + nDraws), atLeast: Math.max(found.atLeast, refuted) };
    if (!own) return found;
    const tossed = Units.tossed(own, nDraws, rng);
    const clustered = compared(groups, tossed, Units.products(own), alpha, nDraws);
    if (clustered.pValue > found.pValue || (clustered.pValue === found.pValue && clustered.atLeast < found.atLeast)) found = clustered;
    return found;
  }

  function groupsOf(points) {
    const { points: few, last } = Count.merged(points, GROUPS_OF_SCORES);
    const variance = new Float64Array(few.score.length);
    let [k, sum, before] = [0, 0, 0];
    for (let i = 0; i < points.score.length; i++) {
      const p = points.score[i];
      sum += points.w2[i] * p * (1 - p);
      if (p === last[k]) {
        variance[k++] = Math.max(sum - before, 0);
        before = sum;
      }
    }
    const score = few.score.map((p) => Math.min(Math.max(p, 0), 1));
    return { score, last, w: few.w, wy: few.wy, size: few.w.map((w, j) => (w * w) / few.w2[j]), variance };
  }

  // A probability of exactly 0 or 1 that was wrong, which no calibrated model shows.
  function refutedShare(points) {
    let total = 0;
    for (let i = 0; i < points.score.length; i++) {
      const p = points.score[i];
      if (p <= 0 || p >= 1) total += Math.abs(points.wy[i] - points.w[i] * p);
    }
    return total / Count.sum(points.w);
  }

  function drawnExcess(groups, nDraws, design, rng) {
    const m = groups.score.length;
    const size = groups.size.map((one) => Math.max(one / design, 1));
    const ofOne = groups.variance.map((one, j) => (one * groups.size[j]) / groups.w[j] ** 2);
    const drawn = Cells.matched(rng, nDraws, m, size, groups.score, ofOne);
    for (let k = 0; k < drawn.length; k++) drawn[k] = groups.w[k % m] * (drawn[k] / size[k % m] - groups.score[k % m]);
    return drawn;
  }

  // How much larger the variance of outcomes is than that of independent rows of equal weight.
  function designOf(points, groups, added) {
    const alone = Count.sum(groups.variance);
    if (alone <= 0) return 1;
    if (added) return Math.max(added.values.reduce((total, one) => total + one * one, 0) / alone, 1);
    let [equal, least, most, seen] = [true, Infinity, -Infinity, 0];
    for (let i = 0; i < points.score.length; i++) {
      const { w, n, w2, w2y } = points;
      if (Math.abs(w2[i] * n[i] - w[i] * w[i]) > 1e-9 * w[i] * w[i]) equal = false;
      [least, most] = [Math.min(least, w[i] / n[i]), Math.max(most, w[i] / n[i])];
      const p = points.score[i];
      seen += w2y[i] * (1 - p) ** 2 + (w2[i] - w2y[i]) * p * p;
    }
    return equal && most - least < 1e-9 ? 1 : Math.max(seen / alone, 1);
  }

  function compared(groups, drawn, covariance, alpha, nDraws) {
    const m = groups.score.length;
    const excess = new Float64Array(drawn.length + m);
    for (let j = 0; j < m; j++) excess[j] = groups.w[j] * (groups.wy[j] / groups.w[j] - groups.score[j]);
    excess.set(drawn, m);
    const { looks, units } = looksOf(groups, excess, covariance, nDraws + 1);
    const n = nDraws + 1;
    const smallest = new Float64Array(n).fill(Infinity);
    const sorted = looks.map((look) => Float64Array.from(look).sort());
    looks.forEach((look, k) => {
      for (let r = 0; r < n; r++) smallest[r] = Math.min(smallest[r], (n - Count.search(sorted[k], look[r] * (1 - 1e-9))) / n);
    });
    let within = 0;
    for (const one of smallest) if (one <= smallest[0] * (1 + 1e-9)) within++;
    const pValue = within / n;
    if (pValue > alpha) return { pValue, atLeast: 0 };
    // Each test rejects p-values up to this one, so that all tests together have the level alpha.
    const each = Float64Array.from(smallest).sort()[Math.floor(alpha * (n - 1))];
    let atLeast = 0;
    looks.forEach((look, k) => {
      const needed = sorted[k][Math.min(Math.ceil((1 - each) * (n - 1)), n - 1)];
      const beyond = units[k] * (look[0] - needed);
      if (Number.isFinite(beyond)) atLeast = Math.max(atLeast, beyond);
    });
    return { pValue, atLeast };
  }

  // The statistic of each test for each row of excess, and the mean gap that one unit of it implies.
  function looksOf(groups, excess, covariance, n) {
    const m = groups.score.length;
    const logit = groups.score.map((p) => {
      const q = Math.min(Math.max(p, NEAREST), 1 - NEAREST);
      return Math.log(q) - Math.log1p(-q);
    });
    const spread = [0, 0, 0];
    for (let i = 0; i < m; i++) {
      for (let j = 0; j < m; j++) {
        const c = covariance[i * m + j];
        if (c === 0) continue;
        spread[0] += c;
        spread[1] += c * logit[j];
        spread[2] += logit[i] * c * logit[j];
      }
    }
    const size = sizeOf(Math.max(...spread.map(Math.abs)));
    const inverse = pseudoInverse(spread.map((one) => one / size));
    const starts = binStarts(groups);
    const ends = starts.map((_, k) => (k + 1 < starts.length ? starts[k + 1] : m));
    const error = starts.map((start, k) => {
      let total = 0;
      for (let i = start; i < ends[k]; i++) for (let j = start; j < ends[k]; j++) total += covariance[i * m + j];
      return Math.sqrt(total);
    });
    const looks = Array.from({ length: 5 }, () => new Float64Array(n));
    let [worstBin, line] = [0, null];
    for (let r = 0; r < n; r++) {
      let [sum, tilted, low, high] = [0, 0, 0, 0];
      for (let j = 0; j < m; j++) {
        const one = excess[r * m + j];
        sum += one;
        tilted += one * logit[j];
        if (sum < low) low = sum;
        if (sum > high) high = sum;
      }
      if (r === 0) line = [sum, tilted];
      looks[0][r] = Math.abs(sum);
      const form = inverse[0] * sum * sum + 2 * inverse[1] * sum * tilted + inverse[2] * tilted * tilted;
      looks[1][r] = Math.sqrt(Math.max(form, 0)) / Math.sqrt(size);
      looks[2][r] = high - low;
      let worst = -Infinity;
      for (let k = 0; k < starts.length; k++) {
        let total = 0;
        for (let j = starts[k]; j < ends[k]; j++) total += excess[r * m + j];
        total = Math.abs(total);
        looks[3][r] += total;
        const ratio = error[k] > 0 ? total / error[k] : total > 1e-9 ? Infinity : 0;
        if (ratio > worst) {
          worst = ratio;
          if (r === 0) worstBin = k;
        }
      }
      looks[4][r] = worst;
    }
    const [a, b] = [inverse[0] * line[0] + inverse[1] * line[1], inverse[1] * line[0] + inverse[2] * line[1]];
    const heaviest = logit.reduce((most, one) => Math.max(most, Math.abs(a + b * one)), 0);
    const total = Count.sum(groups.w);
    const units = [1, (looks[1][0] * size) / heaviest, 1, 1, error[worstBin]].map((one) => one / total);
    return { looks, units };
  }

  // A power of four of about this size.
  function sizeOf(value) {
    if (value === 0) return 1;
    let exponent = Math.floor(Math.log2(value)) + 1;
    if (2 ** (exponent - 1) > value) exponent--;
    return 4 ** Math.floor(exponent / 2);
  }

  // The inverse of a symmetric matrix of two rows; directions of almost no variance are left out.
  function pseudoInverse([a, b, c]) {
    const { values, vectors } = Linear.eigen(Float64Array.of(a, b, b, c), 2);
    const least = 1e-15 * Math.max(Math.abs(values[0]), Math.abs(values[1]));
    const found = [0, 0, 0];
    for (let k = 0; k < 2; k++) {
      if (Math.abs(values[k]) <= least) continue;
      const [x, y] = [vectors[k], vectors[2 + k]];
      found[0] += (x * x) / values[k];
      found[1] += (x * y) / values[k];
      found[2] += (y * y) / values[k];
    }
    return found;
  }

  // The first group of each of ten bins of about equal weight.
  function binStarts({ w }) {
    const total = Count.sum(w);
    let reached = 0;
    const shares = Float64Array.from(w, (one) => {
      reached += one;
      return (reached - one / 2) / total;
    });
    const starts = new Set();
    for (let k = 0; k < BINS_OF_TEST; k++) starts.add(Math.min(Count.search(shares, k / BINS_OF_TEST), shares.length - 1));
    return [...starts].sort((x, y) => x - y);
  }

  return { floor, floorWith, detectable, jointTest, groupsOf };
})();

if (typeof module !== "undefined") module.exports = Floor;
