// Text files with a separator between cells, read as `believable.readers.formats.delimited` reads them: quotes, line ends
// in cells, byte order marks, separators, decimal commas, percent signs, and the same sentences for what is wrong.
//
// The bytes are scanned in pieces of a few megabytes, and numbers go straight into typed arrays, so that a file of a
// million rows needs little more memory than its numbers.
const Delimited = (() => {
  "use strict";

  const SEPARATORS = { ",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars" };
  const NULLS = new Set(["", "NA", "N/A", "n/a", "NaN", "nan", "null"]); // how a missing value is written
  const HEAD_BYTES = 1 << 20; // enough for any header
  const PIECE_BYTES = 1 << 22;
  const LONGEST_CELL = 1 << 26; // limits the damage of a quotation mark that is never closed
  const NUMBER = /^[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?$/i;
  const INFINITE = /^([-+]?)inf(?:inity)?$/i;
  const NOT_A_NUMBER = /^[-+]?nan$/i;
  const LIKE_THOUSANDS = /^\s*[-+]?[1-9]\d{0,2},\d{3}\s*$/; // 1,234: the comma may separate thousands
  const THOUSANDS_BY_POINTS = /^[-+]?[1-9]\d{0,2}\.\d{3}$/;
  const DECIMAL_COMMA = /^(\s*[-+]?\d*),(\d+(?:e[-+]?\d+)?\s*%?\s*)$/i;
  const TRUTH = /^(true|false)$/i;
  const [QUOTE, LINE_END, RETURN, SPACE, POINT, COMMA, MINUS] = [34, 10, 13, 32, 46, 44, 45];
  const EXACT = 2 ** 53; // integers up to here, and powers of ten up to 10^22, divide to the nearest number
  const POWERS = Array.from({ length: 23 }, (_, i) => Number(`1e${i}`));

  // A sentence for the user; what happened is no defect of the page.
  class BadInput extends Error {}

  // --- words ---------------------------------------------------------------------------------------------------------

  function grouped(n) {
    return String(n).replace(/\B(?=(\d{3})+$)/g, ",");
  }

  // A text as Python shows it in a message: in quotation marks, with what cannot be printed as escapes.
  function shown(text) {
    const mark = text.includes("'") && !text.includes('"') ? '"' : "'";
    const escapes = { "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", [mark]: `\\${mark}` };
    const hex = (letter, sign, width) => `\\${sign}${letter.codePointAt(0).toString(16).padStart(width, "0")}`;
    const body = [...text].map((letter) => {
      if (escapes[letter]) return escapes[letter];
      if (letter === " " || !/[\p{C}\p{Z}]/u.test(letter)) return letter;
      const code = letter.codePointAt(0);
      return code < 256 ? hex(letter, "x", 2) : code < 65536 ? hex(letter, "u", 4) : hex(letter, "U", 8);
    });
    return mark + body.join("") + mark;
  }

  // A number with so many digits that count, as Python's format "g" writes it.
  function general(value, digits = 6) {
    if (Number.isNaN(value)) return "nan";
    if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
    if (value === 0) return Object.is(value, -0) ? "-0" : "0";
    const [head, power] = value.toExponential(digits - 1).split("e");
    const plain = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
    const exponent = Number(power);
    if (exponent >= -4 && exponent < digits) return plain(value.toFixed(digits - 1 - exponent));
    return `${plain(head)}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
  }

  // --- the header ----------------------------------------------------------------------------------------------------

  // The first record of a text, as Python's csv.reader reads it.
  function firstRecord(text, separator) {
    const cells = [];
    let cell = "";
    let quoted = false;
    let i = 0;
    for (; i < text.length; i++) {
      const letter = text[i];
      if (quoted) {
        if (letter !== '"') cell += letter;
        else if (text[i + 1] === '"') { cell += letter; i++; } else quoted = false;
      } else if (letter === '"' && cell === "") quoted = true;
      else if (letter === separator) { cells.push(cell); cell = ""; } else if (letter === "\n" || letter === "\r") break;
      else cell += letter;
    }
    return [...cells, cell];
  }

  // The separator, `own` or another that the header contains, and the names in the header.
  function split(text, own) {
    for (const separator of [own, ...Object.keys(SEPARATORS).filter((other) => other !== own)]) {
      const fields = firstRecord(text, separator);
      if (fields.length > 1) return [separator, fields];
    }
    return [own, firstRecord(text, own)];
  }

  const startsWith = (bytes, ...begin) => begin.every((byte, i) => bytes[i] === byte);

  // What else a file may be, by its ending or its first bytes.
  function refuse(name, head) {
    const ending = name.toLowerCase().replace(/\.gz$/, "").split(".").pop();
    const others = { parquet: "a Parquet file", npz: "a file of NumPy arrays", jsonl: "a file of JSON lines", ndjson: "a file of JSON lines" };
    let what = others[ending];
    if (["xlsx", "xls", "ods"].includes(ending)) throw new BadInput(`${name} is a spreadsheet, which cannot be read: save it as csv`);
    if (startsWith(head, 80, 65, 82, 49)) what = others.parquet;
    if (startsWith(head, 80, 75, 3, 4)) what = "a compressed archive";
    if (what) throw new BadInput(`${name} is ${what}: this page reads csv and tsv files only, \`believable audit\` reads others`);
    if (startsWith(head, 255, 254) || startsWith(head, 254, 255)) throw new BadInput(`${name} is UTF-16 text: save it as UTF-8`);
    if (head.includes(0)) throw new BadInput(`${name} is not a text file, so it cannot be csv`);
  }

  // The bytes of a file, piece by piece; a compressed file is decompressed on the way.
  async function* pieces(blob, name) {
    const start = new Uint8Array(await blob.slice(0, 2).arrayBuffer());
    if (startsWith(start, 31, 139)) {
      const reader = blob.stream().pipeThrough(new DecompressionStream("gzip")).getReader();
      try {
        for (;;) {
          const { done, value } = await reader.read();
          if (done) return;
          yield value;
        }
      } catch (error) {
        throw new BadInput(`${name} is compressed and damaged: ${error.message}`);
      }
    }
    for (let at = 0; at < blob.size; at += PIECE_BYTES) {
      yield new Uint8Array(await blob.slice(at, at + PIECE_BYTES).arrayBuffer());
    }
  }

  function joined(parts) {
    const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of parts) { whole.set(part, at); at += part.length; }
    return whole;
  }

  async function headOf(blob, name) {
    const parts = [];
    let size = 0;
    for await (const part of pieces(blob, name)) {
      parts.push(part);
      size += part.length;
      if (size >= HEAD_BYTES) break;
    }
    return joined(parts).subarray(0, HEAD_BYTES);
  }

  // Open a file: its columns by name. `blob` is a File, or any Blob with the name to call it by.
  async function open(blob, name = blob.name) {
    let head = await headOf(blob, name);
    const marked = startsWith(head, 239, 187, 191);
    if (marked) head = head.subarray(3);
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(head);
    if (!text.trim()) throw new BadInput(`${name} is empty`);
    refuse(name, head);
    if (text.includes("\r") && !text.includes("\n")) {
      throw new BadInput(`${name} has lines that end in a carriage return only: save it with Unix line endings`);
    }
    const body = text.replace(/^[\r\n]+/, "");
    const [line] = body.split("\n", 1);
    const said = line.trim().replace(/^"+|"+$/g, "").toLowerCase();
    const skips = said.length === 5 && said.startsWith("sep=") && said[4] in SEPARATORS;
    const ending = /\.(csv|tsv)(\.gz)?$/i.exec(name);
    let own = ending ? (ending[1].toLowerCase() === "tsv" ? "\t" : ",") : line.includes("\t") ? "\t" : ",";
    if (skips) own = said[4];
    const [separator, fields] = split(skips ? body.slice(line.length + 1) : body, own);
    const places = new Map();
    fields.map((field) => field.trim()).forEach((field, place) => {
      if (places.has(field)) throw new BadInput(`${name} has several columns called ${shown(field)}: rename them`);
      if (field) places.set(field, place);
    });
    const notes = separator === own ? [] : [`the columns are separated by ${SEPARATORS[separator]}`];
    return { blob, name, places, names: [...places.keys()], width: fields.length, separator, notes, skips, marked };
  }

  // --- rows ----------------------------------------------------------------------------------------------------------

  // Read columns of a file into sinks, given as pairs of a name and a sink; `most` rows of them, or all. Returns the number
  // of rows, and a function that says where a row is, in words.
  async function read(table, sinks, { most = Infinity, onProgress = () => {} } = {}) {
    const { name, width } = table;
    const separator = table.separator.charCodeAt(0);
    const taken = sinks.map(([column, sink]) => [sink, table.places.get(column)]);
    const starts = new Int32Array(width);
    const ends = new Int32Array(width);
    const quotes = new Uint8Array(width);
    const jumps = []; // a row and its line, and so on, where lines do not follow each other
    let [phase, rows, content, begins, line, offset] = ["before", 0, 0, 0, 1, NaN];

    // One record; returns where the next begins, or -1 if the piece ends before the record does.
    function record(bytes, start, last) {
      const end = bytes.length;
      let [at, fields, lines] = [start, 0, 0];
      let blank = true;
      for (;;) {
        let [from, to, quoted] = [at, at, 0];
        if (bytes[at] === QUOTE && at < end) {
          quoted = 1;
          from = ++at;
          for (;;) {
            if (at >= end || (at + 1 >= end && !last)) {
              if (!last && end - start < LONGEST_CELL) return -1;
              if (at >= end || !last) throw new BadInput(`${name} has a quotation mark ${after()} that is never closed`);
            }
            if (bytes[at] === QUOTE) {
              if (bytes[at + 1] !== QUOTE) break;
              quoted = 2;
              at++;
            } else if (bytes[at] === LINE_END) lines++;
            at++;
          }
          to = at++;
          if (bytes[at] === RETURN && (bytes[at + 1] === LINE_END || at + 1 >= end)) at++;
          if (at < end && bytes[at] !== separator && bytes[at] !== LINE_END) {
            throw new BadInput(`${name} cannot be read ${after()}: '${table.separator}' expected after '"'`);
          }
          blank = false;
        } else {
          while (at < end && bytes[at] !== separator && bytes[at] !== LINE_END) at++;
          to = at;
          if (to > from && bytes[to - 1] === RETURN && (at >= end || bytes[at] === LINE_END)) to--;
          if (blank) for (let i = from; i < to && blank; i++) blank = bytes[i] === SPACE || bytes[i] === RETURN;
        }
        if (fields < width) {
          starts[fields] = from;
          ends[fields] = to;
          quotes[fields] = quoted;
        }
        fields++;
        if (at < end && bytes[at] === separator) { at++; blank = false; continue; }
        if (at >= end && !last) return -1;
        if (at < end) { at++; lines++; }
        finish(bytes, fields, blank && fields === 1, ends[0] === starts[0]);
        line += lines;
        return at;
      }
    }

    function after() {
      return begins ? `after line ${begins}` : "at line 1";
    }

    function finish(bytes, fields, blank, empty) {
      if (phase === "before" && fields === 1 && empty && !quotes[0]) return; // blank lines above the header
      if (phase === "before" && table.skips) { phase = "header"; return; }
      begins = line;
      if (phase !== "rows") { phase = "rows"; return; }
      if (fields > width) throw new BadInput(`${name} has ${fields} fields at line ${line}, but ${width} in its header`);
      if (line - rows !== offset) { offset = line - rows; jumps.push(rows, line); }
      for (const [sink, place] of taken) {
        if (place < fields && ends[place] > starts[place]) sink.cell(bytes, starts[place], ends[place], quotes[place] === 2);
        else sink.missing();
      }
      rows++;
      if (!blank) content = rows;
    }

    const decoder = new TextDecoder("utf-8", { fatal: true });
    let [kept, done, lines] = [new Uint8Array(0), 0, 0];
    const check = (bytes, last) => {
      try {
        decoder.decode(bytes, { stream: !last });
      } catch {
        throw new BadInput(`${name} is not UTF-8 text at line ${lines + badLine(joined([kept, bytes]))}: save it as UTF-8`);
      }
    };
    let first = true;
    for await (const piece of pieces(table.blob, name)) {
      check(piece, false);
      let bytes = kept.length ? joined([kept, piece]) : piece;
      if (first && table.marked) bytes = bytes.subarray(3);
      first = false;
      let at = 0;
      while (at < bytes.length && rows < most) {
        const next = record(bytes, at, false);
        if (next < 0) break;
        at = next;
      }
      kept = bytes.slice(at);
      lines = line - 1;
      done += piece.length;
      onProgress(Math.min(done / table.blob.size, 1), rows);
      if (rows >= most) break;
    }
    if (rows < most) {
      check(new Uint8Array(0), true);
      for (let at = 0; at < kept.length;) at = record(kept, at, true);
    }
    const n = Math.min(content, rows);
    if (!n) throw new BadInput(`${name} has a header but no rows`);
    for (const [sink] of taken) sink.end(n);
    const lineOf = (row) => {
      let i = jumps.length - 2;
      while (jumps[i] > row) i -= 2;
      return jumps[i + 1] + row - jumps[i];
    };
    return { n, place: (row) => `row ${row} (line ${lineOf(row)})` };
  }

  // The number of the first line, from 1, that is not UTF-8.
  function badLine(bytes) {
    let [number, from] = [1, 0];
    for (;;) {
      const end = bytes.indexOf(LINE_END, from);
      try {
        new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(from, end < 0 ? bytes.length : end));
      } catch {
        return number;
      }
      if (end < 0) return number;
      number++;
      from = end + 1;
    }
  }

  const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

  function textOf(bytes, from, to, doubled) {
    let text = "";
    if (to - from < 24) {
      let i = from;
      for (; i < to && bytes[i] < 128; i++) text += String.fromCharCode(bytes[i]);
      if (i < to) text = utf8.decode(bytes.subarray(from, to));
    } else text = utf8.decode(bytes.subarray(from, to));
    return doubled ? text.replaceAll('""', '"') : text;
  }

  // --- columns of numbers --------------------------------------------------------------------------------------------

  // Numbers, NaN where one is missing. What a text means can depend on the whole column (a decimal comma, a percent
  // sign), so both readings are kept until `finished` decides.
  class Numbers {
    constructor(name, separator) {
      this.name = name;
      this.commas = separator !== ","; // whether there may be decimal commas
      this.values = new Float64Array(1 << 12);
      this.n = 0;
      this.there = 0; // cells that are not missing
      this.plain = true; // whether every cell is a number as it stands
      this.bad = null; // the first cell that is no number: its row and text
      this.truth = { n: 0, first: null };
      this.comma = { n: 0, decimal: false, first: null };
      this.point = { n: 0, thousands: true, first: null };
      this.sign = { n: 0, first: null, without: null };
    }

    push(value) {
      if (this.n === this.values.length) {
        const longer = new Float64Array(2 * this.n);
        longer.set(this.values);
        this.values = longer;
      }
      this.values[this.n++] = value;
    }

    missing() {
      this.push(NaN);
    }

    cell(bytes, from, to, doubled) {
      let at = from;
      const negative = bytes[at] === MINUS;
      if (negative) at++;
      let mantissa = 0;
      let point = -1; // or the decimal comma
      const start = at;
      for (; at < to; at++) {
        const byte = bytes[at];
        if (byte >= 48 && byte <= 57) mantissa = 10 * mantissa + (byte - 48);
        else if ((byte === POINT || (byte === COMMA && this.commas)) && point < 0) point = at;
        else break;
      }
      const digits = at - start - (point < 0 ? 0 : 1);
      const decimals = point < 0 ? 0 : to - point - 1;
      const comma = point >= 0 && bytes[point] === COMMA;
      if (at < to || !digits || mantissa > EXACT || decimals > 22 || (comma && !decimals)) {
        this.push(this.read(textOf(bytes, from, to, doubled)));
        return;
      }
      this.there++;
      if (point >= 0) {
        const thousands = decimals === 3 && point - start <= 3 && point > start && bytes[start] !== 48;
        if (comma) {
          if (!this.comma.n++) this.comma.first = [this.n, textOf(bytes, from, to, false)];
          if (!thousands) this.comma.decimal = true;
          this.plain = false;
        } else {
          if (!this.point.n++) this.point.first = textOf(bytes, from, to, false);
          if (!thousands) this.point.thousands = false;
        }
      }
      if (!this.sign.without) this.sign.without = [this.n, textOf(bytes, from, to, false)];
      const value = decimals ? mantissa / POWERS[decimals] : mantissa;
      this.push(negative ? -value : value);
    }

    // A cell that is no plain decimal number.
    read(text) {
      const trimmed = text.trim();
      if (NULLS.has(trimmed)) {
        if (!NULLS.has(text)) this.plain = false;
        return NaN;
      }
      this.there++;
      if (TRUTH.test(text)) {
        if (!this.truth.n++) this.truth.first = [this.n, text];
        if (!this.sign.without) this.sign.without = [this.n, trimmed];
        return trimmed.toLowerCase() === "true" ? 1 : 0;
      }
      if (!NUMBER.test(text) || text[0] === "+") this.plain = false;
      if (text.includes(".")) {
        if (!this.point.n++) this.point.first = trimmed;
        if (!THOUSANDS_BY_POINTS.test(trimmed)) this.point.thousands = false;
      }
      let body = trimmed;
      if (body.endsWith("%")) {
        if (!this.sign.n++) this.sign.first = [this.n, trimmed];
        body = body.slice(0, -1).trim();
        if (NULLS.has(body)) return NaN;
      } else if (!this.sign.without) this.sign.without = [this.n, trimmed];
      if (this.commas && text.includes(",")) {
        if (!LIKE_THOUSANDS.test(text)) this.comma.decimal = true;
        if (DECIMAL_COMMA.test(text)) {
          if (!this.comma.n++) this.comma.first = [this.n, body];
          return Number(body.replace(",", "."));
        }
      }
      if (NUMBER.test(body)) return Number(body);
      if (NOT_A_NUMBER.test(body)) return NaN;
      const infinite = INFINITE.exec(body);
      if (infinite) return infinite[1] === "-" ? -Infinity : Infinity;
      if (!this.bad) this.bad = [this.n, body];
      return NaN;
    }

    end(n) {
      this.n = n;
      this.values = this.values.subarray(0, n);
      if (this.bad && this.bad[0] >= n) this.bad = null;
    }

    // Whether commas were read as decimal commas, which other columns have to fit.
    get withCommas() {
      return this.comma.n > 0 && this.comma.decimal && this.point.n === 0;
    }

    get percentages() {
      return this.sign.n > 0;
    }

    // Raise if only some cells have percent signs; with `percent`, all of them may go without.
    refuseMixed(place, percent) {
      if (percent || !this.sign.n || !this.sign.without) return;
      const [row, got] = this.sign.first;
      const [other, without] = this.sign.without;
      throw new BadInput(
        `column ${shown(this.name)} must hold numbers, got the text ${this.written(got)} at ${place(row)} but ` +
        `${this.written(without)}, without a percent sign, at ${place(other)}; if all of them are percentages, choose “percentages”`,
      );
    }

    written(text) {
      return shown(this.withCommas ? text.replace(DECIMAL_COMMA, "$1.$2") : text);
    }

    // Raise at the first cell that is no number; a percent sign makes a number of scores only.
    refuseText(place, signs = true) {
      const truth = this.truth.n && this.truth.n < this.there ? this.truth.first : null;
      const comma = this.comma.n && !this.withCommas ? this.comma.first : null;
      const [first] = [this.bad, truth, comma, signs ? null : this.sign.first].filter(Boolean).sort((a, b) => a[0] - b[0]);
      if (!first) return;
      const hint = first[1].includes(",") ? "; write decimals with a point and thousands without a comma" : "";
      throw new BadInput(`column ${shown(this.name)} must hold numbers, got the text ${shown(first[1])} at ${place(first[0])}${hint}`);
    }

    // A number like 1.234 that may be more than a thousand, if other columns have decimal commas.
    get mayBeThousands() {
      return this.plain && !this.bad && !this.truth.n && this.point.n && this.point.thousands ? this.point.first : null;
    }
  }

  // --- columns of text -----------------------------------------------------------------------------------------------

  // Texts by number, -1 where one is missing: the text of each number, its first row, and how often it occurs.
  class Texts {
    constructor(name, separator) {
      this.name = name;
      this.commas = separator !== ",";
      this.codes = new Int32Array(1 << 12);
      this.n = 0;
      this.texts = [];
      this.firsts = [];
      this.numbers = new Map();
      this.short = new Int32Array(256).fill(-2); // the number of a text of a single letter; -2 where it is not known yet
    }

    push(code) {
      if (this.n === this.codes.length) {
        const longer = new Int32Array(2 * this.n);
        longer.set(this.codes);
        this.codes = longer;
      }
      this.codes[this.n++] = code;
    }

    missing() {
      this.push(-1);
    }

    cell(bytes, from, to, doubled) {
      const letter = to - from === 1 ? bytes[from] : 0;
      if (letter && this.short[letter] !== -2) {
        this.push(this.short[letter]);
        return;
      }
      const code = this.codeOf(textOf(bytes, from, to, doubled));
      if (letter) this.short[letter] = code;
      this.push(code);
    }

    codeOf(text) {
      if (NULLS.has(text)) return -1;
      let code = this.numbers.get(text);
      if (code === undefined) {
        code = this.texts.length;
        this.numbers.set(text, code);
        this.texts.push(text);
        this.firsts.push(this.n);
      }
      return code;
    }

    // Forget the texts of blank lines at the end, and put points for decimal commas where the whole column has them.
    end(n) {
      this.n = n;
      this.codes = this.codes.subarray(0, n);
      while (this.firsts.length && this.firsts[this.firsts.length - 1] >= n) {
        this.firsts.pop();
        this.texts.pop();
      }
      const withComma = this.commas ? this.texts.filter((text) => text.includes(",")) : [];
      const pointed = this.texts.some((text) => text.includes("."));
      this.withCommas = withComma.length > 0 && !pointed && !withComma.every((text) => LIKE_THOUSANDS.test(text));
      if (this.withCommas) this.texts = this.texts.map((text) => text.replace(DECIMAL_COMMA, "$1.$2"));
      this.numbers = null;
    }

    get isTruth() {
      return this.texts.length > 0 && this.texts.every((text) => TRUTH.test(text));
    }

    // Whether a table of the file would hold numbers here, which 1 and 1.0 are the same in.
    get isNumeric() {
      return this.texts.length > 0 && this.texts.every((text) => NUMBER.test(text) && text[0] !== "+");
    }

    get mayBeThousands() {
      const points = this.texts.filter((text) => text.includes("."));
      return this.isNumeric && points.length && points.every((text) => THOUSANDS_BY_POINTS.test(text)) ? points[0] : null;
    }
  }

  // Raise if a column has decimal commas and another has 1.234, which may be more than a thousand.
  function refusePointsBetweenThousands(table, sinks) {
    if (!sinks.some(([, sink]) => sink.withCommas)) return;
    for (const [column, sink] of sinks) {
      const text = sink.mayBeThousands;
      if (text) throw new BadInput(`${table.name} has decimal commas, and ${shown(text)} in column ${shown(column)}: write thousands without a point`);
    }
  }

  return { open, read, refusePointsBetweenThousands, firstRecord, Numbers, Texts, BadInput, NULLS, SEPARATORS, shown, general, grouped };
})();

if (typeof module !== "undefined") module.exports = Delimited;
