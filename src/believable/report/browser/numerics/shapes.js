// Shapes that the true gaps may have, given the observed ones: draws from a posterior under a mixture of priors (smooth
// along the scores, rough, sparse, or in one or two places). `inference/shapes.py` explains the priors.
const Shapes = (() => {
  "use strict";

  const [SMOOTH_REACH, WAVY_REACH, SHIFT_REACH] = [0.3, 0.1, 1];
  const SMOOTH_PRIORS = [[0.5, 0.5], [0.95, 0.5], [1, 0.5], [0.95, 1], [1, 1], [0.5, 0], [0.95, 0], [1, 0]];
  const SHARED_PRIORS = [[0.5, 0.5], [0.95, 0.5], [0.5, 1], [0.95, 1], [0.95, 0]];
  const SHARED_PARTS = [0.5, 0.9, 0.99, 0.999];
  const WAVY_PRIORS = [[0.95, 0.5], [1, 0.5], [1, 1], [1, 0]];
  const PARTS_BESIDE_SHIFTS = [0, 0.5, 0.9];
  const SHIFT_PRIORS = [[1, 0.5], [1, 1]];
  const [MIN_SMOOTH_SHARE, OUTLYING_GAP, OUTLYING_SHARE] = [0.9, 0.3, 0.05];
  const NONZERO_SHARES = [0.3, 0.7, 1];
  const AMPLITUDES = [0.25, 0.5, 1, 2, 4, 8];
  const [MOST_SMALLER, WEIGHT_OF_SMOOTH, PLACE_GAPS, MOST_CELLS_OF_PLACE] = [8, 50, [0.1, 0.3], 3];
  const [WEIGHT_OF_PLACES, MAX_FOR_PLACES, MAX_FOR_SMOOTH] = [600, 60, 300];

  // Rows of gaps, one after the other, with a number per cell.
  function draws(gap, given, score, stratum, nDraws, rng, rough, pooled = null) {
    const variance = given.map((v) => Math.max(v, 1e-12));
    const m = gap.length;
    const components = [];
    const blocks = blocksOf(stratum);
    if (blocks.width <= MAX_FOR_SMOOTH) {
      const common = pooled ? pooled.map((v) => Math.max(v, 1e-12)) : variance;
      components.push(...smoothComponents(blocks, gap, common, score, rough));
    }
    if (rough || !components.length) {
      for (const power of [0.5, 0]) {
        const { scale, amplitudes } = scaled(score, variance, power);
        for (const share of NONZERO_SHARES) {
          for (const a of amplitudes) components.push(sparse(gap, variance, scale.map((s) => (a * s) ** 2), share));
        }
      }
    }
    if (stratum[0] === stratum[m - 1] && m >= 3 && m <= MAX_FOR_PLACES) {
      for (const size of PLACE_GAPS) components.push(places(gap, variance, score, size));
    }
    const most = Math.max(...components.map((one) => one.logFit));
    const chance = components.map((one) => Math.exp(one.logFit - most));
    const total = chance.reduce((a, b) => a + b, 0);
    const counts = rng.multinomial(nDraws, chance.map((one) => one / total), new Float64Array(chance.length));
    const found = new Float64Array(nDraws * m);
    let at = 0;
    components.forEach((one, k) => {
      if (!counts[k]) return;
      found.set(one.draw(counts[k], rng), at);
      at += counts[k] * m;
    });
    return found;
  }

  function scaled(score, variance, power) {
    const scale = score.map((p) => Math.max(p * (1 - p), 1e-6) ** power);
    const mean = (values) => Count.sum(values) / values.length;
    const unit = Math.sqrt(mean(variance) / mean(scale.map((s) => s * s)));
    return { scale, amplitudes: AMPLITUDES.map((a) => a * unit) };
  }

  // The cells of each stratum, in their order, as rows of a matrix that is padded to equal length.
  function blocksOf(stratum) {
    const byStratum = new Map();
    stratum.forEach((g, j) => {
      if (!byStratum.has(g)) byStratum.set(g, []);
      byStratum.get(g).push(j);
    });
    const cells = [...byStratum.keys()].sort((a, b) => a - b).map((g) => byStratum.get(g));
    return { cells, width: Math.max(...cells.map((one) => one.length)) };
  }

  // --- smooth gaps ---------------------------------------------------------------------------------------------------

  function smoothComponents(blocks, gap, variance, score, rough) {
    const several = blocks.cells.length > 1;
    const priors = SMOOTH_PRIORS.map((prior) => [SMOOTH_REACH, 0, prior]);
    if (!several) priors.push(...WAVY_PRIORS.map((prior) => [WAVY_REACH, 0, prior]));
    else {
      for (const part of SHARED_PARTS) for (const prior of SHARED_PRIORS) priors.push([SMOOTH_REACH, part, prior]);
      for (const part of PARTS_BESIDE_SHIFTS) for (const prior of SHIFT_PRIORS) priors.push([SHIFT_REACH, part, prior]);
    }
    const data = new Map();
    const components = [];
    for (const [reach, part, [share, power]] of priors) {
      if (share < MIN_SMOOTH_SHARE && !rough) continue;
      if (!data.has(reach)) data.set(reach, dataOf(blocks, gap, variance, score, reach));
      const { scale, amplitudes } = scaled(score, variance, power);
      if (several) {
        const least = 0.25 * Math.sqrt(1 / (Count.sum(scale.map((s, j) => (s * s) / variance[j])) / scale.length));
        const smaller = Math.min(Math.max(Math.ceil(Math.log2(amplitudes[0] / least)), 0), MOST_SMALLER);
        for (let k = 1; k <= smaller; k++) amplitudes.unshift(amplitudes[0] / 2);
      }
      for (const a of amplitudes) components.push(dense(data.get(reach), scale.map((s) => a * s), share, part));
    }
    return components;
  }

  function dataOf(blocks, gap, variance, score, reach) {
    const alike = (values) => values.map((p) => values.map((q) => Math.exp(-((p - q) ** 2) / (2 * reach * reach))));
    const own = blocks.cells.map((cells) => ({
      cells,
      gap: Float64Array.from(cells, (j) => gap[j]),
      variance: Float64Array.from(cells, (j) => variance[j]),
      alike: alike(cells.map((j) => score[j])),
    }));
    const group = Cells.groupsOf(score);
    const [sums, counts] = [Cells.bincount(group, score), Cells.bincount(group, score.map(() => 1))];
    return { own, width: blocks.width, m: gap.length, group, alikeGroups: alike([...sums].map((s, g) => s / counts[g])) };
  }

  // Jointly normal gaps: a part that all strata share, and parts of their own.
  function dense(data, size, smooth, shared) {
    const parts = data.own.map((block) => {
      const n = block.cells.length;
      const prior = new Float64Array(n * n);
      for (let i = 0; i < n; i++) {
        for (let j = 0; j < n; j++) {
          const alike = smooth * block.alike[i][j] + (i === j ? 1 - smooth + 1e-9 : 0);
          prior[i * n + j] = (1 - shared) * alike * size[block.cells[i]] * size[block.cells[j]];
        }
      }
      const noisy = Float64Array.from(prior);
      for (let i = 0; i < n; i++) noisy[i * n + i] += block.variance[i];
      const root = Linear.cholesky(noisy, n);
      return { block, n, prior, root, half: Linear.forward(root, n, block.gap, 1) };
    });
    let logFit = Math.log(WEIGHT_OF_SMOOTH);
    for (const { n, root, half } of parts) {
      for (let i = 0; i < n; i++) logFit -= (half[i] * half[i]) / 2 + Math.log(root[i * n + i]);
    }
    const common = shared ? sharedPart(data, parts, size, smooth, shared) : null;
    if (common) logFit += common.logFit;
    return { logFit, draw: (n, rng) => denseDraws(data, parts, common, n, rng) };
  }

  // One gap of each group of scores, which all strata share (Woodbury's identity).
  function sharedPart(data, parts, size, smooth, shared) {
    const q = data.alikeGroups.length;
    const among = new Float64Array(q * q);
    for (let i = 0; i < q; i++) {
      for (let j = 0; j < q; j++) among[i * q + j] = shared * (smooth * data.alikeGroups[i][j] + (i === j ? 1 - smooth + 1e-6 : 0));
    }
    const root = Linear.cholesky(among, q);
    const precision = new Float64Array(q * q);
    for (let i = 0; i < q; i++) precision[i * q + i] = 1;
    const pulled = new Float64Array(q);
    const loadings = parts.map(({ block, n, root: own, half }) => {
      const loading = new Float64Array(n * q);
      for (let i = 0; i < n; i++) {
        const j = block.cells[i];
        for (let c = 0; c < q; c++) loading[i * q + c] = size[j] * root[data.group[j] * q + c];
      }
      const seen = Linear.forward(own, n, loading, q);
      for (let b = 0; b < n; b++) {
        for (let i = 0; i < q; i++) {
          pulled[i] += seen[b * q + i] * half[b];
          for (let j = 0; j < q; j++) precision[i * q + j] += seen[b * q + i] * seen[b * q + j];
        }
      }
      return loading;
    });
    const sharedRoot = Linear.cholesky(precision, q);
    const pull = Linear.forward(sharedRoot, q, pulled, 1);
    let logFit = 0;
    for (let i = 0; i < q; i++) logFit += (pull[i] * pull[i]) / 2 - Math.log(sharedRoot[i * q + i]);
    return { q, loadings, sharedRoot, pull, logFit };
  }

  function denseDraws(data, parts, common, count, rng) {
    const found = new Float64Array(count * data.m);
    let factor = null;
    if (common) {
      const noisy = new Float64Array(common.q * count);
      for (let i = 0; i < common.q; i++) for (let r = 0; r < count; r++) noisy[i * count + r] = common.pull[i] + rng.normal();
      factor = Linear.backward(common.sharedRoot, common.q, noisy, count);
    }
    parts.forEach(({ block, n, prior, root }, g) => {
      const pulled = Linear.forward(root, n, prior, n);
      const toward = Linear.backward(root, n, pulled, n); // its transpose takes gaps to their means
      const covariance = new Float64Array(n * n);
      for (let i = 0; i < n; i++) {
        for (let j = 0; j < n; j++) {
          let dot = 0;
          for (let k = 0; k < n; k++) dot += pulled[k * n + i] * pulled[k * n + j];
          covariance[i * n + j] = prior[i * n + j] - dot;
        }
      }
      for (let i = 0; i < n; i++) for (let j = 0; j < i; j++) covariance[i * n + j] = covariance[j * n + i] = (covariance[i * n + j] + covariance[j * n + i]) / 2;
      const { values, vectors } = Linear.eigen(covariance, n);
      const noise = rng.normals(data.width * count); // padding draws too, as in Python
      const shared = new Float64Array(n);
      const off = new Float64Array(n);
      for (let r = 0; r < count; r++) {
        for (let i = 0; i < n; i++) {
          shared[i] = 0;
          if (common) for (let c = 0; c < common.q; c++) shared[i] += common.loadings[g][i * common.q + c] * factor[c * count + r];
          off[i] = block.gap[i] - shared[i];
        }
        for (let i = 0; i < n; i++) {
          let value = shared[i];
          for (let j = 0; j < n; j++) {
            value += toward[j * n + i] * off[j] + vectors[i * n + j] * Math.sqrt(Math.max(values[j], 0)) * noise[j * count + r];
          }
          found[r * data.m + block.cells[i]] = value;
        }
      }
    });
    return found;
  }

  // --- sparse gaps ---------------------------------------------------------------------------------------------------

  function logAddExp(values) {
    const most = Math.max(...values);
    if (most === -Infinity) return most;
    return most + Math.log(values.reduce((total, one) => total + Math.exp(one - most), 0));
  }

  // Independent gaps, each of them zero, normal or, rarely, of any size.
  function sparse(gap, variance, prior, share) {
    const m = gap.length;
    const kinds = [
      [1 - share, () => 0],
      [share * (1 - OUTLYING_SHARE), (j) => prior[j]],
      [share * OUTLYING_SHARE, () => OUTLYING_GAP ** 2],
    ];
    const [mean, deviation, chance] = [[], [], []];
    let logFit = 0;
    for (let j = 0; j < m; j++) {
      const fit = kinds.map(([weight, slab], k) => {
        const total = variance[j] + slab(j);
        const kept = slab(j) / total;
        (mean[k] ||= new Float64Array(m))[j] = kept * gap[j];
        (deviation[k] ||= new Float64Array(m))[j] = Math.sqrt(kept * variance[j]);
        return Math.log(weight) - ((gap[j] * gap[j]) / total + Math.log(total)) / 2;
      });
      const either = logAddExp(fit);
      logFit += either;
      fit.forEach((one, k) => { (chance[k] ||= new Float64Array(m))[j] = Math.exp(one - either); });
    }
    return { logFit, draw: (n, rng) => sparseDraws(n, m, rng, mean, deviation, chance) };
  }

  function sparseDraws(n, m, rng, mean, deviation, [nothing, normal]) {
    const which = rng.randoms(n * m);
    const zero = Uint8Array.from(which, (u, k) => (u < nothing[k % m] ? 1 : 0));
    const empty = [];
    for (let r = 0; r < n; r++) {
      let all = true;
      for (let j = 0; j < m && all; j++) all = zero[r * m + j] === 1;
      if (all) empty.push(r);
    }
    const some = nothing.map((one) => 1 - one + 1e-300);
    const total = Count.sum(some);
    rng.choices(some.map((one) => one / total), empty.length).forEach((j, k) => { zero[empty[k] * m + j] = 0; });
    const found = new Float64Array(n * m);
    for (let k = 0; k < n * m; k++) {
      const j = k % m;
      const kind = which[k] >= nothing[j] + normal[j] ? 2 : 1;
      const noise = rng.normal();
      if (!zero[k]) found[k] = mean[kind][j] + deviation[kind][j] * noise;
    }
    return found;
  }

  // --- gaps in one or two places -------------------------------------------------------------------------------------

  function places(gap, variance, score, size) {
    const m = gap.length;
    const order = [...score.keys()].sort((i, j) => score[i] - score[j] || i - j);
    const spans = [];
    for (let k = 1; k <= MOST_CELLS_OF_PLACE; k++) for (let i = 0; i + k <= m; i++) spans.push([i, i + k]);
    const [mean, deviation, gain] = [[], [], []];
    for (const [start, stop] of spans) {
      let [precision, pull] = [0, 0];
      for (let i = start; i < stop; i++) {
        precision += 1 / variance[order[i]];
        pull += gap[order[i]] / variance[order[i]];
      }
      precision += 1 / size ** 2;
      mean.push(pull / precision);
      deviation.push(1 / Math.sqrt(precision));
      gain.push((precision * (pull / precision) ** 2) / 2 - Math.log(precision * size ** 2) / 2);
    }
    let nothing = 0;
    for (let j = 0; j < m; j++) nothing -= ((gap[j] * gap[j]) / variance[j] + Math.log(variance[j])) / 2;
    const [first, second] = [[...spans.keys()], [...spans.keys()]];
    const fit = gain.map((one) => one - Math.log(spans.length));
    const pairs = [];
    spans.forEach(([, stop], a) => spans.forEach(([start], b) => { if (stop < start) pairs.push([a, b]); }));
    for (const [a, b] of pairs) {
      first.push(a);
      second.push(b);
      fit.push(gain[a] + gain[b] - Math.log(Math.max(pairs.length, 1)));
    }
    const either = logAddExp(fit);
    const chance = fit.map((one) => Math.exp(one - either));
    const logFit = Math.log(WEIGHT_OF_PLACES / 2) + either + nothing;

    function draw(n, rng) {
      const total = chance.reduce((a, b) => a + b, 0);
      const which = rng.choices(chance.map((one) => one / total), n);
      const found = new Float64Array(n * m);
      for (const [place, present] of [[first, () => true], [second, (k) => k >= spans.length]]) {
        for (let r = 0; r < n; r++) {
          const span = place[which[r]];
          const value = mean[span] + deviation[span] * rng.normal();
          if (!present(which[r])) continue;
          for (let i = spans[span][0]; i < spans[span][1]; i++) found[r * m + order[i]] += value;
        }
      }
      return found;
    }
    return { logFit, draw };
  }

  return { draws };
})();

if (typeof module !== "undefined") module.exports = Shapes;
