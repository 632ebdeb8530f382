// Advice and caveats: one function per rule, in the order they are printed; `auditing/advice.py` says the same.
const Advice = (() => {
  "use strict";

  const [MANY_EMPTY, FEWEST_EXPECTED, SHARE_IN_SPARSE] = [0.4, 5, 0.05];
  const SEEN = [0.03, 0.97];
  const [UNEVEN_WEIGHTS, FEWEST_CLUSTERS, FEWEST_PER_CLASS] = [2, 10, 30];
  const [FLOAT32_SLACK, NEARLY_CONSTANT, ROWS_THAT_SHOW_EVERYTHING] = [1e-4, 0.01, 100000];
  const [HEAP_SHARE, FEWEST_ON_HEAP, HEAPED_SHARE, FEWEST_FOR_HEAPS, MAX_HEAPS_NAMED] = [0.02, 3, 0.5, 20, 8];
  const [ROUND_STEP, CLOSENESS] = [0.05, 1e-6];
  const ON_OTHER_ROWS = "on labelled rows that the model was not trained on";
  const WRONG = ["use with care", "no, recalibrate first"];
  const IN_WORDS = {
    "over-confident": "is over-confident",
    "under-confident": "is under-confident",
    "too extreme": "has scores that are too extreme",
    "not extreme enough": "has scores that are not extreme enough",
    mixed: "is miscalibrated in both directions",
    unclear: "shows no more miscalibration than noise does",
  };

  // Facts are {rows, stats, verdict, metrics, fix, parts, subgroups, dropped}.
  function advice(facts) {
    const rules = [moreData, recalibrate, worstSubgroup, wrongClasses, nameClusters, quantileBins];
    if (isAboutASubgroup(facts.verdict)) rules.unshift(...rules.splice(2, 1));
    return rules.map((rule) => rule(facts)).filter(Boolean);
  }

  function caveats(facts) {
    const rules = [dropped, fewPerBin, fewPerClass, neverSeen, heaped, infiniteLogLoss, weights, clusters, constant, large];
    return rules.map((rule) => rule(facts)).filter(Boolean);
  }

  // --- advice --------------------------------------------------------------------------------------------------------

  function moreData({ verdict }) {
    if (verdict.answer === "not enough data") return "Collect more labelled data, then audit again.";
    const needed = Words.needed(verdict);
    return needed && `Collect more labelled data: about ${needed} would tell good calibration from poor.`;
  }

  function recalibrate({ verdict, fix }) {
    const wrong = WRONG.includes(verdict.answer);
    if (!fix) return wrong && !isAboutASubgroup(verdict) ? `Recalibrate the scores ${ON_OTHER_ROWS}.` : "";
    if (fix.chosen === "nothing") return wrong ? `Recalibrating all rows alike would not clearly lower the ${fix.score}.` : fix.advice;
    return wrong ? fix.advice : `Recalibration is optional. ${fix.advice}`;
  }

  const isAboutASubgroup = ({ findings }) => findings.length > 0 && findings[0].rule === "subgroup";

  function worstSubgroup({ verdict, fix, subgroups }) {
    if (isAboutASubgroup(verdict)) return `Recalibrate by segment${fix ? "" : `, ${ON_OTHER_ROWS}`}: ${verdict.findings[0].about} needs a calibration map of its own.`;
    const least = verdict.miscalibrated ? verdict.high : 0;
    const flagged = subgroups.filter((part) => part.flagged && (part.low || 0) > least);
    if (!flagged.length) {
      const wrong = subgroups.filter((part) => part.flagged).length;
      return wrong > 1 ? `${wrong} subgroups are miscalibrated, as the whole is; none stands out.` : "";
    }
    const worst = flagged.reduce((a, b) => ((b.low || 0) > (a.low || 0) ? b : a));
    const others = flagged.length > 1 ? ` It is the worst of ${flagged.length} miscalibrated subgroups.` : "";
    return `Look at ${worst.column} = ${worst.name} by itself: it ${inWords(worst)}.${others}`;
  }

  function inWords(part) {
    const way = IN_WORDS[part.direction] || part.direction;
    const [predicted, observed] = Words.percents([part.mean_score, part.rate], 1);
    if (part.direction === "over-confident" || part.direction === "under-confident") return `${way} (average confidence ${predicted}, accuracy ${observed})`;
    return `${way} (average prediction ${predicted}, observed rate ${observed})`;
  }

  function wrongClasses({ parts }) {
    const flagged = parts.filter((part) => part.flagged);
    if (!flagged.length) return "";
    const names = flagged.slice(0, 3).map((part) => part.name).join(", ");
    const more = flagged.length > 3 ? ` and ${flagged.length - 3} more` : "";
    return `Check the classes whose probabilities are miscalibrated, the worst first: ${names}${more}.`;
  }

  function nameClusters({ verdict }) {
    return verdict.looks_clustered ? "Name the clusters that rows come in (clusters=): neighbouring rows err together." : "";
  }

  function quantileBins({ stats }) {
    const empty = stats.perStratum - stats.n.length;
    if (stats.strategy !== "uniform" || stats.perStratum < 5 || empty < MANY_EMPTY * stats.perStratum) return "";
    return `${empty} of ${stats.perStratum} uniform bins are empty: look at quantile bins too.`;
  }

  // --- caveats -------------------------------------------------------------------------------------------------------

  function dropped(facts) {
    const counted = Object.entries(facts.dropped).filter(([, n]) => n);
    return counted.length ? `Rows left out: ${counted.map(([reason, n]) => `${Words.grouped(n)} (${reason})`).join(", ")}.` : "";
  }

  function fewPerBin({ stats, verdict, rows }) {
    const expected = stats.effective.map((size, b) => size * Math.min(stats.conf[b], 1 - stats.conf[b]));
    const sparse = [...expected.keys()].filter((b) => expected[b] < FEWEST_EXPECTED);
    if (!sparse.length || verdict.answer === "not enough data") return "";
    const share = sparse.reduce((total, b) => total + stats.w[b], 0) / stats.total;
    if (share < SHARE_IN_SPARSE) return "";
    const worst = Curves.quantile(Float64Array.from(sparse, (b) => expected[b]).sort(), 0.5);
    const needed = worst > 0 ? (rows.n * FEWEST_EXPECTED) / worst : Infinity;
    const more = needed < 1e9 ? `; about ${Words.grouped(Words.rowsRoundedUp(needed))} rows would help` : "";
    return `${sparse.length} of ${stats.n.length} bins, with ${Words.fixed(100 * share, 0)} % of the rows, expect fewer than ${FEWEST_EXPECTED} events or fewer than ${FEWEST_EXPECTED} non-events, so they say little${more}.`;
  }

  function fewPerClass({ rows }) {
    if (rows.kind !== "multiclass" || rows.n >= FEWEST_PER_CLASS * rows.nClasses) return "";
    return `${Words.grouped(rows.n)} ${rows.n === 1 ? "row is" : "rows are"} few for ${Words.grouped(rows.nClasses)} classes: class-wise and top-label errors are mostly noise, and their intervals are too narrow.`;
  }

  function neverSeen({ rows, points }) {
    if (rows.kind !== "binary") return "";
    const [lowest, highest] = [points.score[0], points.score[points.score.length - 1]];
    if (lowest < SEEN[0] && highest > SEEN[1]) return "";
    const [below, above] = [roundedAway(lowest, Math.floor), roundedAway(highest, Math.ceil)].map((one) => Words.general(one, 2));
    if (lowest === highest) return `All scores are ${below}: nothing is known about other scores.`;
    if (lowest < SEEN[0]) return `No score is above ${above}: nothing is known about higher scores.`;
    if (highest > SEEN[1]) return `No score is below ${below}: nothing is known about lower scores.`;
    return `All scores lie between ${below} and ${above}: nothing is known about scores outside that range.`;
  }

  // Two significant digits, rounded outwards, so that no score lies beyond.
  function roundedAway(score, way) {
    if (score === 0) return 0;
    const exact = score.toExponential(60).split("e");
    const digits = Number(exact[0]) * 10;
    const nearest = Math.round(digits);
    const rounded = Math.abs(digits - nearest) < FLOAT32_SLACK ? nearest : way(digits);
    return Number(`${rounded}e${Number(exact[1]) - 1}`);
  }

  function heaped({ rows, points }) {
    const found = heaping(rows, points);
    return found && `${found} Equal scores always stay in one bin.`;
  }

  // The heaps that the scores of an event, or the confidences, lie on, in words; "" if they do not.
  function heaping(rows, { score, n, w }) {
    if (rows.n < FEWEST_FOR_HEAPS) return "";
    const total = Count.sum(w);
    const heaps = [];
    let round = 0;
    for (let i = 0; i < score.length; i++) {
      const share = w[i] / total;
      if (share >= HEAP_SHARE && n[i] >= FEWEST_ON_HEAP) heaps.push({ value: score[i], share });
      const steps = score[i] / ROUND_STEP;
      if (Math.abs(steps - Curves.roundHalfEven(steps)) < CLOSENESS / ROUND_STEP) round += share;
    }
    const share = heaps.reduce((sum, one) => sum + one.share, 0);
    if (Math.max(share, round) < HEAPED_SHARE) return "";
    if (share < HEAPED_SHARE) return `${percent(round)} of the scores are multiples of 0.05: they are rounded, so bins narrower than 0.05 add nothing.`;
    const order = [...heaps.keys()].sort((a, b) => heaps[b].share - heaps[a].share || heaps[a].value - heaps[b].value).slice(0, MAX_HEAPS_NAMED).sort((a, b) => a - b);
    const listed = order.map((k) => Words.general(heaps[k].value, 4)).join(", ");
    const more = heaps.length > MAX_HEAPS_NAMED ? ` and ${heaps.length - MAX_HEAPS_NAMED} more` : "";
    const several = heaps.length > 1 ? `one of ${heaps.length} values` : "one value";
    return `${percent(share)} of the scores are ${several}: ${listed}${more}. Calibration is known only at these values: there are few rows between them, and bins cannot hold equally many rows.`;
  }

  function percent(share) {
    if (share > 1 - 1e-12) return "All";
    return share > 0.99 ? `${Words.general(Math.min(100 * share, 99.9), 3)} %` : `${Words.general(100 * share, 2)} %`;
  }

  function infiniteLogLoss({ metrics }) {
    const loss = metrics.find(({ alias }) => alias === "nll");
    if (!loss || Number.isFinite(loss.value)) return "";
    return "A probability of exactly 0 or 1 was wrong, so the log loss is infinite. Compare models by the Brier score.";
  }

  function weights({ rows }) {
    const effective = Judge.effectiveN(rows);
    if (rows.n < UNEVEN_WEIGHTS * effective) return "";
    return `The weights are uneven: ${Words.grouped(rows.n)} rows are worth ${Words.grouped(Words.fixed(effective, 0))} rows of equal weight.`;
  }

  function clusters({ rows }) {
    if (rows.nClusters === null) return "";
    const few = rows.nClusters < FEWEST_CLUSTERS ? " With so few clusters the intervals are rough." : "";
    return `Rows come in ${Words.grouped(rows.nClusters)} clusters. The intervals and the verdict allow for that; noise floors treat rows as independent.${few}`;
  }

  function constant({ rows }) {
    if (rows.kind !== "binary") return "";
    const sums = Judge.sumsOf(rows);
    const rate = sums.wy / sums.w;
    if (Math.sqrt(sums.deviation / sums.w) > NEARLY_CONSTANT || Math.min(rate, 1 - rate) < NEARLY_CONSTANT) return "";
    return "The scores hardly differ from each other. A constant can be well calibrated, but it cannot distinguish cases.";
  }

  function large({ rows, verdict }) {
    if (rows.n < ROWS_THAT_SHOW_EVERYTHING || !verdict.miscalibrated || verdict.ece >= 0.01) return "";
    return "With so many rows even the smallest error is statistically significant: judge it by its size.";
  }

  return { advice, caveats };
})();

if (typeof module !== "undefined") module.exports = Advice;
