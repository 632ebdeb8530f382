// Small dense matrices, as Float64Arrays of n * n numbers, row by row.
//
// The eigenvectors have the signs that LAPACK gives them (tridiagonal form, then implicit QL or QR), because random
// numbers are multiplied by them: another sign would draw other numbers than Python does.
const Linear = (() => {
  "use strict";

  const EPS = 1.1102230246251565e-16;
  const SAFE_MIN = 2.2250738585072014e-308;

  // The lower triangle L of a = L L'.
  function cholesky(a, n) {
    const l = new Float64Array(n * n);
    for (let j = 0; j < n; j++) {
      for (let i = j; i < n; i++) {
        let rest = a[i * n + j];
        for (let k = 0; k < j; k++) rest -= l[i * n + k] * l[j * n + k];
        l[i * n + j] = i === j ? Math.sqrt(rest) : rest / l[j * n + j];
      }
    }
    return l;
  }

  // Solve L x = b for m columns of b.
  function forward(l, n, b, m) {
    const x = Float64Array.from(b);
    for (let i = 0; i < n; i++) {
      for (let k = 0; k < i; k++) {
        const factor = l[i * n + k];
        if (factor !== 0) for (let c = 0; c < m; c++) x[i * m + c] -= factor * x[k * m + c];
      }
      for (let c = 0; c < m; c++) x[i * m + c] /= l[i * n + i];
    }
    return x;
  }

  // Solve L' x = b for m columns of b.
  function backward(l, n, b, m) {
    const x = Float64Array.from(b);
    for (let i = n - 1; i >= 0; i--) {
      for (let k = i + 1; k < n; k++) {
        const factor = l[k * n + i];
        if (factor !== 0) for (let c = 0; c < m; c++) x[i * m + c] -= factor * x[k * m + c];
      }
      for (let c = 0; c < m; c++) x[i * m + c] /= l[i * n + i];
    }
    return x;
  }

  // --- banded matrices -----------------------------------------------------------------------------------------------

  // Rows of weights ({first, weights}) in one array, for `times`.
  function banded(blocks) {
    const starts = new Int32Array(blocks.length + 1);
    blocks.forEach(({ weights }, i) => { starts[i + 1] = starts[i] + weights.length; });
    const weights = new Float64Array(starts[blocks.length]);
    blocks.forEach((block, i) => weights.set(block.weights, starts[i]));
    return { first: Int32Array.from(blocks, ({ first }) => first), starts, weights };
  }

  // Multiply four rows of m numbers, from row r on, by a banded matrix; rows beyond the last are left out.
  function times({ first, starts, weights }, rows, m, r, into) {
    const n = first.length;
    const last = rows.length / m - 1;
    const a = r * m;
    const b = Math.min(r + 1, last) * m;
    const c = Math.min(r + 2, last) * m;
    const d = Math.min(r + 3, last) * m;
    for (let i = 0; i < n; i++) {
      let [x, y, z, u] = [0, 0, 0, 0];
      const end = starts[i + 1];
      for (let k = starts[i], j = first[i]; k < end; k++, j++) {
        const w = weights[k];
        x += w * rows[a + j];
        y += w * rows[b + j];
        z += w * rows[c + j];
        u += w * rows[d + j];
      }
      into[0][i] = x;
      into[1][i] = y;
      into[2][i] = z;
      into[3][i] = u;
    }
  }

  // Call `each` with every row of numbers multiplied by a banded matrix.
  function forRows(matrix, rows, m, each) {
    const into = [0, 1, 2, 3].map(() => new Float64Array(matrix.first.length));
    const n = rows.length / m;
    for (let r = 0; r < n; r += 4) {
      times(matrix, rows, m, r, into);
      for (let k = 0; k < 4 && r + k < n; k++) each(into[k], r + k);
    }
  }

  // --- eigenvalues and eigenvectors of symmetric matrices ------------------------------------------------------------

  // Eigenvalues in ascending order, and the eigenvectors as columns.
  function eigen(symmetric, n) {
    const a = Float64Array.from(symmetric);
    const d = new Float64Array(n);
    const e = new Float64Array(Math.max(n - 1, 0));
    const tau = new Float64Array(n);
    tridiagonal(a, n, d, e, tau);
    const z = new Float64Array(n * n);
    for (const [start, end] of blocksOf(d, e, n)) block(d, e, z, n, start, end);
    ascending(d, z, n);
    reflect(a, tau, z, n);
    return { values: d, vectors: z };
  }

  // Where a tridiagonal matrix falls apart, because the numbers beside its diagonal vanish (dstedc).
  function blocksOf(d, e, n) {
    const blocks = [];
    for (let start = 0, k = 0; k < n; k++) {
      if (k < n - 1 && Math.abs(e[k]) > EPS * Math.sqrt(Math.abs(d[k])) * Math.sqrt(Math.abs(d[k + 1]))) continue;
      blocks.push([start, k + 1]);
      start = k + 1;
    }
    return blocks;
  }

  function block(d, e, z, n, start, end) {
    const m = end - start;
    const own = d.slice(start, end);
    const beside = e.slice(start, end - 1);
    const vectors = new Float64Array(m * m);
    for (let i = 0; i < m; i++) vectors[i * m + i] = 1;
    const norm = Math.max(...own.map(Math.abs), ...beside.map(Math.abs)) || 1;
    const parts = m > 25 ? torn(own.map((one) => one / norm), beside.map((one) => one / norm), m) : null;
    implicit(own, beside, vectors, m);
    if (parts) chooseSigns(parts, own.map((one) => one / norm), vectors, m);
    d.set(own, start);
    for (let i = 0; i < m; i++) for (let j = 0; j < m; j++) z[(start + i) * n + start + j] = vectors[i * m + j];
  }

  function ascending(d, z, n) {
    for (let i = 0; i < n - 1; i++) {
      let k = i;
      for (let j = i + 1; j < n; j++) if (d[j] < d[k]) k = j;
      if (k === i) continue;
      [d[i], d[k]] = [d[k], d[i]];
      for (let r = 0; r < n; r++) [z[r * n + i], z[r * n + k]] = [z[r * n + k], z[r * n + i]];
    }
  }

  // Householder reflections (dsytd2, lower triangle).
  function tridiagonal(a, n, d, e, tau) {
    const w = new Float64Array(n);
    for (let i = 0; i < n - 1; i++) {
      let norm = 0;
      for (let k = i + 2; k < n; k++) norm = Math.hypot(norm, a[k * n + i]);
      const alpha = a[(i + 1) * n + i];
      let factor = 0;
      let beta = alpha;
      if (norm !== 0) {
        beta = -Math.sign(alpha || 1) * Math.hypot(alpha, norm);
        factor = (beta - alpha) / beta;
        for (let k = i + 2; k < n; k++) a[k * n + i] /= alpha - beta;
      }
      e[i] = beta;
      if (factor !== 0) {
        a[(i + 1) * n + i] = 1;
        let dot = 0;
        for (let r = i + 1; r < n; r++) {
          let total = 0;
          for (let c = i + 1; c < n; c++) total += (c <= r ? a[r * n + c] : a[c * n + r]) * a[c * n + i];
          w[r] = factor * total;
          dot += w[r] * a[r * n + i];
        }
        const half = (-factor * dot) / 2;
        for (let r = i + 1; r < n; r++) w[r] += half * a[r * n + i];
        for (let r = i + 1; r < n; r++) {
          for (let c = i + 1; c <= r; c++) a[r * n + c] -= a[r * n + i] * w[c] + w[r] * a[c * n + i];
        }
        a[(i + 1) * n + i] = beta;
      }
      d[i] = a[i * n + i];
      tau[i] = factor;
    }
    d[n - 1] = a[n * n - 1];
  }

  // Multiply by the reflections, the last one first (dorm2l for a lower triangle).
  function reflect(a, tau, z, n) {
    for (let i = n - 2; i >= 0; i--) {
      if (tau[i] === 0) continue;
      for (let c = 0; c < n; c++) {
        let dot = z[(i + 1) * n + c];
        for (let r = i + 2; r < n; r++) dot += a[r * n + i] * z[r * n + c];
        dot *= tau[i];
        z[(i + 1) * n + c] -= dot;
        for (let r = i + 2; r < n; r++) z[r * n + c] -= dot * a[r * n + i];
      }
    }
  }

  const signed = (size, like) => (like < 0 || Object.is(like, -0) ? -Math.abs(size) : Math.abs(size));

  // A plane rotation that turns (f, g) into (r, 0).
  function rotation(f, g) {
    if (g === 0) return [1, 0, f];
    if (f === 0) return [0, signed(1, g), Math.abs(g)];
    const r = signed(Math.sqrt(f * f + g * g), f);
    return [Math.abs(f) / Math.abs(r), g / r, r];
  }

  // The eigenvalues of [[a, b], [b, c]], the larger in size first, and the unit vector of the first (dlaev2).
  function pair(a, b, c) {
    const [sm, df, tb] = [a + c, a - c, 2 * b];
    const [adf, ab] = [Math.abs(df), Math.abs(tb)];
    const [most, least] = Math.abs(a) > Math.abs(c) ? [a, c] : [c, a];
    const rt = adf > ab ? adf * Math.sqrt(1 + (ab / adf) ** 2) : adf < ab ? ab * Math.sqrt(1 + (adf / ab) ** 2) : ab * Math.SQRT2;
    let [rt1, rt2, sign1] = [rt / 2, -rt / 2, 1];
    if (sm !== 0) {
      sign1 = sm < 0 ? -1 : 1;
      rt1 = (sm + sign1 * rt) / 2;
      rt2 = (most / rt1) * least - (b / rt1) * b;
    }
    const sign2 = df >= 0 ? 1 : -1;
    const cs = df + sign2 * rt;
    let [c1, s1] = [1, 0];
    if (Math.abs(cs) > ab) {
      const ct = -tb / cs;
      s1 = 1 / Math.sqrt(1 + ct * ct);
      c1 = ct * s1;
    } else if (ab !== 0) {
      const tn = -cs / tb;
      c1 = 1 / Math.sqrt(1 + tn * tn);
      s1 = tn * c1;
    }
    return sign1 === sign2 ? [rt1, rt2, -s1, c1] : [rt1, rt2, c1, s1];
  }

  function turn(z, n, j, c, s) {
    if (c === 1 && s === 0) return;
    for (let i = 0; i < n; i++) {
      const kept = z[i * n + j + 1];
      z[i * n + j + 1] = c * kept - s * z[i * n + j];
      z[i * n + j] = s * kept + c * z[i * n + j];
    }
  }

  // Implicit QL or QR, whichever goes from the larger end to the smaller, then sorting (dsteqr).
  function implicit(d, e, z, n) {
    const small = EPS * EPS;
    let first = 0;
    while (first < n) {
      if (first > 0) e[first - 1] = 0;
      let m = first;
      for (; m < n - 1; m++) {
        const size = Math.abs(e[m]);
        if (size === 0) break;
        if (size <= Math.sqrt(Math.abs(d[m])) * Math.sqrt(Math.abs(d[m + 1])) * EPS) {
          e[m] = 0;
          break;
        }
      }
      let l = first;
      let end = m;
      first = m + 1;
      if (end === l) continue;
      if (Math.abs(d[end]) < Math.abs(d[l])) [l, end] = [end, l];
      if (end > l) fromAbove(d, e, z, n, l, end, small);
      else fromBelow(d, e, z, n, l, end, small);
    }
    ascending(d, z, n);
  }

  function fromAbove(d, e, z, n, start, end, small) {
    const [cs, ss] = [new Float64Array(n), new Float64Array(n)];
    let l = start;
    for (let round = 0; l <= end && round < 30 * n; round++) {
      let m = l;
      for (; m < end; m++) if (e[m] * e[m] <= small * Math.abs(d[m]) * Math.abs(d[m + 1]) + SAFE_MIN) break;
      if (m < end) e[m] = 0;
      let p = d[l];
      if (m === l) {
        l++;
        continue;
      }
      if (m === l + 1) {
        const [rt1, rt2, c, s] = pair(d[l], e[l], d[l + 1]);
        turn(z, n, l, c, s);
        [d[l], d[l + 1], e[l]] = [rt1, rt2, 0];
        l += 2;
        continue;
      }
      let g = (d[l + 1] - p) / (2 * e[l]);
      let r = Math.hypot(g, 1);
      g = d[m] - p + e[l] / (g + signed(r, g));
      let [s, c] = [1, 1];
      p = 0;
      for (let i = m - 1; i >= l; i--) {
        const f = s * e[i];
        const b = c * e[i];
        [c, s, r] = rotation(g, f);
        if (i !== m - 1) e[i + 1] = r;
        g = d[i + 1] - p;
        r = (d[i] - g) * s + 2 * c * b;
        p = s * r;
        d[i + 1] = g + p;
        g = c * r - b;
        [cs[i], ss[i]] = [c, -s];
      }
      for (let j = m - 1; j >= l; j--) turn(z, n, j, cs[j], ss[j]);
      d[l] -= p;
      e[l] = g;
    }
  }

  function fromBelow(d, e, z, n, start, end, small) {
    const [cs, ss] = [new Float64Array(n), new Float64Array(n)];
    let l = start;
    for (let round = 0; l >= end && round < 30 * n; round++) {
      let m = l;
      for (; m > end; m--) if (e[m - 1] * e[m - 1] <= small * Math.abs(d[m]) * Math.abs(d[m - 1]) + SAFE_MIN) break;
      if (m > end) e[m - 1] = 0;
      let p = d[l];
      if (m === l) {
        l--;
        continue;
      }
      if (m === l - 1) {
        const [rt1, rt2, c, s] = pair(d[l - 1], e[l - 1], d[l]);
        turn(z, n, l - 1, c, s);
        [d[l - 1], d[l], e[l - 1]] = [rt1, rt2, 0];
        l -= 2;
        continue;
      }
      let g = (d[l - 1] - p) / (2 * e[l - 1]);
      let r = Math.hypot(g, 1);
      g = d[m] - p + e[l - 1] / (g + signed(r, g));
      let [s, c] = [1, 1];
      p = 0;
      for (let i = m; i < l; i++) {
        const f = s * e[i];
        const b = c * e[i];
        [c, s, r] = rotation(g, f);
        if (i !== m) e[i - 1] = r;
        g = d[i] - p;
        r = (d[i + 1] - g) * s + 2 * c * b;
        p = s * r;
        d[i] = g + p;
        g = c * r - b;
        [cs[i], ss[i]] = [c, s];
      }
      for (let j = m; j < l; j++) turn(z, n, j, cs[j], ss[j]);
      d[l] -= p;
      e[l - 1] = g;
    }
  }

  // --- signs of eigenvectors of larger matrices, where LAPACK divides and conquers ------------------------------------

  // The two halves of a tridiagonal matrix, their eigenvectors, and the rank-one matrix that joins them (dlaed0).
  function torn(d, e, n) {
    const cut = Math.floor(n / 2);
    const rho = e[cut - 1];
    const parts = [[0, cut], [cut, n]].map(([from, to]) => {
      const own = d.slice(from, to);
      if (from === 0) own[cut - 1] -= Math.abs(rho);
      else own[0] -= Math.abs(rho);
      const m = to - from;
      const z = new Float64Array(m * m);
      for (let i = 0; i < m; i++) z[i * m + i] = 1;
      implicit(own, e.slice(from, to - 1), z, m);
      return { from, m, values: own, z };
    });
    return { parts, rho };
  }

  // Give each eigenvector the sign of sum_i q_i z_i / (d_i - lambda), as dlaed3 does; of q_i itself where it is deflated.
  function chooseSigns({ parts, rho }, values, z, n) {
    const [upper, lower] = parts;
    const all = [];
    for (const part of parts) {
      for (let k = 0; k < part.m; k++) {
        const row = part === upper ? part.m - 1 : 0;
        const weight = part.z[row * part.m + k] * (part === lower && rho < 0 ? -1 : 1);
        all.push({ part, k, value: part.values[k], weight: weight / Math.SQRT2 });
      }
    }
    const size = Math.max(...all.map((one) => Math.abs(one.value)), ...all.map((one) => Math.abs(one.weight)));
    const tolerance = 8 * EPS * size;
    const along = ({ part, k }, j) => {
      let dot = 0;
      for (let r = 0; r < part.m; r++) dot += part.z[r * part.m + k] * z[(part.from + r) * n + j];
      return dot;
    };
    const flip = (j) => { for (let r = 0; r < n; r++) z[r * n + j] = -z[r * n + j]; };
    const deflated = new Set();
    for (const one of all) {
      if (Math.abs(2 * rho * one.weight) > tolerance) continue;
      for (let j = 0; j < n; j++) {
        const dot = along(one, j);
        if (Math.abs(dot) < 0.7) continue;
        deflated.add(j);
        if (dot < 0) flip(j);
      }
    }
    // The other eigenvalues lie one by one between the values of the halves, which settles the sign of each difference.
    const poles = all.filter(({ weight }) => Math.abs(2 * rho * weight) > tolerance).sort((a, b) => a.value - b.value);
    let rank = 0;
    for (let j = 0; j < n; j++) {
      if (deflated.has(j)) continue;
      let dot = 0;
      poles.forEach((one, i) => {
        const away = Math.max(Math.abs(one.value - values[j]), EPS * size * 1e-3);
        dot += (along(one, j) * one.weight) / (i <= rank ? -away : away);
      });
      if (dot < 0) flip(j);
      rank++;
    }
  }

  return { cholesky, forward, backward, eigen, banded, forRows };
})();

if (typeof module !== "undefined") module.exports = Linear;
