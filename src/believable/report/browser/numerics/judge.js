// The verdict: whether the scores may be taken at face value. `auditing/judgement.py` says the same.
const Judge = (() => {
  "use strict";

  const [INTERVAL_DRAWS, FLOOR_DRAWS, TEST_DRAWS] = [1000, 4000, 2000];
  const RULES_LEVEL = 0.95; // of the intervals that the rules read, whatever level is asked for
  const [ALPHA, LEVEL_OF_TESTS, LEVEL_OF_ECE] = [0.05, 0.04, 0.01];
  const [NEXT_TO_CERTAIN, FAIR_SHARE, N_QUANTILE_RANGES] = [0.995, 0.05, 10];
  const FEWEST_ROWS_FOR_NEIGHBOURS = 200;
  const REACHES = [1, 4, 16];

  // --- sums ----------------------------------------------------------------------------------------------------------

  // The sums behind proper scores and accuracy, counted once.
  function sumsOf(rows) {
    rows.sums ??= rows.kind === "binary" ? Count.sumsOfPoints(Count.pointsOf(Rows.curves(rows, "binary")[0]), rows.pairs) : sumsOfClasses(rows);
    return rows.sums;
  }

  function sumsOfClasses(rows) {
    const { top, score } = Rows.predicted(rows);
    const s = { n: rows.n, w: 0, w2: 0, brier: 0, nll: 0, correct: 0, confidence: 0, entropy: 0, spread: 0, rates: new Float64Array(rows.nClasses) };
    for (let i = 0; i < rows.n; i++) {
      const w = rows.weights ? rows.weights[i] : 1;
      const label = rows.labels[i];
      let [square, entropy, spread] = [0, 0, 0];
      for (let k = 0; k < rows.nClasses; k++) {
        const p = rows.columns[k][i];
        const y = label === k ? 1 : 0;
        square += (y - p) ** 2;
        if (p > 0) entropy -= p * Math.log(p);
        spread += (y - p) * (1 - 2 * p);
      }
      s.w += w;
      s.w2 += w * w;
      s.brier += w * square;
      s.entropy += w * entropy;
      s.spread += w * spread;
      s.nll -= w * Math.log(rows.columns[label][i]);
      s.correct += w * (top[i] === label ? 1 : 0);
      s.confidence += w * score[i];
      s.rates[label] += w;
    }
    return s;
  }

  function effectiveN(rows) {
    const { w, w2 } = sumsOf(rows);
    return (w * w) / w2;
  }

  // --- the verdict ---------------------------------------------------------------------------------------------------

  // Settings are {bins, strategy, notion, level, seed}.
  function judge(rows, settings) {
    const { level, seed } = settings;
    const curve = Rows.curves(rows, settings.notion)[0];
    const stats = Errors.statsOf(rows, settings.notion, settings.bins, settings.strategy);
    const question = Errors.ask("ece", rows, settings);
    const ends = Inversion.interval(question, level, INTERVAL_DRAWS, seed);
    const floor = Floor.floor(question, FLOOR_DRAWS, seed);
    const points = Count.pointsOf(curve);
    const bins = binsOfRanges(rows, stats, settings);
    const clustered = rows.cluster ? clusteredCurve(rows, curve, points, seed) : null;
    const effective = clustered ? Units.effectiveRows(bins, [curve], rows.cluster, rows.nClusters) : null;
    const test = Floor.jointTest(points, LEVEL_OF_TESTS, TEST_DRAWS, Draws.generator(seed), clustered && clustered.added);
    let byEce = floor.pValue || 1;
    if (clustered) byEce = Math.max(byEce, Units.chance(question, FLOOR_DRAWS, Draws.generator(seed)));
    // Copies of rows within clusters make the ECE's own p-value too small, so the joint test alone decides.
    const rejected = test.pValue <= LEVEL_OF_TESTS || (!clustered && byEce <= LEVEL_OF_ECE);
    let pValue = Math.min((test.pValue * ALPHA) / LEVEL_OF_TESTS, 1);
    if (!clustered) pValue = Math.min(pValue, (byEce * ALPHA) / LEVEL_OF_ECE);
    const sure = level === RULES_LEVEL ? ends : Inversion.interval(question, RULES_LEVEL, INTERVAL_DRAWS, seed);
    const design = clustered ? clustered.ratio : 1;
    const averageAt = (one) => EvidenceOf.average(bins, one, design);
    const slopeAt = (one) => EvidenceOf.slope(points, one, clustered);
    const { all, wrong } = EvidenceOf.ranges(bins, EvidenceOf.CHANCE_OF_WRONG_RANGE, effective);
    const { slope, moved } = slopeAt(RULES_LEVEL);
    const evidence = {
      rejected,
      aboutConfidence: aboutConfidence(rows, settings),
      average: averageAt(RULES_LEVEL),
      ranges: rejected ? wrong : [],
      allRanges: all,
      slope,
      moved,
      ece: agreeing(sure, rejected, test),
    };
    let findings = Rules.findingsOf(evidence);
    if (rows.kind !== "binary") {
      const wrongClass = Rules.classIsWrong(Parts.evidenceOfClasses(rows, settings));
      findings = Rules.inOrder([...findings, ...(wrongClass ? [wrongClass] : [])]);
    }
    const answer = Rules.answerOf(evidence, findings);
    let needed = answer === "not enough data" || answer === "use with care" ? Rules.rowsNeeded(evidence, rows.n) : null;
    if (needed !== null && rows.cluster) needed = Words.rowsRoundedUp((rows.nClusters * needed) / rows.n);
    const average = level === RULES_LEVEL ? evidence.average : averageAt(level);
    const shown = level === RULES_LEVEL ? slope : slopeAt(level).slope;
    const ece = agreeing(ends, rejected, test);
    return {
      answer,
      findings,
      miscalibrated: rejected,
      p_value: pValue,
      ece: ends.value,
      ece_p_value: byEce,
      estimate: ece.value,
      low: ece.low,
      high: ece.high,
      level,
      grade: Rules.grade(ece),
      floor: floor.mean,
      q95: floor.q95,
      n_bins: stats.perStratum,
      strategy: stats.strategy,
      notion: settings.notion,
      pairs: rows.pairs,
      n: rows.n,
      n_clusters: rows.nClusters,
      predicted: average.predicted,
      observed: average.observed,
      ratio: average.ratio.value,
      ratio_low: average.ratio.low,
      ratio_high: average.ratio.high,
      slope: shown ? shown.value : null,
      slope_low: shown ? shown.low : null,
      slope_high: shown ? shown.high : null,
      direction: directionOf(evidence),
      spread: spreadOf(evidence),
      ranges: evidence.ranges,
      typical: typicalOf(evidence),
      looks_clustered: neighboursErrTogether(rows, curve, stats),
      rows_needed: needed,
      after: "",
    };
  }

  function aboutConfidence(rows, { notion }) {
    return rows.pairs || notion === "confidence" || notion === "top_label";
  }

  // What clusters add to the gaps of groups of scores, and by how much they increase variances.
  function clusteredCurve(rows, curve, points, seed) {
    const { last } = Floor.groupsOf(points);
    const { added, unit: unitOf, nUnits } = Units.residualsByGroup(curve, rows, last, Draws.generator(seed));
    return {
      added,
      ratio: Units.designOfRatio(curve, unitOf, nUnits),
      slope: (intercept, slope) => Units.designOfSlope(curve, unitOf, nUnits, intercept, slope),
    };
  }

  // The bins that ranges are made of: those of the headline, or quantile bins if one of these is crowded.
  function binsOfRanges(rows, stats, settings) {
    if (!EvidenceOf.isCrowded(stats)) return stats;
    return Errors.statsOf(rows, settings.notion, N_QUANTILE_RANGES, "quantile");
  }

  // The estimate of the ECE and its interval, which excludes 0 if and only if calibration is rejected.
  function agreeing(ends, rejected, test) {
    const low = rejected ? Math.max(ends.low, Math.min(test.atLeast, Math.max(ends.estimate, ends.high / 2))) : 0;
    return { value: Math.min(Math.max(ends.estimate, low), ends.high), low, high: ends.high };
  }

  function withFindings(verdict, found) {
    if (!found.length) return verdict;
    const findings = Rules.inOrder([...verdict.findings, ...found]);
    return { ...verdict, findings, answer: findings[0].answer };
  }

  function directionOf({ rejected, aboutConfidence: about, average: { gap } }) {
    if (!rejected || (gap.low <= 0 && gap.high >= 0)) return "unclear";
    if (about) return gap.value < 0 ? "over-confident" : "under-confident";
    return gap.value < 0 ? "over-predicts" : "under-predicts";
  }

  function spreadOf({ rejected, slope }) {
    if (!rejected || !slope || (slope.low <= 1 && slope.high >= 1)) return "unclear";
    return slope.value < 1 ? "too extreme" : "not extreme enough";
  }

  // A range to quote: the highest with a fair share of the rows whose prediction is not almost 1.
  function typicalOf({ allRanges }) {
    const fair = allRanges.filter((one) => one.share >= FAIR_SHARE);
    const open = fair.filter((one) => one.predicted < NEXT_TO_CERTAIN);
    const all = open.length ? open : fair;
    return all.length ? all.reduce((a, b) => (b.predicted > a.predicted ? b : a)) : null;
  }

  // --- unnamed clusters ----------------------------------------------------------------------------------------------

  // Whether rows next to each other have similar errors, and no clusters were given.
  function neighboursErrTogether(rows, { score, outcome }, stats) {
    const n = score.length;
    if (rows.cluster || n < FEWEST_ROWS_FOR_NEIGHBOURS || looksSorted(score)) return false;
    const [entry] = Count.entries(stats, [{ score }]);
    const error = new Float64Array(n);
    for (let i = 0; i < n; i++) error[i] = outcome[i] - stats.acc[entry[i]];
    for (const reach of REACHES) {
      const [correlation, surely] = correlationOf(error, 1, reach);
      if (surely > 4 && correlation > 0.02) {
        const far = Math.max(Math.trunc(0.05 * n), 5 * reach);
        return correlationOf(error, far, far + reach - 1)[0] < correlation / 2;
      }
    }
    return false;
  }

  function looksSorted(score) {
    let [up, down] = [0, 0];
    for (let i = 1; i < score.length; i++) {
      if (score[i] > score[i - 1]) up++;
      else if (score[i] < score[i - 1]) down++;
    }
    return up + down > 0 && Math.min(up, down) < 0.1 * Math.max(up, down);
  }

  // The mean correlation of errors at these distances in rows, and its value in standard errors.
  function correlationOf(error, from, to) {
    let [total, squares, pairs] = [0, 0, 0];
    for (let lag = from; lag <= to && lag < error.length; lag++) {
      for (let i = lag; i < error.length; i++) {
        const product = error[i] * error[i - lag];
        total += product;
        squares += product * product;
      }
      pairs += error.length - lag;
    }
    let power = 0;
    for (const one of error) power += one * one;
    const size = (pairs * power) / error.length;
    return size && squares ? [total / size, total / Math.sqrt(squares)] : [0, 0];
  }

  // --- the reliability table -----------------------------------------------------------------------------------------

  // One row per bin, with Wilson's intervals that allow for clusters.
  function table(rows, settings) {
    const stats = Errors.statsOf(rows, settings.notion, settings.bins, settings.strategy);
    const size = rows.cluster ? Units.effectiveRows(stats, Rows.curves(rows, settings.notion), rows.cluster, rows.nClusters) : stats.effective;
    const z = Special.reachOf(settings.level);
    const edges = stats.edges[0];
    const entryOf = new Map([...stats.index].map((bin, b) => [bin, b]));
    return Array.from({ length: edges.length - 1 }, (_, bin) => {
      const row = { start: edges[bin], end: edges[bin + 1], n: 0, weight: 0, conf: null, acc: null, low: null, high: null };
      const b = entryOf.get(bin);
      if (b === undefined) return row;
      const acc = Math.min(Math.max(stats.acc[b], 0), 1);
      const [low, high] = Special.wilson(acc, size[b], z);
      return { ...row, n: stats.n[b], weight: stats.w[b], conf: stats.conf[b], acc: stats.acc[b], low, high };
    });
  }

  return { judge, withFindings, sumsOf, effectiveN, aboutConfidence, binsOfRanges, table };
})();

if (typeof module !== "undefined") module.exports = Judge;
