// Units of resampling: rows, or clusters of rows that belong together; and rows whose classes exclude each other.
const Units = (() => {
  "use strict";

  const [MAX_UNITS, MAX_SIGNED_UNITS, POINTS_OF_CLUSTERED_TEST] = [2000, 200, 200];
  const BOUNDS_OF_WIDENING = [0.7, 4];
  const [LABELS_TO_DRAW, FEWEST_LABEL_DRAWS, NARROWEST] = [2000000, 100, 1e-3];

  // The unit of each row: clusters or rows, merged at random if there are many.
  function ofRows(rows, rng, most = MAX_UNITS) {
    const nUnits = rows.cluster ? rows.nClusters : rows.n;
    const unit = rows.cluster || Int32Array.from({ length: rows.n }, (_, i) => i);
    if (nUnits <= most) return { unit, nUnits };
    const shuffled = rng.permutation(nUnits);
    return { unit: unit.map((u) => shuffled[u] % most), nUnits: most };
  }

  // For each pair of a question: its row, cell, weight, and outcome minus score.
  function pairsOf(question, cells) {
    const curves = Rows.curves(question.rows, question.view);
    const entries = cells.areBins ? Count.entries(cells.stats, curves) : [placed(curves[0].score, cells.last)];
    const found = { row: [], cell: [], weight: [], residual: [] };
    curves.forEach((curve, g) => {
      const n = curve.score.length;
      for (let i = 0; i < n; i++) {
        found.row.push(curve.row ? curve.row[i] : i);
        found.cell.push(entries[g][i]);
        found.weight.push(curve.weight ? curve.weight[i] : 1);
        found.residual.push(curve.outcome[i] - curve.score[i]);
      }
    });
    return found;
  }

  // The group of each score; groups end at these last scores.
  function placed(score, last) {
    return Int32Array.from(score, (p) => Math.min(Count.search(last, p), last.length - 1));
  }

  // A table of units by cells: the sums of some values.
  function table(nUnits, m, unitOf, pairs, values) {
    const sums = new Float64Array(nUnits * m);
    for (let k = 0; k < pairs.row.length; k++) sums[unitOf[pairs.row[k]] * m + pairs.cell[k]] += values(k);
    return { units: nUnits, m, values: sums };
  }

  // Rows of counts of units, times a table.
  function times(counts, { units, m, values }) {
    const draws = counts.length / units;
    const found = new Float64Array(draws * m);
    for (let r = 0; r < draws; r++) {
      for (let u = 0; u < units; u++) {
        const count = counts[r * units + u];
        if (count === 0) continue;
        for (let j = 0; j < m; j++) found[r * m + j] += count * values[u * m + j];
      }
    }
    return found;
  }

  function drawnCounts(nUnits, draws, rng) {
    const shares = new Float64Array(nUnits).fill(1 / nUnits);
    const counts = new Float64Array(draws * nUnits);
    for (let r = 0; r < draws; r++) rng.multinomial(nUnits, shares, counts, r * nUnits);
    return counts;
  }

  function deviation(values) {
    const mean = Count.sum(values) / values.length;
    let total = 0;
    for (const one of values) total += (one - mean) ** 2;
    return Math.sqrt(total / values.length);
  }

  const bounded = (value) => Math.min(Math.max(value, BOUNDS_OF_WIDENING[0]), BOUNDS_OF_WIDENING[1]);

  // --- intervals -----------------------------------------------------------------------------------------------------

  // Bins in a form that can be drawn as if independent, and how much wider the error spreads than such draws say.
  function bins(question, cells, draws, rng) {
    const { rows } = question;
    if (!rows.cluster) return [cells, widenedByExclusion(question, cells, draws, rng)];
    const pairs = pairsOf(question, cells);
    const m = cells.w.length;
    const fewer = { ...cells, size: cells.size.map((size) => size / clustering(question, cells, pairs)) };
    const { unit, nUnits } = ofRows(rows, rng);
    const weight = table(nUnits, m, unit, pairs, (k) => pairs.weight[k]);
    const residuals = table(nUnits, m, unit, pairs, (k) => pairs.weight[k] * pairs.residual[k]);
    const counts = drawnCounts(nUnits, draws, rng);
    const w = times(counts, weight).map((one, k) => Math.max(one, Cells.ABSENT_SHARE * cells.w[k % m]));
    const drift = times(counts, residuals);
    const whole = question.replicates(cells, drift.map((one, k) => w[k] * cells.conf[k % m] + one), w);
    const rate = cells.wy.map((wy, j) => Math.min(Math.max(wy / cells.w[j], 0), 1));
    const anew = Cells.drawAnew(fewer, rate, rng, Cells.times(cells, rng, draws));
    const apart = deviation(question.replicates(cells, anew.wy, anew.w));
    const widened = apart > 0 ? deviation(whole) / Math.max(apart, 1e-300) : 1;
    return [fewer, bounded(widened) * widenedByFew(rows)];
  }

  // How much wider Student's t is than the normal distribution, for a variance that few clusters estimate.
  function widenedByFew({ nClusters }) {
    return Special.tQuantile(0.95, Math.max(nClusters - 1, 1)) / Special.normalQuantile(0.975);
  }

  // The factor by which clusters raise the variance of outcomes; at least 1.
  function clustering(question, cells, pairs) {
    const { cluster, nClusters } = question.rows;
    const gap = Cells.gaps(cells);
    let alone = 0;
    const added = table(nClusters, cells.w.length, cluster, pairs, (k) => {
      const excess = pairs.weight[k] * (pairs.residual[k] - gap[pairs.cell[k]]);
      alone += excess * excess;
      return excess;
    });
    return Math.max(1, squares(added) / Math.max(alone, 1e-300));
  }

  function squares({ values }) {
    let total = 0;
    for (const one of values) total += one * one;
    return total;
  }

  // The noise of points with clusters, by resampling what each unit adds to them.
  function points(question, cells, draws, rng) {
    const { unit, nUnits } = ofRows(question.rows, rng);
    const pairs = pairsOf(question, cells);
    const m = cells.w.length;
    const residuals = table(nUnits, m, unit, pairs, (k) => pairs.weight[k] * pairs.residual[k]);
    const scale = Math.sqrt(nUnits / Math.max(nUnits - 1, 1));
    const drift = times(drawnCounts(nUnits, draws, rng).map((count) => (count - 1) * scale), residuals);
    const variance = new Float64Array(m);
    for (let u = 0; u < nUnits; u++) for (let j = 0; j < m; j++) variance[j] += residuals.values[u * m + j] ** 2;
    for (let j = 0; j < m; j++) {
      variance[j] = Math.max(variance[j] / cells.w[j] ** 2, Cells.variance(cells, cells.conf[j], j) / (cells.size[j] + 1) ** 2);
    }
    const outcomes = (rate) => ({ wy: drift.map((one, k) => cells.w[k % m] * (rate ? rate[k] : cells.conf[k % m]) + one), w: null });
    return { variance, outcomes };
  }

  // --- tests ---------------------------------------------------------------------------------------------------------

  // The p-value of an error with clusters: the sign of what each contributes is drawn at random.
  function chance(question, nDraws, rng) {
    const { rows } = question;
    const cells = question.cells(POINTS_OF_CLUSTERED_TEST);
    const { unit, nUnits } = ofRows(rows, rng, MAX_SIGNED_UNITS);
    const pairs = pairsOf(question, cells);
    const m = cells.w.length;
    const added = table(nUnits, m, unit, pairs, (k) => pairs.weight[k] * pairs.residual[k]);
    const drift = tossed(added, nDraws, rng);
    let at = null;
    if (question.isFixedPoint) at = Math.max(question.replicates(cells, cells.wy)[0], NARROWEST);
    const observed = question.replicates(cells, cells.wy, null, at)[0];
    const shown = question.replicates(cells, drift.map((one, k) => cells.w[k % m] * cells.conf[k % m] + one), null, at);
    let above = 1;
    for (const one of shown) if (one >= observed * (1 - 1e-9)) above++;
    return above / (1 + nDraws);
  }

  // What units add, with random signs.
  function tossed(added, nDraws, rng) {
    const signs = new Float64Array(nDraws * added.units);
    for (let k = 0; k < signs.length; k++) signs[k] = 2 * rng.below(2) - 1;
    return times(signs, added);
  }

  // The products of what units add to two cells, summed over units.
  function products({ units, m, values }) {
    const found = new Float64Array(m * m);
    for (let u = 0; u < units; u++) {
      for (let i = 0; i < m; i++) {
        const one = values[u * m + i];
        if (one === 0) continue;
        for (let j = 0; j < m; j++) found[i * m + j] += one * values[u * m + j];
      }
    }
    return found;
  }

  // What each cluster adds to the excess of each group of scores, which end at these last scores.
  function residualsByGroup(curve, rows, last, rng) {
    const { unit, nUnits } = ofRows(rows, rng);
    const group = placed(curve.score, last);
    const m = last.length;
    const values = new Float64Array(nUnits * m);
    for (let i = 0; i < curve.score.length; i++) {
      values[unit[i] * m + group[i]] += (curve.weight ? curve.weight[i] : 1) * (curve.outcome[i] - curve.score[i]);
    }
    return { added: { units: nUnits, m, values }, unit, nUnits };
  }

  // --- design effects of one curve -----------------------------------------------------------------------------------

  function squaredSums(cluster, n, added) {
    const sums = new Float64Array(n);
    for (let i = 0; i < added.length; i++) sums[cluster[i]] += added[i];
    return (squares({ values: sums }) * n) / Math.max(n - 1, 1);
  }

  const atLeastOne = (together, alone) => (alone > 0 ? Math.max(together / alone, 1) : 1);

  // The factor by which clusters increase the variance of the ratio of rarer outcomes.
  function designOfRatio(curve, cluster, n) {
    const m = curve.score.length;
    const w = curve.weight || new Float64Array(m).fill(1);
    let [observed, total] = [0, 0];
    for (let i = 0; i < m; i++) {
      observed += w[i] * curve.outcome[i];
      total += w[i];
    }
    const turned = observed > total / 2;
    const p = (i) => (turned ? 1 - curve.score[i] : curve.score[i]);
    const y = (i) => (turned ? 1 - curve.outcome[i] : curve.outcome[i]);
    let [expected, happened] = [0, 0];
    for (let i = 0; i < m; i++) {
      expected += w[i] * p(i);
      happened += w[i] * y(i);
    }
    if (expected <= 0) return 1;
    let alone = 0;
    const added = new Float64Array(m);
    for (let i = 0; i < m; i++) {
      added[i] = w[i] * (y(i) - (happened / expected) * p(i));
      alone += (w[i] * (y(i) - p(i))) ** 2;
    }
    return atLeastOne(squaredSums(cluster, n, added), alone);
  }

  // The factor by which clusters increase the variance of the slope (Liang and Zeger 1986).
  function designOfSlope(curve, cluster, n, intercept, slope) {
    const m = curve.score.length;
    const x = curve.score.map((one) => {
      const p = Math.min(Math.max(one, 1e-12), 1 - 1e-12);
      return Math.log(p / (1 - p));
    });
    const rate = x.map((one) => 1 / (1 + Math.exp(-Math.min(Math.max(intercept + slope * one, -700), 700))));
    const w = (i) => (curve.weight ? curve.weight[i] : 1);
    const information = [0, 0, 0];
    for (let i = 0; i < m; i++) {
      const spread = w(i) * rate[i] * (1 - rate[i]);
      information[0] += spread;
      information[1] += spread * x[i];
      information[2] += spread * x[i] * x[i];
    }
    const [, b, c] = Logistic.inverse(information);
    let alone = 0;
    const added = new Float64Array(m);
    for (let i = 0; i < m; i++) {
      const effect = b + c * x[i];
      added[i] = w(i) * (curve.outcome[i] - rate[i]) * effect;
      alone += w(i) ** 2 * rate[i] * (1 - rate[i]) * effect * effect;
    }
    return atLeastOne(squaredSums(cluster, n, added), alone);
  }

  // The number of independent rows that tell as much about the rate of each bin.
  function effectiveRows(stats, curves, cluster, n) {
    const entries = Count.entries(stats, curves);
    const bins = stats.w.length;
    const sums = new Map();
    curves.forEach((curve, g) => {
      for (let i = 0; i < curve.score.length; i++) {
        const b = entries[g][i];
        const key = cluster[curve.row ? curve.row[i] : i] * bins + b;
        sums.set(key, (sums.get(key) || 0) + (curve.weight ? curve.weight[i] : 1) * (curve.outcome[i] - stats.acc[b]));
      }
    });
    const clusters = new Float64Array(bins);
    const squared = new Float64Array(bins);
    for (const [key, sum] of sums) {
      clusters[key % bins]++;
      squared[key % bins] += sum * sum;
    }
    return stats.w.map((w, b) => {
      const alike = squared[b] < 1e-12 * w * w || clusters[b] < 2;
      const variance = (squared[b] / (w * w)) * (clusters[b] / (clusters[b] - 1));
      const rows = alike ? clusters[b] : (stats.acc[b] * (1 - stats.acc[b])) / variance;
      return Math.min(Math.max(rows, 1), stats.effective[b]);
    });
  }

  // --- classes that exclude each other -------------------------------------------------------------------------------

  // The cell of each (row, class), and the running sums of the probabilities of each row.
  function byClass(rows, cells) {
    const entries = Count.entries(cells.stats, Rows.curves(rows, "classwise"));
    const K = rows.nClasses;
    const reached = new Float64Array(rows.n * K);
    const cell = new Int32Array(rows.n * K);
    for (let i = 0; i < rows.n; i++) {
      let total = 0;
      for (let k = 0; k < K; k++) {
        reached[i * K + k] = total += rows.columns[k][i];
        cell[i * K + k] = entries[k][i];
      }
    }
    return { cell, reached };
  }

  // Weighted outcomes by cell of labels drawn from each row's probabilities.
  function labels(rows, cells, draws, rng) {
    const { cell, reached } = byClass(rows, cells);
    const found = new Float64Array(draws * cells.w.length);
    for (let r = 0; r < draws; r++) relabel(rows, cell, reached, found, r * cells.w.length, (_) => rng.random());
    return found;
  }

  function relabel(rows, cell, reached, into, at, uniform) {
    const K = rows.nClasses;
    for (let i = 0; i < rows.n; i++) {
      const goal = uniform(i) * reached[i * K + K - 1];
      let k = 0;
      while (k < K - 1 && goal >= reached[i * K + k]) k++;
      into[at + cell[i * K + k]] += rows.weights ? rows.weights[i] : 1;
    }
  }

  const BLOCK_ENTRIES = 1 << 18; // Python draws labels in blocks of so many entries

  // The ratio of the spread of the error when labels of rows are drawn to that when bins are drawn alone.
  function widenedByExclusion(question, cells, nDraws, rng) {
    const { rows } = question;
    const [m, K] = [cells.w.length, rows.nClasses];
    const draws = Math.trunc(Math.min(Math.max(Math.floor(LABELS_TO_DRAW / rows.n), FEWEST_LABEL_DRAWS), nDraws));
    const { cell } = byClass(rows, cells);
    const typical = Cells.pooledRate(cells);
    const raised = typical.map((rate, j) => (rate > cells.conf[j] ? (1 - rate) / Math.max(1 - cells.conf[j], 1e-12) : 1));
    const lowered = typical.map((rate, j) => (rate < cells.conf[j] ? rate / Math.max(cells.conf[j], 1e-12) : 1));
    const [first, second] = [new Float64Array(m), new Float64Array(m)];
    const reached = new Float64Array(rows.n * K);
    for (let i = 0; i < rows.n; i++) {
      const chance = new Float64Array(K);
      let total = 0;
      for (let k = 0; k < K; k++) {
        const j = cell[i * K + k];
        chance[k] = lowered[j] * (1 - raised[j] * (1 - rows.columns[k][i]));
        total += chance[k];
      }
      const w = rows.weights ? rows.weights[i] : 1;
      let sum = 0;
      for (let k = 0; k < K; k++) {
        const p = chance[k] / total;
        first[cell[i * K + k]] += w * p;
        second[cell[i * K + k]] += w * p * p;
        reached[i * K + k] = sum += p;
      }
    }
    const drawn = new Float64Array(draws * m);
    const step = Math.max(1, Math.floor(BLOCK_ENTRIES / K));
    for (let start = 0; start < rows.n; start += step) {
      const stop = Math.min(start + step, rows.n);
      for (let r = 0; r < draws; r++) {
        for (let i = start; i < stop; i++) {
          const goal = rng.random() * reached[i * K + K - 1];
          let k = 0;
          while (k < K - 1 && goal >= reached[i * K + k]) k++;
          drawn[r * m + cell[i * K + k]] += rows.weights ? rows.weights[i] : 1;
        }
      }
    }
    const rate = first.map((one, j) => one / cells.w[j]);
    const alone = { ...cells, spread: second.map((one, j) => one / cells.w[j] - rate[j] ** 2) };
    const apart = question.replicates(cells, Cells.draw(alone, rate.map((one) => Math.min(Math.max(one, 0), 1)), rng, draws));
    const whole = question.replicates(cells, drawn);
    return bounded(deviation(whole) / Math.max(deviation(apart), 1e-300));
  }

  return { ofRows, drawnCounts, bins, points, chance, tossed, products, residualsByGroup, designOfRatio, designOfSlope, effectiveRows, labels };
})();

if (typeof module !== "undefined") module.exports = Units;
