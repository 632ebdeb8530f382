// How numbers are written, as Python's format specifiers write them, and the sentences of a verdict.
const Words = (() => {
  "use strict";

  const LARGEST_SHOWN = 1e6;
  const ALIKE = 0.005; // rates that differ by less, as a share of the smaller of p and 1 - p, are written alike
  const ECE_GUIDELINE = [["excellent", 0.05], ["good", 0.1], ["moderate", 0.15]];
  const [MAX_RANGES_NAMED, TRIVIAL_ERROR, NEARLY_ALL_ROWS, SMALLEST_P_SHOWN] = [3, 0.01, 0.9, 0.005];
  const RULES_ABOUT_OTHERS = ["class", "subgroup"];
  const RULES_WITHOUT_EXAMPLE = ["slope", "ece", "gain"];

  // --- numbers -------------------------------------------------------------------------------------------------------

  // "{:.2f}": halves are rounded to the even digit, where toFixed rounds them up.
  function fixed(value, digits) {
    const text = value.toFixed(digits);
    const longer = Math.abs(value).toFixed(Math.min(digits + 60, 100));
    const point = longer.indexOf(".");
    const rest = longer.slice(point + 1 + digits);
    if (!/^50*$/.test(rest)) return value < 0 && Number(text) === 0 && !text.startsWith("-") ? `-${text}` : text;
    const down = digits ? longer.slice(0, point + 1 + digits) : longer.slice(0, point);
    const even = Number(down[down.length - 1]) % 2 === 0;
    return even ? `${value < 0 ? "-" : ""}${down}` : text;
  }

  // "{:.4g}".
  function general(value, digits) {
    if (value === 0) return Object.is(value, -0) ? "-0" : "0";
    if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf";
    const exponent = Number(scientific(value, digits - 1).split("e")[1]);
    if (exponent < -4 || exponent >= digits) {
      const [mantissa, power] = scientific(value, digits - 1).split("e");
      const sign = power[0];
      return `${stripped(mantissa)}e${sign}${power.slice(1).padStart(2, "0")}`;
    }
    return stripped(fixed(value, digits - 1 - exponent));
  }

  function scientific(value, digits) {
    const text = value.toExponential(digits);
    const [mantissa, power] = text.split("e");
    const exact = Math.abs(value).toExponential(Math.min(digits + 60, 100)).split("e");
    const rest = exact[0].slice(digits ? 2 + digits : 1).replace(".", "");
    if (!/^50*$/.test(rest)) return `${mantissa}e${power}`;
    const down = exact[0].slice(0, digits ? 2 + digits : 1);
    return Number(down[down.length - 1]) % 2 === 0 ? `${value < 0 ? "-" : ""}${down}e${exact[1]}` : text;
  }

  const stripped = (text) => (text.includes(".") ? text.replace(/0+$/, "").replace(/\.$/, "") : text);

  // "{:,}" of a whole number.
  function grouped(n) {
    return String(n).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
  }

  function digitsOfPercent(share) {
    if (share > 0 && share < 0.095) return Math.min(1 - Math.floor(Math.log10(100 * share) + 1e-9), 7);
    if (share > 0.99 && share < 1) return Math.min(1 - Math.floor(Math.log10(100 * (1 - share)) + 1e-9), 7);
    return 0;
  }

  // Shares as percentages, with just enough digits for different shares to differ.
  function percents(shares, least = 0) {
    const apart = new Set(shares.map((one) => general(one, 6))).size;
    let made = [];
    for (let more = 0; more < 4; more++) {
      made = shares.map((one) => `${fixed(100 * one, Math.max(digitsOfPercent(one), least) + more)} %`);
      if (new Set(made).size === apart) break;
    }
    return made;
  }

  function shown(value, digits = 4) {
    if (value === null || Number.isNaN(value)) return "–";
    if (Number.isFinite(value)) return fixed(value, digits);
    return value > 0 ? "infinite" : "-infinite";
  }

  // An estimate with its interval.
  function bounded(value, low, high) {
    const [v, l, h] = [value, low, high].map((one) => shown(one !== null && one > LARGEST_SHOWN ? Infinity : one, 2));
    return `${v} (interval ${l} to ${h})`;
  }

  function digitsApart(low, high) {
    const width = Math.abs(high - low);
    return width > 0 && width < Infinity ? Math.min(Math.max(4, -Math.floor(Math.log10(width))), 10) : 4;
  }

  function rowsRoundedUp(number) {
    const step = 10 ** Math.max(Math.floor(Math.log10(number)) - 1, 0);
    return Math.ceil(number / step - 1e-9) * step;
  }

  const withoutSign = (percent) => percent.replace(/ %$/, "");
  const rowsInWords = (n) => `${grouped(n)} ${n === 1 ? "row" : "rows"}`;

  // --- ranges of scores ----------------------------------------------------------------------------------------------

  const isOver = (range) => range.predicted > range.observed;
  const weightOf = (range) => range.share * Math.abs(range.predicted - range.observed);

  function whereOf({ low, high }, aboutConfidence) {
    const digits = Math.max(-Math.floor(Math.log10(Math.max(high - low, 1e-8))), 2);
    return `${aboutConfidence ? "confidences" : "scores"} between ${fixed(low, digits)} and ${fixed(high, digits)}`;
  }

  function exampleOf(range, aboutConfidence) {
    let [predicted, observed] = percents([range.predicted, range.observed]);
    if (Math.abs(range.observed - range.predicted) < ALIKE * Math.min(range.predicted, 1 - range.predicted)) {
      predicted = observed = percents([range.predicted])[0]; // more digits would hide the answer
    }
    if (aboutConfidence) return `When it is ${predicted} confident, it is right ${observed} of the time`;
    return `When it says ${predicted}, it happens ${observed} of the time`;
  }

  function rangeInWords(range, aboutConfidence) {
    const [predicted, observed] = percents([range.predicted, range.observed]);
    const where = capital(whereOf(range, aboutConfidence));
    const rows = rowsInWords(range.n);
    if (aboutConfidence) return `${where} are too ${isOver(range) ? "high" : "low"}: average confidence ${predicted}, accuracy ${observed} (${rows}).`;
    return `${where} ${isOver(range) ? "over-predict" : "under-predict"}: average prediction ${predicted}, observed rate ${observed} (${rows}).`;
  }

  const capital = (text) => text[0].toUpperCase() + text.slice(1).toLowerCase();

  // --- the verdict ---------------------------------------------------------------------------------------------------

  function aboutConfidenceOf(verdict) {
    return verdict.pairs || verdict.notion === "confidence" || verdict.notion === "top_label";
  }

  function needed(verdict) {
    if (verdict.rows_needed === null) return "";
    return `${grouped(verdict.rows_needed)} ${verdict.n_clusters === null ? "rows" : "clusters"}`;
  }

  const labelOf = ({ answer }) => answer[0].toUpperCase() + answer.slice(1);

  function headline(verdict) {
    const after = verdict.after ? ` (${verdict.after})` : "";
    const about = aboutConfidenceOf(verdict);
    const quoted = verdict.typical ? ` ${exampleOf(verdict.typical, about)}.` : "";
    if (verdict.answer === "not enough data") {
      const what = verdict.n_clusters === null ? rowsInWords(verdict.n) : `${grouped(verdict.n_clusters)} clusters`;
      return `Not enough data${after}. ${what} cannot tell good calibration from poor; about ${needed(verdict)} could.`;
    }
    if (verdict.answer === "yes, as far as these data can tell") {
      return `Yes, as far as these ${grouped(verdict.n)} rows can tell${after}.${quoted} No miscalibration was found, but an ECE of up to ${general(verdict.high, 2)} cannot be ruled out.`;
    }
    if (verdict.answer === "yes") {
      const size = withoutSign(percents([verdict.estimate])[0]);
      const degree = verdict.high < TRIVIAL_ERROR ? "trivial" : "small";
      const trivial = verdict.miscalibrated ? ` Some miscalibration is certain, but ${degree}: about ${size} percentage points on average.` : "";
      return `Yes, you can take these scores at face value${after}.${quoted}${trivial}`;
    }
    let first = verdict.findings.length ? verdict.findings[0].words : uncertain(verdict, about);
    if (verdict.ranges.length && (!verdict.findings.length || RULES_WITHOUT_EXAMPLE.includes(verdict.findings[0].rule))) {
      const worst = verdict.ranges.reduce((a, b) => (weightOf(b) > weightOf(a) ? b : a));
      first = `${exampleOf(worst, about)} (${whereOf(worst, about)}). ${first}`;
    }
    return `${labelOf(verdict)}${after}. ${first}`;
  }

  function uncertain(verdict, about) {
    const more = verdict.rows_needed !== null ? `; about ${needed(verdict)} would show it` : "";
    const [low, high] = percents([verdict.low, verdict.high]).map(withoutSign);
    return `The ${about ? "confidences" : "scores"} are miscalibrated, by ${low} to ${high} percentage points on average${more}.`;
  }

  function details(verdict) {
    const told = verdict.findings.length ? verdict.findings[0].rule : "";
    const said = verdict.findings.slice(1).filter(({ rule }) => RULES_ABOUT_OTHERS.includes(rule)).map(({ words }) => words);
    said.push(testInWords(verdict));
    if (told !== "average") said.push(averageInWords(verdict));
    if (verdict.slope !== null && told !== "slope") said.push(slopeInWords(verdict));
    said.push(...rangesInWords(verdict), eceInWords(verdict), guideline(verdict));
    if (verdict.looks_clustered) {
      said.push("Neighbouring rows err together, as if rows came in clusters (patients, queries, days). Name them with clusters=, or the evidence is overstated.");
    }
    return said;
  }

  function testInWords(verdict) {
    if (!verdict.miscalibrated) {
      const what = verdict.findings.length ? "such differences overall" : "the same differences";
      return `A perfectly calibrated model could show ${what} (p = ${general(verdict.p_value, 2)}).`;
    }
    const p = verdict.p_value <= SMALLEST_P_SHOWN ? `p < ${SMALLEST_P_SHOWN}` : `p = ${general(verdict.p_value, 2)}`;
    return `This is more than noise: a perfectly calibrated model would rarely show such differences (${p}).`;
  }

  function averageInWords(verdict) {
    const [predicted, observed] = percents([verdict.predicted, verdict.observed], 1);
    const about = aboutConfidenceOf(verdict);
    const said = about ? `average confidence ${predicted}, accuracy ${observed}` : `average prediction ${predicted}, observed rate ${observed}`;
    const ratio = `${about ? "accuracy / confidence" : "observed / predicted"} ${bounded(verdict.ratio, verdict.ratio_low, verdict.ratio_high)}`;
    if (verdict.direction === "unclear") return `Overall: ${said}; ${ratio}.`;
    return `Overall it ${about ? "is " : ""}${verdict.direction}: ${said}; ${ratio}.`;
  }

  function slopeInWords(verdict) {
    const what = aboutConfidenceOf(verdict) ? "confidences" : "scores";
    const found = `Calibration slope ${bounded(verdict.slope, verdict.slope_low, verdict.slope_high)}`;
    return verdict.spread === "unclear" ? `${found}, where 1 is best.` : `${found}, where 1 is best: the ${what} are ${verdict.spread}.`;
  }

  function rangesInWords(verdict) {
    if (!verdict.miscalibrated) return [];
    const about = aboutConfidenceOf(verdict);
    if (!verdict.ranges.length) return [`The data do not show which ${about ? "confidences" : "scores"} are wrong.`];
    const heaviest = [...verdict.ranges].sort((a, b) => weightOf(b) - weightOf(a));
    const first = headline(verdict);
    const told = heaviest.filter((one) => first.includes(exampleOf(one, about)));
    told.push(...heaviest.filter((one) => !told.includes(one) && one.share >= NEARLY_ALL_ROWS));
    const kept = heaviest.filter((one) => !told.includes(one)).slice(0, MAX_RANGES_NAMED);
    const said = verdict.ranges.filter((one) => kept.includes(one)).map((one) => rangeInWords(one, about));
    const left = verdict.ranges.length - kept.length - told.length;
    if (left) said.push(`${left} more ${left === 1 ? "range is" : "ranges are"} wrong, with less effect on the ECE.`);
    return said;
  }

  function binsOf({ n_bins, strategy }) {
    return `${n_bins} ${strategy} ${n_bins === 1 ? "bin" : "bins"}`;
  }

  function eceInWords(verdict) {
    let digits = digitsApart(verdict.low, verdict.high);
    if (verdict.low > 0 && verdict.low < 10 ** -digits) digits = Math.min(-Math.floor(Math.log10(verdict.low)), 10);
    const noise = verdict.ece > verdict.high ? " (noise adds to it)" : "";
    return `ECE ${fixed(verdict.ece, digits)}${noise}, ${general(100 * verdict.level, 4)} % interval ${fixed(verdict.low, digits)} to ${fixed(verdict.high, digits)} (${binsOf(verdict)}). A perfectly calibrated model would show about ${general(verdict.floor, 2)}.`;
  }

  function gradeOf(ece) {
    const found = ECE_GUIDELINE.find(([, below]) => ece < below);
    return found ? found[0] : "poor";
  }

  function guideline(verdict) {
    const steps = ECE_GUIDELINE.map(([word, below]) => `below ${fixed(below, 2)} ${word}`).join(", ");
    const [low, high] = [gradeOf(verdict.low), gradeOf(verdict.high)];
    const grade = low === high ? low : `between ${low} and ${high}`;
    return `By the usual guideline for the ECE alone (${steps}, otherwise poor): ${grade}.`;
  }

  return { fixed, general, grouped, percents, bounded, rowsRoundedUp, rowsInWords, withoutSign, whereOf, exampleOf, needed, headline, details, gradeOf, isOver, weightOf };
})();

if (typeof module !== "undefined") module.exports = Words;
