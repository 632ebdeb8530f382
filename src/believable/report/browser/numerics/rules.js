// The rules of a verdict: one function for each reason not to take scores at face value; docs/audit.md has the table.
const Rules = (() => {
  "use strict";

  const [CARE, NO] = ["use with care", "no, recalibrate first"];
  const AVERAGE_GAP = [0.05, 0.1];
  const AVERAGE_FACTOR = [1.15, 1.25];
  const SLOPE_FACTOR = [1.25, 1.5];
  const ECE = [0.05, 0.1];
  const GAIN = [0.02, 0.1];
  const [RANGE_GAP, RANGE_FACTOR] = [0.1, 1.25];
  const FAIR_SHARE = [0.05, 0.2];
  const MOST_ROWS = 0.5;
  const SHARE_OF_RATE = [0.05, 0.2];
  const TRIVIAL_MOVE = 0.005;
  const SMALL = { gap: 0.05, ratio: 1.25, slope: 1.5 };
  const SURELY_SMALL = { gap: 0.04, ratio: 1.12, slope: 1.18 };
  const WIDEST_FACTOR = 1.5;
  const over = (a, b) => (b > 0 ? a / b : a > 0 ? Infinity : 1);
  const { nearestTo, rarerRate } = EvidenceOf;

  function findingsOf(evidence) {
    if (!evidence.rejected) return [];
    return inOrder([averageIsWrong, rangeIsWrong, slopeIsWrong, eceIsLarge].map((rule) => rule(evidence)).filter(Boolean));
  }

  // The most serious first, otherwise in the order of the rules.
  function inOrder(findings) {
    return [...findings.filter(({ answer }) => answer === NO), ...findings.filter(({ answer }) => answer !== NO)];
  }

  const finding = (rule, answer, words, about = "") => ({ rule, answer, words, about });

  // --- one curve -----------------------------------------------------------------------------------------------------

  function averageIsWrong(evidence) {
    const { average, aboutConfidence } = evidence;
    const gap = Math.abs(average.gap.value);
    const factor = factorOf(evidence);
    const answer = worse(asked(gap, Math.abs(nearestTo(average.gap, 0)), AVERAGE_GAP), askedFactor(factor, AVERAGE_FACTOR));
    if (!answer) return null;
    const [predicted, observed] = Words.percents([average.predicted, average.observed]);
    let words = `On average it says ${predicted}, but it happens ${observed} of the time`;
    if (aboutConfidence) words = `On average it is ${predicted} confident, but right ${observed} of the time`;
    else if (factor && gap < AVERAGE_GAP[0] && average.observed <= 0.5) {
      const high = average.predicted > average.observed;
      const times = high ? over(average.predicted, average.observed) : average.ratio.value;
      words = `On average the scores are ${high ? "too high" : "too low"} by a factor of ${Words.general(times, 2)}: it says ${predicted}, and it happens ${observed} of the time`;
    }
    const ratio = Words.bounded(average.ratio.value, average.ratio.low, average.ratio.high);
    return finding("average", answer, `${words}; ${aboutConfidence ? "accuracy / confidence" : "observed / predicted"} ${ratio}.`);
  }

  function rangeIsWrong(evidence) {
    const wrong = evidence.ranges.filter((one) => isWrong(one, evidence, SHARE_OF_RATE[0]));
    if (sumOfShares(wrong) < FAIR_SHARE[0]) return null;
    const worst = wrong.reduce((a, b) => (Words.weightOf(b) > Words.weightOf(a) ? b : a));
    const words = `${Words.exampleOf(worst, evidence.aboutConfidence)} (${Words.whereOf(worst, evidence.aboutConfidence)}, ${Words.rowsInWords(worst.n)}).`;
    const share = sumOfShares(wrong.filter((one) => isWrong(one, evidence, SHARE_OF_RATE[1])));
    return finding("range", share >= FAIR_SHARE[1] ? NO : CARE, words);
  }

  const sumOfShares = (ranges) => ranges.reduce((total, one) => total + one.share, 0);

  function slopeIsWrong(evidence) {
    const { slope } = evidence;
    if (!slope || evidence.moved < Math.min(TRIVIAL_MOVE, SHARE_OF_RATE[0] * rarerRate(evidence))) return null;
    const flat = slope.value < 1;
    const nearest = nearestTo(slope, 1);
    const factor = flat ? { value: over(1, slope.value), low: over(1, nearest) } : { value: slope.value, low: nearest };
    const answer = askedFactor(factor, SLOPE_FACTOR);
    if (!answer) return null;
    const what = evidence.aboutConfidence ? "confidences" : "scores";
    const found = `calibration slope ${Words.bounded(slope.value, slope.low, slope.high)}, where 1 is best`;
    return finding("slope", answer, `The ${what} are ${flat ? "too extreme" : "not extreme enough"}: ${found}.`);
  }

  function eceIsLarge({ ece, aboutConfidence }) {
    const answer = ece ? asked(ece.value, ece.low, ECE) : null;
    if (!answer) return null;
    const what = aboutConfidence ? "confidences differ from the accuracy" : "scores differ from the rate";
    return finding("ece", answer, `On average the ${what} observed by ${Words.withoutSign(Words.percents([ece.value])[0])} percentage points (ECE).`);
  }

  function grade({ low, high }) {
    const [first, last] = [Words.gradeOf(low), Words.gradeOf(high)];
    return first === last ? first : null;
  }

  // --- classes, subgroups and recalibration --------------------------------------------------------------------------

  // Parts are {name, share, evidence}.
  function classIsWrong(parts) {
    return partIsWrong("class", parts, `of ${parts.length} classes need recalibration`);
  }

  function subgroupIsWrong(parts, total) {
    const found = partIsWrong("subgroup", parts, `of ${total} subgroups need recalibration`);
    return found && { ...found, answer: CARE };
  }

  function callsForRecalibration(evidence) {
    return findingsOf(evidence).find(({ answer }) => answer === NO) || null;
  }

  function partIsWrong(rule, parts, others) {
    const wrong = parts.map((part) => [part, callsForRecalibration(part.evidence)]).filter(([, found]) => found);
    if (!wrong.length) return null;
    const [part, found] = wrong.reduce((a, b) => (b[0].share > a[0].share ? b : a));
    const more = wrong.length > 1 ? ` (${wrong.length} ${others})` : "";
    const words = `For ${part.name}, ${found.words[0].toLowerCase()}${found.words.slice(1).replace(/\.$/, "")}${more}.`;
    const most = wrong.reduce((total, [one]) => total + one.share, 0) >= MOST_ROWS;
    return finding(rule, most ? NO : CARE, words, part.name);
  }

  function recalibrationGains(fix) {
    const change = fix && fix.changes && fix.changes.find(({ name }) => name === fix.score);
    if (!change || !Number.isFinite(change.before) || change.before <= 0) return null;
    const gain = change.gain / change.before;
    const answer = asked(gain, change.gain_low / change.before, GAIN);
    return answer ? finding("gain", answer, `Recalibration lowers the ${change.name} by ${Words.percents([gain])[0]} on held-out rows.`) : null;
  }

  // --- the answer ----------------------------------------------------------------------------------------------------

  function answerOf(evidence, findings) {
    if (findings.length) return findings[0].answer;
    if (evidence.rejected) return isSurelySmall(evidence) ? "yes" : CARE;
    if (hasTooLittleData(evidence)) return "not enough data";
    return isSurelySmall(evidence) ? "yes" : "yes, as far as these data can tell";
  }

  function isSurelySmall(evidence) {
    const { average, slope, ece } = evidence;
    const wrong = evidence.ranges.filter((one) => Math.abs(one.predicted - one.observed) >= RANGE_GAP / 2);
    if (sumOfShares(wrong) >= FAIR_SHARE[0]) return false;
    const limits = evidence.rejected ? SURELY_SMALL : SMALL;
    if (ece && ece.high >= ECE[0]) return false;
    if (Math.max(Math.abs(average.gap.low), Math.abs(average.gap.high)) >= limits.gap) return false;
    const ratio = evidence.aboutConfidence ? null : average.rarer;
    if (ratio && !(1 / limits.ratio < ratio.low && ratio.low <= ratio.high && ratio.high < limits.ratio)) return false;
    return !slope || (1 / limits.slope < slope.low && slope.low <= slope.high && slope.high < limits.slope);
  }

  const eceIsOpen = (ece) => Boolean(ece) && ece.low < ECE[0] && ece.high >= ECE[1];
  const ratioIsOpen = (ratio) => Boolean(ratio) && (ratio.low < 1 / WIDEST_FACTOR || ratio.high > WIDEST_FACTOR);

  function hasTooLittleData({ ece, aboutConfidence, average }) {
    return eceIsOpen(ece) || ratioIsOpen(aboutConfidence ? null : average.rarer);
  }

  // About how many rows would tell good calibration from poor; null if these do.
  function rowsNeeded(evidence, n) {
    const { ece, aboutConfidence, average } = evidence;
    const ratio = aboutConfidence ? null : average.rarer;
    if (!hasTooLittleData(evidence)) return null;
    const times = [1];
    if (eceIsOpen(ece)) times.push(((ece.high - ece.low) / ECE[0]) ** 2);
    if (ratioIsOpen(ratio)) {
      const low = Math.max(ratio.low, 0.01 * ratio.high);
      if (low > 0 && low < ratio.high && ratio.high < Infinity) times.push((Math.log(ratio.high / low) / (2 * Math.log(AVERAGE_FACTOR[1]))) ** 2);
    }
    return Words.rowsRoundedUp(n * Math.max(...times));
  }

  // --- sizes ---------------------------------------------------------------------------------------------------------

  // An error counts if its estimate reaches a limit, and the near end of its interval half of it.
  function asked(value, low, [care, no]) {
    if (value >= no && low >= no / 2) return NO;
    return value >= care && low >= care / 2 ? CARE : null;
  }

  // Of a factor only the excess over 1 counts.
  function askedFactor(factor, [care, no]) {
    return factor ? asked(factor.value - 1, factor.low - 1, [care - 1, no - 1]) : null;
  }

  const worse = (...answers) => (answers.includes(NO) ? NO : answers.includes(CARE) ? CARE : null);

  // The factor, at least 1, by which the rarer outcome is wrong.
  function factorOf(evidence) {
    const { rarer, gap } = evidence.average;
    if (evidence.aboutConfidence || Math.abs(gap.value) < SHARE_OF_RATE[0] * rarerRate(evidence)) return null;
    const near = nearestTo(rarer, 1);
    return rarer.value >= 1 ? { value: rarer.value, low: near } : { value: over(1, rarer.value), low: over(1, near) };
  }

  function isWrong(one, evidence, shareOfRate) {
    const gap = Math.abs(one.predicted - one.observed);
    if (gap >= RANGE_GAP && one.least >= RANGE_GAP / 2) return true;
    if (evidence.aboutConfidence || gap < shareOfRate * rarerRate(evidence)) return false;
    let { predicted, observed } = one;
    if (evidence.average.observed > 0.5) [predicted, observed] = [1 - predicted, 1 - observed];
    const away = observed - predicted;
    const near = predicted + (away < 0 || Object.is(away, -0) ? -one.least : one.least);
    const factor = Math.max(over(predicted, observed), over(observed, predicted));
    const sure = Math.max(over(predicted, near), over(near, predicted));
    return factor >= RANGE_FACTOR && sure - 1 >= (RANGE_FACTOR - 1) / 2;
  }

  return { findingsOf, inOrder, classIsWrong, subgroupIsWrong, callsForRecalibration, recalibrationGains, answerOf, rowsNeeded, grade };
})();

if (typeof module !== "undefined") module.exports = Rules;
