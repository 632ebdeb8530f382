// Intervals of means over rows (Brier score, log loss, accuracy, skill, sharpness): a bootstrap with bias-corrected and
// accelerated ends, or the jackknife. `inference/bootstrap.py` says the same.
const Resampling = (() => {
  "use strict";

  const [MAX_UNITS, MIN_CLUSTERS, MAX_PARTS, MOST_EXPONENT] = [2000, 40, 200, 700];
  const [TIED, LARGEST_LEVEL, NO_UNCERTAINTY] = [1e-12, 1 - 1e-12, 1e-13];

  // --- what rows add to the sums -------------------------------------------------------------------------------------

  // Sums of what the rows of each unit add to a metric, by name.
  function sumsOfUnits(rows, unit, nUnits, alias) {
    const K = rows.columns.length;
    const single = rows.kind === "binary";
    const made = () => new Float64Array(nUnits);
    const sums = { w: made(), x: made(), infinite: made(), wy: [], wp: [], wpp: [] };
    if (alias === "bss") sums.wy = rows.columns.map(made);
    if (alias === "sharpness") for (const name of ["wp", "wpp"]) sums[name] = rows.columns.map(made);
    const top = single ? null : Rows.predicted(rows).top;
    for (let i = 0; i < rows.n; i++) {
      const u = unit[i];
      const w = rows.weights ? rows.weights[i] : 1;
      const y = rows.labels[i];
      sums.w[u] += w;
      if (alias === "brier" || alias === "bss") {
        let square = 0;
        if (single) square = (y - rows.scores[i]) ** 2;
        else for (let k = 0; k < K; k++) square += ((y === k ? 1 : 0) - rows.columns[k][i]) ** 2;
        sums.x[u] += w * square;
      } else if (alias === "nll") {
        const loss = single ? -(y ? Math.log(rows.scores[i]) : Math.log1p(-rows.scores[i])) : -Math.log(rows.columns[y][i]);
        if (loss === Infinity) sums.infinite[u]++;
        else sums.x[u] += w * loss;
      } else if (alias === "acc") {
        const right = rows.pairs ? y : single ? (rows.scores[i] > 0.5 ? y : 1 - y) : top[i] === y ? 1 : 0;
        sums.x[u] += w * right;
      }
      if (alias === "bss") {
        if (single) sums.wy[0][u] += w * y;
        else sums.wy[y][u] += w;
      }
      if (alias === "sharpness") {
        for (let k = 0; k < K; k++) {
          const p = rows.columns[k][i];
          sums.wp[k][u] += w * p;
          sums.wpp[k][u] += w * p * p;
        }
      }
    }
    return sums;
  }

  // The metric from sums over all rows; NaN where it is undefined.
  function valueOf(alias, { w, x, infinite, wy, wp, wpp }) {
    if (alias === "nll") return infinite > 0 ? Infinity : x / w;
    if (alias === "brier" || alias === "acc") return x / w;
    if (alias === "bss") {
      let reference = 0;
      for (const one of wy) reference += (one / w) * (1 - one / w);
      return reference <= NO_UNCERTAINTY ? NaN : 1 - x / w / reference;
    }
    let deviation = 0;
    wp.forEach((one, k) => { deviation += Math.max(wpp[k] - (one * one) / w, 0) / w; });
    return deviation / wp.length;
  }

  // The metric where units are taken `times(u)` times.
  function valueWith(alias, sums, times) {
    const n = sums.w.length;
    const total = (column) => {
      let found = 0;
      for (let u = 0; u < n; u++) found += times(u) * column[u];
      return found;
    };
    const added = { w: total(sums.w), x: total(sums.x), infinite: alias === "nll" ? total(sums.infinite) : 0 };
    for (const name of ["wy", "wp", "wpp"]) added[name] = sums[name].map(total);
    return valueOf(alias, added);
  }

  // --- the interval --------------------------------------------------------------------------------------------------

  const facts = { acc: "share", bss: "skill" };

  // The ends of the interval of a metric whose value is known.
  function interval(alias, rows, value, level, nDraws, seed) {
    const draws = Math.max(nDraws, Math.min(Math.trunc(10 / (1 - level)), 100000));
    const { unit, nUnits, counts } = drawnUnits(rows, draws, seed);
    const sums = sumsOfUnits(rows, unit, nUnits, alias);
    const few = rows.cluster && nUnits < MIN_CLUSTERS;
    if (few || facts[alias]) {
      const leftOut = nUnits > 1 ? Array.from({ length: nUnits }, (_, v) => withoutUnit(alias, sums, v)) : [value];
      return jackknife(alias, value, leftOut, level);
    }
    const replicates = defined(replicatesOf(alias, sums, nUnits, counts()));
    const n = rows.cluster ? rows.nClusters : rows.n;
    const parts = Math.min(nUnits, MAX_PARTS);
    const leftOut = parts > 1 ? defined(Array.from({ length: parts }, (_, part) => valueWith(alias, sums, (u) => (u % parts === part ? 0 : 1)))) : [0];
    const wider = expandedLevel(level, n, degreesOfFreedom(leftOut, n));
    return bca(replicates, leftOut, value, wider);
  }

  // The unit of each row, and how often each is in each replicate: the same for every metric, so drawn only once.
  function drawnUnits(rows, draws, seed) {
    const key = `units ${draws} ${seed}`;
    if (!rows.curves.has(key)) {
      const rng = Draws.generator(seed);
      const found = Units.ofRows(rows, rng);
      let counts = null;
      rows.curves.set(key, { ...found, counts: () => (counts ??= Units.drawnCounts(found.nUnits, draws, rng)) });
    }
    return rows.curves.get(key);
  }

  function replicatesOf(alias, sums, nUnits, counts) {
    return Array.from({ length: counts.length / nUnits }, (_, r) => valueWith(alias, sums, (u) => counts[r * nUnits + u]));
  }

  function withoutUnit(alias, sums, v) {
    if (!sums.all) {
      sums.all = {};
      for (const name of ["w", "x", "infinite"]) sums.all[name] = Count.sum(sums[name]);
      for (const name of ["wy", "wp", "wpp"]) sums.all[name] = sums[name].map(Count.sum);
    }
    const left = {};
    for (const name of ["w", "x", "infinite"]) left[name] = sums.all[name] - sums[name][v];
    for (const name of ["wy", "wp", "wpp"]) left[name] = sums.all[name].map((one, k) => one - sums[name][k][v]);
    return valueOf(alias, left);
  }

  function defined(values) {
    const good = values.filter((one) => !Number.isNaN(one));
    if (good.length < 0.9 * values.length) {
      throw Logistic.undefinedError(`the metric is undefined in ${values.length - good.length} of ${values.length} resampled data sets: there are too few rows`);
    }
    return good;
  }

  function mean(values) {
    return Count.sum(values) / values.length;
  }

  // The smallest value that a share of the values does not exceed.
  function percentile(sorted, share) {
    return sorted[Math.min(Math.max(Math.ceil(sorted.length * share) - 1, 0), sorted.length - 1)];
  }

  // Bias-corrected and accelerated ends (Efron 1987).
  function bca(replicates, leftOut, value, level) {
    const sorted = Float64Array.from(replicates).sort();
    let below = 0;
    for (const one of replicates) {
      const tied = one === value || Math.abs(one - value) <= TIED + TIED * Math.abs(value);
      below += tied ? 0.5 : one < value ? 1 : 0;
    }
    below /= replicates.length;
    let shares = [(1 - level) / 2, (1 + level) / 2];
    if (below > 0 && below < 1 && leftOut.every(Number.isFinite)) {
      const bias = Special.normalQuantile(below);
      const centre = mean(leftOut);
      let [squares, cubes] = [0, 0];
      for (const one of leftOut) {
        squares += (centre - one) ** 2;
        cubes += (centre - one) ** 3;
      }
      const scale = squares ** 1.5;
      const acceleration = scale > 0 ? cubes / (6 * scale) : 0;
      shares = [1, -1].map((sign) => {
        const shifted = bias + sign * Special.normalQuantile((1 - level) / 2);
        return Special.normalCdf(bias + shifted / (1 - acceleration * shifted));
      });
    }
    return { low: percentile(sorted, shares[0]), high: percentile(sorted, shares[1]) };
  }

  const NAMES = { acc: "accuracy", bss: "brier_skill_score", brier: "brier_score", nll: "negative_log_likelihood", sharpness: "sharpness" };
  const RANGES = { acc: [0, 1], bss: [-Infinity, 1], brier: [0, 2], nll: [0, Infinity], sharpness: [0, 0.25] };

  // A standard error and Student's t; a share has Wilson's interval, a skill that of the logarithm of a ratio of losses.
  function jackknife(alias, value, leftOut, level) {
    if (leftOut.some(Number.isNaN)) {
      throw Logistic.undefinedError(`the interval of ${NAMES[alias]} needs each outcome in at least two rows (or clusters): without one of them the metric is undefined`);
    }
    if (!leftOut.every(Number.isFinite)) {
      return { low: leftOut.filter(Number.isFinite).reduce((a, b) => Math.min(a, b), value), high: value };
    }
    const n = leftOut.length;
    const error = jackknifeError(leftOut);
    if (facts[alias] === "share") {
      const effective = error > 0 ? 1 + (value * (1 - value)) / error ** 2 : n;
      const [low, high] = Special.wilson(value, effective, Special.tQuantile(level, Math.max(n - 1, 1)));
      return { low, high };
    }
    if (facts[alias] === "skill" && value < 1 && leftOut.every((one) => one < 1)) {
      const logs = leftOut.map((one) => Math.log(1 - one));
      const reach = Special.tQuantile(level, degreesOfFreedom(logs, n));
      const by = Math.exp(Math.min(reach * jackknifeError(logs), MOST_EXPONENT));
      return { low: 1 - (1 - value) * by, high: 1 - (1 - value) / by };
    }
    const reach = error * Special.tQuantile(level, degreesOfFreedom(leftOut, n));
    return { low: Math.max(value - reach, RANGES[alias][0]), high: Math.min(value + reach, RANGES[alias][1]) };
  }

  function jackknifeError(leftOut) {
    const centre = mean(leftOut);
    return Math.sqrt(Math.max(leftOut.length - 1, 0) * mean(leftOut.map((one) => (one - centre) ** 2)));
  }

  // n - 1 for normal contributions, and fewer if a few units contribute most of the variance (Satterthwaite 1946).
  function degreesOfFreedom(leftOut, n) {
    const most = Math.max(n - 1, 1);
    if (!leftOut.every(Number.isFinite)) return most;
    const centre = mean(leftOut);
    const squares = leftOut.map((one) => (one - centre) ** 2);
    const second = mean(squares);
    if (second <= 0) return most;
    const excess = Math.max(mean(squares.map((one) => (one / second) ** 2)) - 3, 0);
    return Math.max(2 / (2 / most + excess / leftOut.length), 1);
  }

  // The level at which quantiles of n resampled units are as wide as an interval with Student's t (Hesterberg 2015).
  function expandedLevel(level, n, df) {
    if (n <= 1) return level;
    const reach = Special.tQuantile(level, df) * Math.sqrt(n / (n - 1));
    return Math.min(Special.erf(reach / Math.SQRT2), LARGEST_LEVEL);
  }

  // The value of a metric of all rows.
  function value(alias, rows) {
    const unit = new Int32Array(rows.n);
    return valueWith(alias, sumsOfUnits(rows, unit, 1, alias), () => 1);
  }

  return { interval, value };
})();

if (typeof module !== "undefined") module.exports = Resampling;
