// Cells: the bins, or the points, of a calibration error, and new outcomes drawn for them.
//
// Cells are {areBins, n, w, conf, wy, size, spread, stratum, ...}; replicates of outcomes are one array of rows, one after
// the other, each with a number per cell. `inference/cells.py` says why each formula is what it is.
const Cells = (() => {
  "use strict";

  const [NO_CHANCE, ABSENT_SHARE, VARIANCE_OF_NORMAL] = [1e-12, 1e-12, 100];
  const [GROUPS_OF_SCORES, CELLS_PER_GROUP, EVENTS_BEFORE_POOLING, PRIOR_OF_SLOPE] = [8, 10, 30, 4];
  const [BINS_PER_KEPT_PAIR, MOST_KEPT_PAIRS] = [15, 8];

  const clip = (value, low, high) => Math.min(Math.max(value, low), high);

  function ofBins(stats) {
    const spread = stats.wpp.map((wpp, b) => Math.max(wpp / stats.w[b] - stats.conf[b] ** 2, 0));
    return { areBins: true, stats, n: stats.n, w: stats.w, conf: stats.conf, wp: stats.wp, wy: stats.wy, size: stats.effective, spread, stratum: stats.stratum };
  }

  function ofPoints(points, finest) {
    const { points: few, last } = Count.merged(points, finest);
    const m = few.score.length;
    const zeros = new Float64Array(m);
    return { areBins: false, n: few.n, w: few.w, conf: few.score, wy: few.wy, size: few.w.map((w, i) => (w * w) / few.w2[i]), spread: zeros, stratum: new Int32Array(m), points: few, last, total: Count.sum(few.w) };
  }

  // The variance of one outcome in cell j at this mean rate.
  function variance(cells, rate, j) {
    const largest = rate * (1 - rate);
    return Math.max(largest - (largest > 0 ? cells.spread[j] : 0), 0);
  }

  function gaps(cells) {
    return cells.wy.map((wy, j) => wy / cells.w[j] - cells.conf[j]);
  }

  // --- pooled rates --------------------------------------------------------------------------------------------------

  // A group of each cell, by its score and its rank among all cells.
  function groupsOf(score) {
    const m = score.length;
    const rank = new Float64Array(m);
    [...score.keys()].sort((i, j) => score[i] - score[j] || i - j).forEach((j, r) => { rank[j] = r / m; });
    const nRanks = clip(Math.floor(m / CELLS_PER_GROUP), 4, 20);
    const code = Array.from(score, (p, j) => Math.floor(GROUPS_OF_SCORES * Math.min(p, 1 - 1e-9)) + Math.floor(nRanks * rank[j]));
    const distinct = [...new Set(code)].sort((a, b) => a - b);
    const number = new Map(distinct.map((one, k) => [one, k]));
    return Int32Array.from(code, (one) => number.get(one));
  }

  function bincount(group, values) {
    const sums = new Float64Array(Math.max(...group) + 1);
    for (let j = 0; j < group.length; j++) sums[group[j]] += values[j];
    return sums;
  }

  function pooledRate(cells) {
    const group = groupsOf(cells.conf);
    const pooled = (values) => {
      const sums = bincount(group, values);
      return Float64Array.from(group, (g) => sums[g]);
    };
    const events = cells.wy.map((wy, j) => clip(wy / cells.w[j], 0, 1) * cells.size[j]);
    const size = pooled(cells.size);
    const happened = pooled(events);
    const expected = pooled(cells.conf.map((p, j) => p * cells.size[j]));
    return cells.conf.map((p, j) => {
      let odds = Math.max(p, NO_CHANCE) / Math.max(1 - p, NO_CHANCE);
      odds *= (happened[j] + 0.25) / Math.max(expected[j], NO_CHANCE);
      odds *= Math.max(size[j] - expected[j], NO_CHANCE) / (size[j] - happened[j] + 0.25);
      const least = 0.5 / (size[j] + 1);
      const centre = clip(odds / (1 + odds), least, 1 - least);
      const share = (happened[j] + 0.25) / (size[j] + 0.5);
      const weight = EVENTS_BEFORE_POOLING / Math.min(share, 1 - share);
      return (events[j] + weight * centre) / (cells.size[j] + weight);
    });
  }

  function pooledVariance(cells) {
    return pooledRate(cells).map((rate, j) => Math.max(variance(cells, rate, j), 1e-9) / cells.size[j]);
  }

  // Bins whose outcomes vary as the data do, instead of as those of calibrated scores.
  function asObserved(cells) {
    if (!cells.areBins) return cells;
    const covariance = cells.stats.wpy.map((wpy, j) => wpy / cells.w[j] - (cells.conf[j] * cells.wy[j]) / cells.w[j]);
    const pooled = pooledVariance(cells);
    const precision = cells.size.map((size, j) => size / Math.max(pooled[j] * size, 1e-9));
    const group = groupsOf(cells.conf);
    const known = precision.map((one, j) => one * cells.spread[j]);
    const seen = precision.map((one, j) => one * covariance[j]);
    const slope = (k, s, before) => (s + before * PRIOR_OF_SLOPE) / (k + PRIOR_OF_SLOPE);
    const [knownOf, seenOf] = [bincount(group, known), bincount(group, seen)];
    const typical = knownOf.map((k, g) => slope(k, seenOf[g], 1));
    const spread = cells.spread.map((one, j) => one * (2 * slope(known[j], seen[j], typical[group[j]]) - 1));
    return { ...cells, spread };
  }

  // --- drawing -------------------------------------------------------------------------------------------------------

  // Numbers of mean size * rate and variance size * variance, for draws rows of m cells; each argument has a number per
  // cell or per entry.
  function matched(rng, draws, m, size, rate, spread) {
    const each = (values) => (values.length === m ? (k) => values[k % m] : (k) => values[k]);
    const [sizeAt, rateAt, varianceAt] = [each(size), each(rate), each(spread)];
    const total = draws * m;
    const found = new Float64Array(total);
    let least = Infinity;
    let beyond = false;
    const distinct = Math.max(size.length, rate.length, spread.length);
    for (let k = 0; k < distinct; k++) {
      least = Math.min(least, sizeAt(k) * varianceAt(k));
      const rare = Math.min(rateAt(k), 1 - rateAt(k));
      if (varianceAt(k) > rare * (1 - rare) + 1e-12) beyond = true;
    }
    if (total > 0 && least > VARIANCE_OF_NORMAL) {
      for (let k = 0; k < total; k++) found[k] = sizeAt(k) * rateAt(k) + Math.sqrt(sizeAt(k) * varianceAt(k)) * rng.normal();
      return found;
    }
    if (beyond) {
      const most = (k) => {
        const rare = Math.min(rateAt(k), 1 - rateAt(k));
        return rare * (1 - rare);
      };
      const lower = Float64Array.from({ length: distinct }, (_, k) => Math.min(varianceAt(k), most(k)));
      const drawn = matched(rng, draws, m, size, rate, lower);
      for (let k = 0; k < total; k++) {
        const limit = most(k);
        const stretch = varianceAt(k) > limit + 1e-12 && limit > 0 ? Math.sqrt(varianceAt(k) / limit) : 1;
        const mean = sizeAt(k) * rateAt(k);
        found[k] = mean + stretch * (drawn[k] - mean);
      }
      return found;
    }
    for (let k = 0; k < total; k++) {
      const s = sizeAt(k);
      const p = rateAt(k);
      const rare = Math.min(p, 1 - p);
      let chance = rare > 0 ? 1 - varianceAt(k) / rare : 0;
      let trials = chance > 0 ? (s * rare) / chance : 0;
      trials = Math.max(Curves.roundHalfEven(trials), Math.ceil(s * rare - 1e-9));
      chance = trials > 0 ? (s * rare) / trials : 0;
      const drawn = Math.min(rng.binomial(trials, Math.min(chance, 1)), s);
      found[k] = p > 0.5 ? s - drawn : drawn;
    }
    return found;
  }

  // Weighted outcomes of the same pairs, at one rate per cell (or per entry).
  function draw(cells, rate, rng, draws) {
    const m = cells.w.length;
    const spread = Float64Array.from(rate, (p, k) => variance(cells, p, k % m));
    const found = matched(rng, draws, m, cells.size, rate, spread);
    for (let k = 0; k < found.length; k++) found[k] = (cells.w[k % m] * found[k]) / cells.size[k % m];
    return found;
  }

  // How many pairs new samples have in each cell, as a multiple of the observed number.
  function times(cells, rng, draws) {
    const m = cells.w.length;
    const keep = clip(Math.floor(m / BINS_PER_KEPT_PAIR), 1, MOST_KEPT_PAIRS);
    const kept = cells.n.map((n) => (cells.areBins ? Math.min(n, keep) : 0));
    const left = cells.n.map((n, j) => n - kept[j]);
    const total = Count.sum(left);
    const found = new Float64Array(draws * m).fill(1);
    if (total <= 0) return found;
    const shares = left.map((one) => one / total);
    for (let r = 0; r < draws; r++) rng.multinomial(total, shares, found, r * m);
    for (let k = 0; k < found.length; k++) found[k] = (kept[k % m] + found[k]) / cells.n[k % m];
    return found;
  }

  // Outcomes and weights of new samples that have `times` as many pairs in each cell.
  function drawAnew(cells, rate, rng, many) {
    const m = cells.w.length;
    const draws = many.length / m;
    const size = many.map((t, k) => cells.size[k % m] * t);
    const rates = rate.length === m ? Float64Array.from(many, (_, k) => rate[k % m]) : rate;
    const spread = rates.map((p, k) => variance(cells, p, k % m));
    const wy = matched(rng, draws, m, size, rates, spread);
    const w = many.map((t, k) => cells.w[k % m] * Math.max(t, ABSENT_SHARE));
    for (let k = 0; k < wy.length; k++) wy[k] = w[k] * (size[k] > 0 ? wy[k] / size[k] : cells.conf[k % m]);
    return { wy, w };
  }

  return { ofBins, ofPoints, variance, gaps, groupsOf, pooledRate, pooledVariance, asObserved, matched, draw, times, drawAnew, bincount, ABSENT_SHARE };
})();

if (typeof module !== "undefined") module.exports = Cells;
