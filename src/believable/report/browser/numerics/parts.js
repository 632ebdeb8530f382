// The calibration of each class and each subgroup by itself, with interval, noise floor and direction.
// `auditing/parts.py` and `inference/subgroups.py` say the same.
const Parts = (() => {
  "use strict";

  const [MAX_CLASSES, FALSE_DISCOVERY_RATE, SUBGROUP_DRAWS] = [20, 0.05, 300];
  const [CLASS_INTERVAL_DRAWS, CLASS_FLOOR_DRAWS, MAX_SUBGROUP_DRAWS] = [200, 1000, 50000];
  const NOTE_OF_RULES = "shown by its average or its ranges of scores; the p-value is that of the ECE";
  const NOTE_OF_ONE_CLUSTER = "all rows belong to one cluster, and are treated as independent";

  // --- classes -------------------------------------------------------------------------------------------------------

  // The classes whose probabilities look worst; all classes if there are at most 20.
  function byClass(rows, settings) {
    const stats = Errors.statsOf(rows, "classwise", settings.bins, settings.strategy);
    const own = rows.columns.map((_, k) => Count.onlyStratum(stats, k));
    const excess = own.map(excessOf);
    const chosen = [...excess.keys()].sort((a, b) => excess[b] - excess[a] || a - b).slice(0, MAX_CLASSES);
    const parts = chosen.map((k) => classPart(rows, k, own[k], settings));
    const pValues = parts.map((part) => (part.p_value === null ? 1 : part.p_value));
    const adjusted = Special.adjusted([...pValues, ...new Array(rows.nClasses - parts.length).fill(1)]);
    const known = new Map(evidenceOfClasses(rows, settings).map(({ name, evidence }) => [name, evidence]));
    const made = parts.map((part, i) => {
      const flagged = adjusted[i] <= FALSE_DISCOVERY_RATE && Boolean(part.low);
      return withRules({ ...part, adjusted: adjusted[i], flagged }, own[chosen[i]], known.get(`class ${part.name}`), false);
    });
    return made.sort((a, b) => (b.low || 0) - (a.low || 0) || (b.ece || 0) - (a.ece || 0));
  }

  // The ECE minus its approximate noise floor.
  function excessOf(stats) {
    let total = 0;
    for (let b = 0; b < stats.w.length; b++) {
      total += Math.abs(stats.wy[b] - stats.wp[b]) - Math.sqrt(Math.max(stats.w2p[b] - stats.w2pp[b], 0) * (2 / Math.PI));
    }
    return total / stats.total;
  }

  function classPart(rows, k, stats, settings) {
    const event = Rows.eventOf(rows, k);
    const question = Errors.ask("ece", event, { ...settings, notion: "binary" });
    const ends = Inversion.interval(question, settings.level, CLASS_INTERVAL_DRAWS, settings.seed);
    const floor = Floor.floor(question, CLASS_FLOOR_DRAWS, settings.seed);
    let chance = floor.pValue;
    if (rows.cluster) chance = Math.max(chance, Units.chance(question, CLASS_FLOOR_DRAWS, Draws.generator(settings.seed)));
    return {
      column: "",
      name: String(rows.classes[k]),
      n: event.labels.reduce((total, y) => total + y, 0),
      mean_score: Count.sum(stats.wp) / stats.total,
      rate: Count.sum(stats.wy) / stats.total,
      ece: ends.value,
      low: ends.low,
      high: ends.high,
      floor: floor.mean,
      p_value: chance,
      adjusted: null,
      flagged: false,
      direction: "unclear",
      detectable: null,
      note: ends.note,
    };
  }

  // The evidence on each class against the rest, in the bins of the headline.
  function evidenceOfClasses(rows, settings) {
    const curves = Rows.curves(rows, "classwise");
    const stats = Errors.statsOf(rows, "classwise", settings.bins, settings.strategy);
    const { rates, w } = Judge.sumsOf(rows);
    return curves.map((curve, k) => {
      const own = Count.onlyStratum(stats, k);
      const clustered = rows.cluster !== null;
      const effective = clustered ? Units.effectiveRows(own, [curve], rows.cluster, rows.nClusters) : null;
      const design = clustered ? Units.designOfRatio(curve, rows.cluster, rows.nClusters) : 1;
      return { name: `class ${rows.classes[k]}`, share: rates[k] / w, evidence: EvidenceOf.ofBins(own, rows.nClasses, false, effective, design) };
    });
  }

  // --- subgroups -----------------------------------------------------------------------------------------------------

  // The rows of each subgroup, column by column, the largest first.
  function subgroupRows(rows) {
    return rows.groups.flatMap(({ column, levels, codes }) => {
      const counts = new Array(levels.length).fill(0);
      for (const code of codes) counts[code]++;
      const order = [...levels.keys()].filter((g) => counts[g]).sort((a, b) => counts[b] - counts[a] || a - b);
      return order.map((g) => {
        const here = new Int32Array(counts[g]);
        let at = 0;
        for (let i = 0; i < codes.length; i++) if (codes[i] === g) here[at++] = i;
        return { column, name: String(levels[g]), here };
      });
    });
  }

  // The subgroups of all columns, and the evidence that the rules of the verdict read.
  function bySubgroup(rows, settings, onEach = () => {}) {
    const groups = subgroupRows(rows);
    if (!groups.length) return { parts: [], known: [], groups };
    const rng = Draws.generator(settings.seed);
    Inversion.intervalWith(Errors.ask("ece", rows, settings), settings.level, SUBGROUP_DRAWS, rng); // Python draws it first
    const draws = Math.min(Math.max(SUBGROUP_DRAWS, Math.trunc((4 * groups.length) / FALSE_DISCOVERY_RATE)), MAX_SUBGROUP_DRAWS);
    const made = groups.map((group, k) => {
      onEach(k / groups.length);
      group.rows = Rows.taken(rows, group.here);
      const alone = rows.cluster && group.rows.nClusters < 2;
      const tested = alone ? { ...group.rows, cluster: null, nClusters: null, curves: new Map() } : group.rows;
      const question = Errors.ask("ece", tested, settings);
      const ends = Inversion.intervalWith(question, settings.level, SUBGROUP_DRAWS, rng);
      const floor = Floor.floorWith(question, draws, rng);
      let chance = floor.pValue;
      if (tested.cluster) chance = Math.max(chance, Units.chance(question, draws, rng));
      const detectable = Floor.detectable(question, SUBGROUP_DRAWS, rng);
      return { ends, floor: floor.mean, chance, detectable, note: alone ? NOTE_OF_ONE_CLUSTER : ends.note };
    });
    const adjusted = Special.adjusted(made.map(({ chance }) => chance));
    const total = Judge.sumsOf(rows).w;
    const known = [];
    const about = Judge.aboutConfidence(rows, settings);
    const parts = groups.map(({ column, name, rows: own }, k) => {
      const { ends, floor, chance, detectable, note } = made[k];
      const sums = Judge.sumsOf(own);
      const [mean, rate] = rows.kind === "binary" ? [sums.wp, sums.wy] : [sums.confidence, sums.correct];
      const flagged = adjusted[k] <= FALSE_DISCOVERY_RATE && Boolean(ends.low);
      const part = { column, name, n: own.n, mean_score: mean / sums.w, rate: rate / sums.w, ece: ends.value, low: ends.low, high: ends.high, floor, p_value: chance, adjusted: adjusted[k], flagged, direction: "unclear", detectable, note };
      const stats = Errors.statsOf(own, settings.notion, settings.bins, settings.strategy);
      const evidence = evidenceOfCurve(own, stats, settings, groups.length);
      known.push({ name: `${column} = ${name}`, share: stats.total / total, evidence });
      return withRules(part, stats, evidence, about);
    });
    return { parts, known, groups };
  }

  function evidenceOfCurve(rows, stats, settings, tests) {
    const bins = Judge.binsOfRanges(rows, stats, settings);
    const about = Judge.aboutConfidence(rows, settings);
    if (!rows.cluster) return EvidenceOf.ofBins(bins, tests, about);
    const [curve] = Rows.curves(rows, settings.notion);
    const design = Units.designOfRatio(curve, rows.cluster, rows.nClusters);
    return EvidenceOf.ofBins(bins, tests, about, Units.effectiveRows(bins, [curve], rows.cluster, rows.nClusters), design);
  }

  // What the subgroups add to the verdict.
  function withSubgroups(verdict, known, total) {
    let worse = known;
    if (verdict.findings.length) worse = known.filter(({ evidence }) => EvidenceOf.leastError(evidence) > verdict.high);
    const wrong = Rules.subgroupIsWrong(worse, total);
    return Judge.withFindings(verdict, wrong ? [wrong] : []);
  }

  // --- both ----------------------------------------------------------------------------------------------------------

  // Flag a part if the rules call for its recalibration, so that no table contradicts the headline.
  function withRules(part, stats, evidence, about) {
    let found = part;
    if (!part.flagged && evidence && Rules.callsForRecalibration(evidence)) {
      const low = Math.max(part.low || 0, EvidenceOf.leastError(evidence));
      found = { ...part, flagged: true, low, high: Math.max(part.high || low, low), note: [part.note, NOTE_OF_RULES].filter(Boolean).join("; ") };
    }
    return found.flagged ? { ...found, direction: directionOf(stats, about) } : found;
  }

  // The direction of most of the error: of its average, or around its average.
  function directionOf(stats, about) {
    const gap = stats.wy.map((wy, b) => (wy - stats.wp[b]) / stats.total);
    const ece = gap.reduce((total, one) => total + Math.abs(one), 0);
    const shift = Count.sum(gap);
    if (Math.abs(shift) >= ece / 2) {
      if (about) return shift < 0 ? "over-confident" : "under-confident";
      return shift < 0 ? "over-predicts" : "under-predicts";
    }
    const middle = Count.sum(stats.wp) / stats.total;
    const tilt = gap.reduce((total, one, b) => total + Math.sign(stats.conf[b] - middle) * one, 0);
    if (Math.abs(tilt) >= ece / 2) return tilt < 0 ? "too extreme" : "not extreme enough";
    return "mixed";
  }

  return { byClass, bySubgroup, evidenceOfClasses, withSubgroups };
})();

if (typeof module !== "undefined") module.exports = Parts;
