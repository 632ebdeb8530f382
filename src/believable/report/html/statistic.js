// The page statistic: 840 cells, and what is computed from them. What Python computes from the same packed string
// (`believable.report.packed`) is the same: the cells bit for bit, the rest but for the order of additions.
//
// Cells are {index, n, w, wp, wy, w2}: arrays with an entry per occupied cell, in order. Cell 0 is {0}, cell 841 is {1},
// cell c between them is ((c-1)/840, c/840].
const Statistic = (() => {
  "use strict";

  const N_CELLS = 840;
  const COLUMNS = ["index", "n", "w", "wp", "wy", "w2"];
  const SLACK = 1e-9; // a boundary is reached when so little of the total weight is missing

  // Numbers of uniform bins that are made of whole cells.
  const BIN_COUNTS = Array.from({ length: 59 }, (_, i) => i + 2).filter((m) => N_CELLS % m === 0);

  // --- unpacking -----------------------------------------------------------------------------------------------------

  // The cells of a packed string, or of the object that holds it as `data`. The format is described in packed.py.
  function unpack(packed) {
    const text = typeof packed === "string" ? packed : packed.data;
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const view = new DataView(bytes.buffer);
    const end = bytes.length - 4;
    if (end < 2 || view.getUint32(end, true) !== crc32(bytes.subarray(0, end))) throw new Error("the cells are damaged");
    if (bytes[0] !== 1) throw new Error(`cells of version ${bytes[0]} cannot be read`);
    const weighted = (bytes[1] & 1) !== 0;
    const fractional = (bytes[1] & 2) !== 0;
    let at = 2;

    function varint() {
      let value = 0;
      for (let unit = 1; ; unit *= 128) { // shifts would stop at 32 bits
        const byte = bytes[at++];
        value += (byte % 128) * unit;
        if (!(byte >= 128)) return value;
      }
    }
    function number(method, size) {
      at += size;
      return view[method](at - size, true);
    }
    const word = new DataView(new ArrayBuffer(4));
    function float24() { // the upper three bytes of a float32
      at += 3;
      word.setUint32(0, view.getUint32(at - 4, true) & 0xffffff00);
      return word.getFloat32(0);
    }

    const cells = noCells();
    const scale = weighted ? number("getFloat64", 8) : 1;
    let index = -1;
    while (at < end) {
      index += 1 + varint();
      const n = varint();
      let mean = index > 0 ? 1 : 0;
      if (index >= 1 && index <= N_CELLS) mean = (index - 1 + (number("getUint16", 2) + 1) / 65536) / N_CELLS;
      const w = weighted ? float24() * scale : n;
      const w2 = weighted ? w * w * (n > 1 ? float24() : 1) : n;
      const ny = fractional ? NaN : varint();
      const given = fractional || (weighted && ny > 0 && ny < n);
      const rate = given ? float24() : ny / n;
      const wy = weighted || fractional ? w * rate : ny;
      push(cells, { index, n, w, wp: w * mean, wy, w2 });
    }
    if (at !== end || index > N_CELLS + 1) throw new Error("the cells are damaged");
    return cells;
  }

  function crc32(bytes) {
    let crc = -1;
    for (const byte of bytes) {
      crc ^= byte;
      for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
    }
    return ~crc >>> 0;
  }

  function noCells() {
    return Object.fromEntries(COLUMNS.map((name) => [name, []]));
  }

  function push(cells, cell) {
    for (const name of COLUMNS) cells[name].push(cell[name]);
  }

  function sum(values) {
    return values.reduce((total, value) => total + value, 0);
  }

  // --- cells ---------------------------------------------------------------------------------------------------------

  // The cells of both: several classes or groups together.
  function add(a, b) {
    const both = noCells();
    let i = 0;
    let j = 0;
    while (i < a.index.length || j < b.index.length) {
      const index = Math.min(i < a.index.length ? a.index[i] : Infinity, j < b.index.length ? b.index[j] : Infinity);
      const cell = { index, n: 0, w: 0, wp: 0, wy: 0, w2: 0 };
      for (const name of COLUMNS.slice(1)) {
        if (a.index[i] === index) cell[name] += a[name][i];
        if (b.index[j] === index) cell[name] += b[name][j];
      }
      if (a.index[i] === index) i++;
      if (b.index[j] === index) j++;
      push(both, cell);
    }
    return both;
  }

  // Rows, weight, observed rate and average prediction.
  function summary(cells) {
    const weight = sum(cells.w);
    return { n: sum(cells.n), weight, baseRate: sum(cells.wy) / weight, meanScore: sum(cells.wp) / weight };
  }

  // The share of the weight in each of m columns of equal width; m divides 840.
  function density(cells, m) {
    const total = sum(cells.w);
    const shares = new Array(m).fill(0);
    for (const bin of uniformBins(cells, m)) shares[Math.round(bin.low * m)] = bin.w / total;
    return shares;
  }

  // --- bins ----------------------------------------------------------------------------------------------------------

  // Occupied bins of equal width, ((k-1)/m, k/m] with 0 in the first; m divides 840. The bin of cells start to end - 1
  // has its range (low, high], sums n, w, wp, wy and w2, mean score conf, mean outcome acc, gap = acc - conf, and the
  // Wilson interval (lower, upper) of acc; its way says whether it is surely wrong.
  function uniformBins(cells, m, level = 0.95) {
    if (!Number.isInteger(m) || m < 1 || N_CELLS % m !== 0) throw new RangeError(`${m} bins are not made of whole cells`);
    return binsUpTo(cells, Array.from({ length: m }, (_, k) => ((k + 1) * N_CELLS) / m), level);
  }

  // Occupied bins of equal weight, as above: at most m, because a cell is never split. A boundary is the end of the cell
  // in which the weight reaches k/m of the total.
  function quantileBins(cells, m, level = 0.95) {
    if (!Number.isInteger(m) || m < 1) throw new RangeError(`the number of bins must be 1 or more, got ${m}`);
    const total = sum(cells.w);
    const last = [];
    let reached = 0;
    let k = 1;
    for (let i = 0; i < cells.index.length && k < m; i++) {
      reached += cells.w[i];
      // k/m - reached/total <= slack, in products that are exact for counts: Python has more digits than we have.
      const before = k;
      while (k < m && k * total - m * reached <= SLACK * total * m) k++;
      if (k > before && cells.index[i] < N_CELLS) last.push(cells.index[i]);
    }
    return binsUpTo(cells, [...last, N_CELLS], level);
  }

  // The occupied bins whose last cells are given; the last bin also has {1}.
  function binsUpTo(cells, last, level) {
    const z = normalQuantile(level);
    const bins = [];
    let start = 0;
    last.forEach((lastCell, k) => {
      let end = start;
      while (end < cells.index.length && (cells.index[end] <= lastCell || k === last.length - 1)) end++;
      if (end > start) {
        const low = (k === 0 ? 0 : last[k - 1]) / N_CELLS;
        bins.push(bin(cells, start, end, low, lastCell / N_CELLS, z));
      }
      start = end;
    });
    const surely = normalQuantile(1 - (1 - level) / Math.max(bins.length, 1));
    for (const one of bins) one.way = way(one, surely);
    return bins;
  }

  // "high" or "low" where the mean score of a bin is surely above or below the observed rate, with all bins allowed for.
  function way({ conf, acc, w, w2 }, z) {
    const [lower, upper] = wilson(acc, (w * w) / w2, z);
    return conf > upper ? "high" : conf < lower ? "low" : "fine";
  }

  function bin(cells, start, end, low, high, z) {
    const [n, w, wp, wy, w2] = COLUMNS.slice(1).map((name) => sum(cells[name].slice(start, end)));
    const [lower, upper] = wilson(wy / w, (w * w) / w2, z);
    return { low, high, start, end, n, w, wp, wy, w2, conf: wp / w, acc: wy / w, gap: (wy - wp) / w, lower, upper };
  }

  // Wilson's score interval of a rate seen in n trials.
  function wilson(seen, n, z) {
    const rate = Math.min(Math.max(seen, 0), 1);
    const zz = z * z;
    const middle = (rate + zz / (2 * n)) / (1 + zz / n);
    const half = (z / (1 + zz / n)) * Math.sqrt((rate * (1 - rate)) / n + zz / (4 * n * n));
    // At rates of 0 and 1 the ends are exactly those, which rounding may miss.
    return [rate === 0 ? 0 : Math.max(middle - half, 0), rate === 1 ? 1 : Math.min(middle + half, 1)];
  }

  // The z with P(-z < Z < z) = level, Z standard normal, by Newton's method: from 0 the steps never go too far, because
  // the probability is concave in z. It is 2 φ(z) (z + z^3/3 + z^5/(3·5) + …), of positive terms.
  function normalQuantile(level) {
    if (!(level > 0 && level < 1)) throw new RangeError(`level must lie between 0 and 1, got ${level}`);
    let z = 0;
    for (let round = 0; round < 60; round++) {
      const density = Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI);
      let series = 0;
      for (let term = z, k = 1; term > 1e-17 * series; k += 2, term *= (z * z) / k) series += term;
      const step = (level - 2 * density * series) / (2 * density);
      z += step;
      if (Math.abs(step) < 1e-15 * z) break;
    }
    return z;
  }

  // --- numbers -------------------------------------------------------------------------------------------------------

  // The expected, maximum and root mean square calibration error; NaN without bins.
  function errors(bins) {
    if (!bins.length) return { ece: NaN, mce: NaN, rmsce: NaN };
    const total = sum(bins.map(({ w }) => w));
    return {
      ece: sum(bins.map(({ w, gap }) => (w / total) * Math.abs(gap))),
      mce: Math.max(...bins.map(({ gap }) => Math.abs(gap))),
      rmsce: Math.sqrt(sum(bins.map(({ w, gap }) => (w / total) * gap * gap))),
    };
  }

  // Roughly the ECE that a perfectly calibrated model with these scores shows on average, in these bins of these cells:
  // the sum over bins of sqrt(2/π) times the standard deviation of their sum of outcomes, over the total weight.
  function byChance(cells, bins) {
    return (Math.sqrt(2 / Math.PI) * sum(bins.map((bin) => deviation(cells, bin)))) / sum(cells.w);
  }

  // The standard deviation of a bin's sum of outcomes if these happen at the mean scores of its cells.
  function deviation(cells, { start, end }) {
    const variance = cells.w2.slice(start, end).map((w2, i) => {
      const conf = cells.wp[start + i] / cells.w[start + i];
      return w2 * conf * (1 - conf);
    });
    return Math.sqrt(sum(variance));
  }

  // Proper scores, slope and discrimination of the cells, each at its mean score; NaN where they are undefined.
  function scores(cells) {
    const total = sum(cells.w);
    const p = cells.wp.map((wp, i) => Math.min(Math.max(wp / cells.w[i], 1e-12), 1 - 1e-12));
    const impossible = (i) => (cells.index[i] === 0 ? cells.wy[i] : cells.index[i] > N_CELLS ? cells.w[i] - cells.wy[i] : 0);
    const loss = (i) => (impossible(i) > 0 ? Infinity : -cells.wy[i] * Math.log(p[i]) - (cells.w[i] - cells.wy[i]) * Math.log1p(-p[i]));
    const square = (i) => cells.wy[i] * (1 - p[i]) ** 2 + (cells.w[i] - cells.wy[i]) * p[i] ** 2;
    const all = [...p.keys()];
    return { brier: sum(all.map(square)) / total, nll: sum(all.map(loss)) / total, auc: auc(cells), slope: slope(cells, p) };
  }

  // The probability that an event has a higher score than a non-event; those of one cell count half.
  function auc(cells) {
    let below = 0;
    let won = 0;
    cells.w.forEach((w, i) => {
      const no = w - cells.wy[i];
      won += cells.wy[i] * (below + no / 2);
      below += no;
    });
    const events = sum(cells.wy);
    return won / (events * below);
  }

  // The slope of the outcomes on the logits of the scores, by Newton's method.
  function slope(cells, p) {
    const logit = p.map((one) => Math.log(one / (1 - one)));
    let [a, b] = [0, 1];
    for (let round = 0; round < 100; round++) {
      let [ga, gb, haa, hab, hbb] = [0, 0, 0, 0, 0];
      logit.forEach((l, i) => {
        const rate = 1 / (1 + Math.exp(-a - b * l));
        const [error, weight] = [cells.wy[i] - cells.w[i] * rate, cells.w[i] * rate * (1 - rate)];
        ga += error; gb += error * l; haa += weight; hab += weight * l; hbb += weight * l * l;
      });
      const det = haa * hbb - hab * hab;
      if (!(det > 1e-12 * haa * hbb)) return NaN;
      const [da, db] = [(hbb * ga - hab * gb) / det, (haa * gb - hab * ga) / det];
      const short = Math.min(1, 2 / Math.max(Math.abs(da), Math.abs(db), 1e-300));
      a += short * da;
      b += short * db;
      if (Math.abs(da) + Math.abs(db) < 1e-10) return b;
    }
    return NaN;
  }

  return { N_CELLS, BIN_COUNTS, unpack, add, summary, density, uniformBins, quantileBins, errors, byChance, deviation, scores };
})();

if (typeof module !== "undefined") module.exports = Statistic;
