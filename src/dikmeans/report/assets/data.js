// The data of the report: decoded once, with the functions by which the views read them.
//
// Views know nothing of where data come from: numbers are in the element "data", sheets of pictures
// have addresses. A server may give `sheet.address` in place of the bytes that a file embeds.

const DATA = JSON.parse(document.getElementById("data").textContent);
const [ROWS, COLUMNS, CHANNELS] = DATA.shape;
const PIXELS = ROWS * COLUMNS;
const K = DATA.clusters.length;
const N = DATA.pictures.index.length;
const IS_SIGNAL = ROWS < 4;
const SAMPLED = N < DATA.total;
const ARRAYS = { f4: Float32Array, u2: Uint16Array, i2: Int16Array };

function decode(text, type) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  return new ARRAYS[type](bytes.buffer);
}

function decodePictures(packed, length) {
  const step = (packed.high - packed.low) / 65535, size = PIXELS * CHANNELS;
  const all = Float32Array.from(decode(packed.values, "u2"), (v) => packed.low + v * step);
  return Array.from({ length }, (_, i) => all.subarray(i * size, (i + 1) * size));
}

// A cluster has one prototype or several; the first, which most members have, is its centroid.
const PROTOTYPES = decodePictures(DATA.prototypes.pictures, DATA.prototypes.cluster.length);
const PROTOTYPES_OF = Array.from({ length: K }, () => []);
DATA.prototypes.cluster.forEach((k, prototype) => PROTOTYPES_OF[k].push(prototype));
const BASELINE = DATA.baseline && decodePictures(DATA.baseline.centroids, K);
const CENTERS = decode(DATA.centers, "f4");
const COSTS = decode(DATA.pictures.costs, "f4");
const GAIN = decode(DATA.pictures.gain, "f4");
const POSITIONS = decode(DATA.map, "f4");
const WARP_LENGTH = CENTERS.length + 6 + 4;

// CANDIDATES[rank]: every picture with its own cluster (rank 0), the next-best one (1), and so on.
const CANDIDATES = DATA.candidates.map((packed) => ({
  cluster: decode(packed.cluster, "u2"),
  prototype: decode(packed.prototype, "u2"),
  cost: decode(packed.cost, "f4"),
  bending: decode(packed.bending, "f4"),
  folded: decode(packed.folded, "f4"),
  warp: decode(packed.warp, "f4"),
}));
const LABELS = CANDIDATES[0].cluster;
// Pictures that belong to no cluster; LABELS then is the one that they are nearest to.
const OUTLIERS = DATA.pictures.outlier;
const outlierSlots = new Set(OUTLIERS);
const isOutlier = (slot) => outlierSlots.has(slot);
const MEMBERS = Array.from({ length: K }, () => []);
for (let i = 0; i < N; i++) if (!isOutlier(i)) MEMBERS[LABELS[i]].push(i);
const SLOT_OF = new Map(DATA.pictures.index.map((index, slot) => [index, slot]));

// Pictures are numbered as in the image set; on the page they have slots 0 to N - 1.
const indexOf = (slot) => DATA.pictures.index[slot];
const nameOf = (slot) => DATA.pictures.names[slot];
const classOf = (slot) => (DATA.classes ? DATA.pictures.class[slot] : null);
const className = (c) => DATA.classes[c] ?? String(c);
const costTo = (slot, k) => COSTS[slot * K + k];
const marginOf = (slot) =>
  K > 1 ? CANDIDATES[1].cost[slot] - CANDIDATES[0].cost[slot] : Infinity;
const ALL_SLOTS = Array.from({ length: N }, (_, slot) => slot);
const INSIDE = ALL_SLOTS.filter((slot) => !isOutlier(slot));
const KIND = DATA.kind; // what the files are: "picture" or "sound"
const LABEL_WORD = DATA.labelWord;
const LABEL_WORDS = `${LABEL_WORD}s`;

// Costs are given in percent of what an empty picture in place of the centroid would cost.
const percent = (cost, digits = 1) => asPercent(cost / DATA.energy, digits);
const signed = (cost) => `${cost < 0 ? "−" : "+"}${percent(Math.abs(cost))}`;

// The label that most members of a cluster have, and their share: {label, share}, or null.
function majorityOf(k) {
  const column = DATA.agreement ? DATA.agreement.clusters.indexOf(k) : -1;
  if (column < 0) return null;
  const counts = DATA.agreement.counts.map((row) => row[column]);
  const most = counts.reduce((best, n, row) => (n > counts[best] ? row : best), 0);
  const total = counts.reduce((a, b) => a + b, 0);
  return total ? { label: DATA.agreement.classes[most], share: counts[most] / total } : null;
}
const MAJORITIES = DATA.clusters.map((_, k) => majorityOf(k));

// -- all pictures, also those that the page does not show -----------------------------------------

// One row per picture: file, cluster, prototype within it, cost, margin, slot (or undefined).
function listAll() {
  const number = (prototype) =>
    PROTOTYPES_OF[DATA.prototypes.cluster[prototype]].indexOf(prototype);
  const margins = decode(DATA.pictures.margins, "f4");
  const { listing } = DATA;
  if (!listing)
    return ALL_SLOTS.map((slot) => ({
      file: nameOf(slot), cluster: isOutlier(slot) ? -1 : LABELS[slot],
      prototype: number(CANDIDATES[0].prototype[slot]),
      cost: CANDIDATES[0].cost[slot], margin: margins[slot], slot,
    }));
  const clusters = decode(listing.cluster, "i2"), prototypes = decode(listing.prototype, "u2");
  const costs = decode(listing.cost, "f4"), allMargins = decode(listing.margin, "f4");
  return listing.names.map((file, index) => ({
    file, cluster: clusters[index], prototype: number(prototypes[index]), cost: costs[index],
    margin: allMargins[index], slot: SLOT_OF.get(index),
  }));
}
let allRows = null;
const everyRow = () => (allRows ??= listAll());

const csvCell = (text) => `"${String(text).replace(/"/g, '""')}"`;
function asTable(rows) {
  const digits = (value) => (Number.isFinite(value) ? value.toPrecision(6) : "");
  const line = (row) => [
    csvCell(row.file), row.cluster, row.prototype, digits(row.cost), digits(row.margin),
    ...(DATA.classes
      ? [row.slot === undefined ? "" : csvCell(className(classOf(row.slot)))] : []),
  ].join(",");
  const header = `file,cluster,prototype,cost,margin${DATA.classes ? `,${LABEL_WORD}` : ""}`;
  return [header, ...rows.map(line), ""].join("\r\n");
}
const rowsOf = (slots) => {
  const chosen = new Map(everyRow().map((row) => [row.slot, row]));
  return slots.map((slot) => chosen.get(slot));
};

// -- sheets of pictures ---------------------------------------------------------------------------

const addressOf = (sheet) => sheet.address ?? `data:${sheet.type};base64,${sheet.data}`;

// Pictures in sheets, all cells of one size.
class Sheets {
  constructor(packed, [rows, columns]) {
    this.packed = packed;
    this.rows = rows;
    this.columns = columns;
    this.sheets = [];
    this.cache = new Map();
  }

  async load() {
    let first = 0;
    for (const sheet of this.packed) {
      const image = new Image();
      image.src = addressOf(sheet);
      await image.decode();
      const canvas = document.createElement("canvas");
      canvas.width = image.naturalWidth;
      canvas.height = image.naturalHeight;
      const context = canvas.getContext("2d", { willReadFrequently: true });
      context.drawImage(image, 0, 0);
      this.sheets.push({ first, across: sheet.across, count: sheet.count, canvas, context });
      first += sheet.count;
      sheet.data = "";
    }
  }

  locate(number) {
    const sheet = this.sheets.find((s) => number < s.first + s.count);
    const cell = number - sheet.first;
    const x = (cell % sheet.across) * this.columns;
    return { sheet, x, y: Math.floor(cell / sheet.across) * this.rows };
  }

  // Draw a cell into a rectangle of a context.
  draw(context, number, x, y, width, height) {
    const place = this.locate(number);
    context.drawImage(
      place.sheet.canvas, place.x, place.y, this.columns, this.rows, x, y, width, height);
  }

  // The bytes (red, green, blue, opacity) of a cell.
  pixels(number) {
    let bytes = this.cache.get(number);
    if (!bytes) {
      const { sheet, x, y } = this.locate(number);
      bytes = sheet.context.getImageData(x, y, this.columns, this.rows).data;
      if (this.cache.size > 500) this.cache.delete(this.cache.keys().next().value);
      this.cache.set(number, bytes);
    }
    return bytes;
  }
}

const COMPARED = new Sheets(DATA.sheets, [ROWS, COLUMNS]);
const ORIGINALS = DATA.originals && new Sheets(DATA.originals.sheets, DATA.originals.cell);
const PORTRAIT = DATA.originals?.portrait;
const PORTRAITS = PORTRAIT && new Sheets(PORTRAIT.sheets, PORTRAIT.cell);
const SPREADS = PORTRAIT && new Sheets(PORTRAIT.spreads, PORTRAIT.cell);
const UNALIGNED =
  DATA.originals?.unaligned && new Sheets(DATA.originals.unaligned, DATA.originals.cell);
const ASPECTS = DATA.originals && decode(DATA.originals.aspect, "f4");
const CROPS = DATA.originals && decode(DATA.originals.crop, "f4");
const hasPortrait = (prototype) => PORTRAIT && PORTRAIT.kinds[prototype] !== "none";

async function loadSheets() {
  const all = [COMPARED, ORIGINALS, PORTRAITS, SPREADS, UNALIGNED];
  for (const sheets of all) if (sheets) await sheets.load();
}

const valueCache = new Map();
// The values of a picture as it was compared, before alignment: (pixels x channels) floats.
function valuesOf(slot) {
  let values = valueCache.get(slot);
  if (values) return values;
  const bytes = COMPARED.pixels(slot), { low, high } = DATA.tone;
  values = new Float32Array(PIXELS * CHANNELS);
  for (let p = 0; p < PIXELS; p++)
    for (let c = 0; c < CHANNELS; c++)
      values[p * CHANNELS + c] = low + (bytes[4 * p + c] * (high - low)) / 255;
  valueCache.set(slot, values);
  return values;
}

// -- sounds ---------------------------------------------------------------------------------------

const hasSound = (slot) => String(slot) in DATA.sounds;
let playing = null;
function playSound(slot) {
  playing?.pause();
  playing = new Audio(addressOf(DATA.sounds[slot]));
  playing.play();
}
