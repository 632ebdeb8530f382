// The change in ECE between two predictions for the same rows, with the interval of Python's `ErrorContest`: each
// error's own interval inverts a test, and the two are combined by the rule of Zou and Donner (`inference/compare.py`).
const Contest = (() => {
  "use strict";

  const DRAWS = 200;

  // Before and after are {score, outcome, points} of the same rows, points undefined unless they were counted already;
  // the notion is "binary" or "confidence".
  function change(before, after, notion, { weights, cluster, nClusters }, bins, level, seed) {
    const [first, second] = [before, after].map(({ score, outcome, points }) => {
      const curve = { score, outcome, points, weight: weights, row: null };
      const kind = notion === "binary" ? "binary" : "multiclass";
      const rows = { kind, n: score.length, weights, cluster, nClusters, curves: new Map([[notion, [curve]]]) };
      const question = Errors.ask("ece", rows, { bins, strategy: "uniform", notion });
      const rng = new Draws.Generator(seed); // the same for both, so that shared noise cancels
      return { question, ...Inversion.intervalWith(question, level, DRAWS, rng) };
    });
    const together = correlation([first.question, second.question], new Draws.Generator(seed));
    const [low, high] = squareAndAdd(first, second, together);
    return { value: first.value - second.value, low, high };
  }

  // A lower bound for the correlation of two errors, from units (rows or clusters) drawn for both.
  function correlation(questions, rng) {
    const { unit, nUnits } = Units.ofRows(questions[0].rows, rng);
    const shares = new Float64Array(nUnits).fill(1 / nUnits);
    const tables = questions.map((question) => residuals(question, unit, nUnits));
    const drift = tables.map(({ m }) => new Float64Array(DRAWS * m));
    const counts = new Float64Array(nUnits);
    for (let r = 0; r < DRAWS; r++) {
      rng.multinomial(nUnits, shares, counts);
      tables.forEach(({ m, values }, q) => {
        for (let u = 0; u < nUnits; u++) {
          const spare = counts[u] - 1;
          if (spare !== 0) for (let j = 0; j < m; j++) drift[q][r * m + j] += spare * values[u * m + j];
        }
      });
    }
    const shown = questions.map((question, q) => {
      const cells = question.cells();
      return question.replicates(cells, drift[q].map((one, k) => cells.wy[k % tables[q].m] + one));
    });
    const means = shown.map((values) => Count.sum(values) / DRAWS);
    let [own, other, both] = [0, 0, 0];
    for (let r = 0; r < DRAWS; r++) {
      const [a, b] = [shown[0][r] - means[0], shown[1][r] - means[1]];
      own += a * a;
      other += b * b;
      both += a * b;
    }
    if (own === 0 || other === 0) return 0;
    const seen = both / Math.sqrt(own * other);
    return Math.max(seen - ((1 - seen) ** 2 * (1 + seen)) / 2, -1);
  }

  // The sums of weighted outcome minus score, by unit and bin.
  function residuals({ rows, view, cells }, unit, nUnits) {
    const { stats, w } = cells();
    const [curve] = rows.curves.get(view);
    const [entry] = Count.entries(stats, [curve]);
    const m = w.length;
    const values = new Float64Array(nUnits * m);
    for (let i = 0; i < rows.n; i++) {
      values[unit[i] * m + entry[i]] += (rows.weights ? rows.weights[i] : 1) * (curve.outcome[i] - curve.score[i]);
    }
    return { m, values };
  }

  // The ends of the interval of a difference of two errors, from their own intervals. Where an error may be 0, the
  // interval reaches at least to the difference between 0 and the far end of the other.
  function squareAndAdd(a, b, together) {
    const reach = (one, other) => Math.sqrt(Math.max(one ** 2 + other ** 2 - 2 * together * one * other, 0));
    function largest(other, zero) {
      const above = zero.high - zero.estimate;
      const noise = above > 0 ? Math.min(zero.estimate / above, 1) : 1;
      const rest = Math.sqrt(Math.max(1 - together ** 2, 0)) - together * noise;
      return other.estimate + (other.high - other.estimate) * Math.min(Math.max(rest, 0), 1);
    }
    const difference = a.estimate - b.estimate;
    let low = difference - reach(a.estimate - a.low, b.high - b.estimate);
    let high = difference + reach(a.high - a.estimate, b.estimate - b.low);
    if (a.low === 0) low = Math.min(low, -largest(b, a));
    if (b.low === 0) high = Math.max(high, largest(a, b));
    return [low, high];
  }

  return { change };
})();

if (typeof module !== "undefined") module.exports = Contest;
