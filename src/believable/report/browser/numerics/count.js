// What is counted from the pairs of a curve: points (sums at each distinct score), bins, and sums over all rows.
//
// Points are {score, n, w, wy, w2, w2y}, in ascending order of the score. Bins are {edges, index, stratum, n, ny, w, wp,
// wpp, wy, wpy, w2, w2p, w2pp, w2y, w2py, conf, acc}: arrays with an entry per occupied bin.
const Count = (() => {
  "use strict";

  const BIN_SUMS = ["n", "ny", "w", "wp", "wpp", "wy", "wpy", "w2", "w2p", "w2pp", "w2y", "w2py"];
  const SLACK = 1e-9; // a boundary of quantile bins is reached when so little of the weight is missing

  // --- sorting -------------------------------------------------------------------------------------------------------

  // The stable ascending order of numbers that are not negative: a radix sort by their 64 bits.
  function order(values) {
    const n = values.length;
    if (n < 3000) return Int32Array.from({ length: n }, (_, i) => i).sort((i, j) => values[i] - values[j] || i - j);
    const bits = new Uint32Array(Float64Array.from(values).buffer);
    const counts = [0, 1, 2, 3].map(() => new Int32Array(65536));
    for (let i = 0; i < n; i++) {
      const low = bits[2 * i];
      const high = bits[2 * i + 1];
      counts[0][low & 65535]++;
      counts[1][low >>> 16]++;
      counts[2][high & 65535]++;
      counts[3][high >>> 16]++;
    }
    let now = new Int32Array(n);
    let next = new Int32Array(n);
    for (let i = 0; i < n; i++) now[i] = i;
    for (let digit = 0; digit < 4; digit++) {
      const count = counts[digit];
      const [word, shift] = [digit >> 1, (digit & 1) * 16];
      if (count[(bits[2 * now[0] + word] >>> shift) & 65535] === n) continue; // all alike
      for (let k = 0, start = 0; k < 65536; k++) {
        const here = count[k];
        count[k] = start;
        start += here;
      }
      for (let i = 0; i < n; i++) {
        const row = now[i];
        next[count[(bits[2 * row + word] >>> shift) & 65535]++] = row;
      }
      [now, next] = [next, now];
    }
    return now;
  }

  // --- points --------------------------------------------------------------------------------------------------------

  function emptyPoints(m) {
    return { score: new Float64Array(m), n: new Float64Array(m), w: new Float64Array(m), wy: new Float64Array(m), w2: new Float64Array(m), w2y: new Float64Array(m), ny: new Float64Array(m) };
  }

  function pointsOf(curve) {
    if (!curve.points) curve.points = counted(curve);
    return curve.points;
  }

  function counted({ score, outcome, weight }) {
    const sorted = order(score);
    let m = 0;
    for (let i = 0; i < sorted.length; i++) if (i === 0 || score[sorted[i]] !== score[sorted[i - 1]]) m++;
    const points = emptyPoints(m);
    let at = -1;
    for (let i = 0; i < sorted.length; i++) {
      const row = sorted[i];
      if (i === 0 || score[row] !== points.score[at]) points.score[++at] = score[row];
      const w = weight ? weight[row] : 1;
      points.n[at]++;
      points.w[at] += w;
      points.w2[at] += w * w;
      if (outcome[row]) {
        points.ny[at]++;
        points.wy[at] += w;
        points.w2y[at] += w * w;
      }
    }
    points.total = sum(points.w);
    return points;
  }

  function sum(values) {
    let total = 0;
    for (let i = 0; i < values.length; i++) total += values[i];
    return total;
  }

  // The cumulative sums, compensated (Neumaier 1974), as the many 0.1 of equal weights would drift.
  function running(values) {
    const reached = new Float64Array(values.length);
    let total = 0;
    let lost = 0;
    for (let i = 0; i < values.length; i++) {
      const next = total + values[i];
      lost += Math.abs(total) >= Math.abs(values[i]) ? total - next + values[i] : values[i] - next + total;
      total = next;
      reached[i] = total + lost;
    }
    return reached;
  }

  // The first place of ascending values that is not below (left), or above (right), a number.
  function search(values, goal, right = false, low = 0, high = values.length) {
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (right ? values[middle] <= goal : values[middle] < goal) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // Where to cut ascending scores into at most `most` short cells: half of equal width, half of equal weight.
  function cellStarts(score, w, most) {
    const steps = Math.floor(most / 2) - 1;
    const width = score[score.length - 1] - score[0];
    const total = sum(w);
    const starts = [0];
    let reached = 0;
    let [beforeWide, beforeHeavy] = [0, 0];
    for (let i = 0; i < score.length; i++) {
      reached += w[i];
      const wide = Math.floor(((score[i] - score[0]) / width) * steps);
      const heavy = Math.floor((reached / total) * steps);
      if (i > 0 && (wide !== beforeWide || heavy !== beforeHeavy)) starts.push(i);
      beforeWide = wide;
      beforeHeavy = heavy;
    }
    return starts;
  }

  // Points with neighbours merged at their mean score.
  function gathered(points, starts) {
    const made = emptyPoints(starts.length);
    const together = (into, value) => {
      for (let k = 0; k < starts.length; k++) {
        const end = k + 1 < starts.length ? starts[k + 1] : points.score.length;
        for (let i = starts[k]; i < end; i++) into[k] += value[i];
      }
    };
    for (const name of ["n", "ny", "w", "wy", "w2", "w2y"]) together(made[name], points[name]);
    const { w, score } = points;
    together(made.score, w.map((one, i) => one * score[i]));
    for (let k = 0; k < starts.length; k++) made.score[k] /= made.w[k];
    made.total = sum(made.w);
    return made;
  }

  // At most `most` points, merged from neighbours, and the last score of each.
  function merged(points, most) {
    if (points.score.length <= most) return { points, last: points.score };
    const starts = cellStarts(points.score, points.w, most);
    const last = Float64Array.from(starts, (_, k) => points.score[(k + 1 < starts.length ? starts[k + 1] : points.score.length) - 1]);
    return { points: gathered(points, starts), last };
  }

  // --- bins ----------------------------------------------------------------------------------------------------------

  function uniformEdges(m) {
    return Float64Array.from({ length: m + 1 }, (_, k) => k / m);
  }

  // Where a cumulative weight first reaches k/m of the total, k = 1..m-1.
  function quantilePositions(reached, m) {
    const total = reached[reached.length - 1];
    return Array.from({ length: m - 1 }, (_, k) => search(reached, ((k + 1) * total) / m - SLACK * total));
  }

  // At most m bins of equal weight, because equal scores are never split; a boundary at 0 makes {0} a bin.
  function quantileEdges(points, m) {
    if (!points.score.length) return Float64Array.of(0, 1);
    const inner = new Set(quantilePositions(running(points.w), m).map((k) => points.score[k]));
    return Float64Array.from([0, ...[...inner].filter((edge) => edge < 1), 1]);
  }

  // The bin of a score between right-closed edges: the number of inner edges below it.
  function place(edges, score) {
    return search(edges, score, false, 1, edges.length - 1) - 1;
  }

  // The bins of one or several curves; strata are kept apart.
  function bins(curves, nBins, strategy) {
    const all = curves.map(pointsOf);
    const edges = strategy === "uniform" ? [uniformEdges(nBins)] : all.map((points) => quantileEdges(points, nBins));
    return binned(all, edges, strategy);
  }

  function binned(all, edges, strategy) {
    const perStratum = Math.max(...edges.map((one) => one.length - 1));
    const rows = [];
    all.forEach((points, g) => {
      const own = edges[edges.length > 1 ? g : 0];
      let bin = -1;
      let row = null;
      for (let i = 0; i < points.score.length; i++) {
        const p = points.score[i];
        if (row === null || p > own[bin + 1]) {
          bin = place(own, p);
          row = { index: bin, stratum: g };
          for (const name of BIN_SUMS) row[name] = 0;
          rows.push(row);
        }
        const w = points.w[i];
        const wy = points.wy[i];
        const w2 = points.w2[i];
        const w2y = points.w2y[i];
        row.n += points.n[i];
        row.ny += points.ny[i];
        row.w += w;
        row.wp += w * p;
        row.wpp += w * p * p;
        row.wy += wy;
        row.wpy += wy * p;
        row.w2 += w2;
        row.w2p += w2 * p;
        row.w2pp += w2 * p * p;
        row.w2y += w2y;
        row.w2py += w2y * p;
      }
    });
    return statistic(rows, edges, strategy, perStratum, all.length);
  }

  function statistic(rows, edges, strategy, perStratum, nStrata) {
    const stats = { edges, strategy, perStratum, nStrata };
    for (const name of ["index", "stratum"]) stats[name] = Int32Array.from(rows, (row) => row[name]);
    for (const name of BIN_SUMS) stats[name] = Float64Array.from(rows, (row) => row[name]);
    return withMeans(stats);
  }

  function withMeans(stats) {
    stats.total = sum(stats.w);
    stats.conf = stats.wp.map((wp, b) => wp / stats.w[b]);
    stats.acc = stats.wy.map((wy, b) => wy / stats.w[b]);
    stats.effective = stats.w.map((w, b) => (w * w) / stats.w2[b]);
    return stats;
  }

  // The bins of one stratum.
  function onlyStratum(stats, g) {
    const here = [...stats.stratum.keys()].filter((b) => stats.stratum[b] === g);
    const own = { edges: [stats.edges[stats.edges.length > 1 ? g : 0]], strategy: stats.strategy, perStratum: stats.perStratum, nStrata: 1 };
    own.index = Int32Array.from(here, (b) => stats.index[b]);
    own.stratum = new Int32Array(here.length);
    for (const name of BIN_SUMS) own[name] = Float64Array.from(here, (b) => stats[name][b]);
    return withMeans(own);
  }

  // The entry of each pair of some curves in the bins counted from them.
  function entries(stats, curves) {
    return curves.map((curve, g) => {
      const edges = stats.edges[stats.edges.length > 1 ? g : 0];
      const entryOf = new Int32Array(stats.perStratum);
      stats.index.forEach((bin, b) => { if (stats.stratum[b] === g) entryOf[bin] = b; });
      const found = new Int32Array(curve.score.length);
      const [m, uniform] = [edges.length - 1, stats.strategy === "uniform"];
      for (let i = 0; i < found.length; i++) {
        const p = curve.score[i];
        let bin;
        if (uniform) { // multiply and round down, then compare with the edges themselves
          bin = Math.min(Math.floor(p * m), m - 1);
          if (bin > 0 && p <= edges[bin]) bin--;
          else if (p > edges[bin + 1]) bin++;
        } else bin = place(edges, p);
        found[i] = entryOf[bin];
      }
      return found;
    });
  }

  // --- sums over rows ------------------------------------------------------------------------------------------------

  // The sums behind proper scores, accuracy and sharpness of one event.
  function sumsOfPoints(points, pairs) {
    const s = { n: 0, w: 0, w2: 0, brier: 0, nll: 0, correct: 0, confidence: 0, entropy: 0, spread: 0, squared: 0, wp: 0, wy: 0 };
    for (let i = 0; i < points.score.length; i++) {
      const p = points.score[i];
      const w = points.w[i];
      const wy = points.wy[i];
      const w2 = points.w2[i];
      const w2y = points.w2y[i];
      const wn = w - wy;
      s.n += points.n[i];
      s.w += w;
      s.w2 += w2;
      s.wp += w * p;
      s.wy += wy;
      s.brier += wy * (1 - p) * (1 - p) + wn * p * p;
      s.squared += w2y * (1 - p) * (1 - p) + (w2 - w2y) * p * p;
      const log = Math.log(p);
      const logNot = Math.log1p(-p);
      if (wy > 0) s.nll -= wy * log;
      if (wn > 0) s.nll -= wn * logNot;
      if (p > 0 && p < 1) s.entropy -= w * (p * log + (1 - p) * logNot);
      s.confidence += w * (pairs ? p : Math.max(p, 1 - p));
      s.correct += pairs || p > 0.5 ? wy : wn;
      s.spread += (wy - w * p) * (1 - 2 * p);
    }
    const mean = s.wp / s.w;
    s.deviation = 0;
    for (let i = 0; i < points.score.length; i++) s.deviation += points.w[i] * (points.score[i] - mean) ** 2;
    return s;
  }

  return { order, pointsOf, sum, running, search, cellStarts, gathered, merged, quantilePositions, bins, onlyStratum, entries, sumsOfPoints };
})();

if (typeof module !== "undefined") module.exports = Count;
