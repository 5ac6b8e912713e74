"use strict";
// The data of the report: decoded once, with the functions by which the views read them.

const DATA = JSON.parse(document.getElementById("data").textContent);
const [ROWS, COLUMNS, CHANNELS] = DATA.shape;
const PIXELS = ROWS * COLUMNS;
const K = DATA.clusters.length;
const N = DATA.pictures.index.length;
const IS_SIGNAL = ROWS < 4;
const SAMPLED = N < DATA.total;
const ARRAYS = { f4: Float32Array, u2: Uint16Array };

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
const CENTROIDS = PROTOTYPES_OF.map(([first]) => PROTOTYPES[first]);
const BASELINE = DATA.baseline && decodePictures(DATA.baseline.centroids, K);
const CENTERS = decode(DATA.centers, "f4");
const COSTS = decode(DATA.pictures.costs, "f4");
const GAIN = decode(DATA.pictures.gain, "f4");
const POSITIONS = decode(DATA.map, "f4");
const WARP_LENGTH = CENTERS.length + 6;

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
const MEMBERS = Array.from({ length: K }, () => []);
for (let i = 0; i < N; i++) MEMBERS[LABELS[i]].push(i);
const SLOT_OF = new Map(DATA.pictures.index.map((index, slot) => [index, slot]));

// Pictures are numbered as in the image set; on the page they have slots 0 to N - 1.
const indexOf = (slot) => DATA.pictures.index[slot];
const nameOf = (slot) => DATA.pictures.names[slot];
const classOf = (slot) => (DATA.classes ? DATA.pictures.class[slot] : null);
const className = (c) => DATA.classes[c] ?? String(c);
const costTo = (slot, k) => COSTS[slot * K + k];
const marginOf = (slot) =>
  K > 1 ? CANDIDATES[1].cost[slot] - CANDIDATES[0].cost[slot] : Infinity;

// Costs are given in percent of the energy (squared norm) of an average picture.
const asPercent = (share, digits = 1) => `${(100 * share).toFixed(digits)}\u202f%`;
const percent = (cost, digits = 1) => asPercent(cost / DATA.energy, digits);
const signed = (cost) => `${cost < 0 ? "−" : "+"}${percent(Math.abs(cost))}`;
const count = (n) => n.toLocaleString("en");
const plural = (n, word) => `${count(n)} ${word}${n === 1 ? "" : "s"}`;

// The column of a cluster in the confusion matrix, if the cluster is matched with a class.
function matchedColumn(k) {
  const column = DATA.agreement ? DATA.agreement.clusters.indexOf(k) : -1;
  return column >= 0 && column < DATA.agreement.matched ? column : null;
}
function matchedClass(k) {
  const column = matchedColumn(k);
  return column === null ? null : DATA.agreement.classes[column];
}
function purity(k) {
  const column = matchedColumn(k), counts = DATA.agreement.counts.map((row) => row[column]);
  return counts[column] / counts.reduce((a, b) => a + b, 0);
}

// -- pixels ---------------------------------------------------------------------------------------

const SHEETS = [];
async function loadSheets() {
  let first = 0;
  for (const sheet of DATA.sheets) {
    const image = new Image();
    image.src = `data:image/png;base64,${sheet.png}`;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = image.naturalWidth;
    canvas.height = image.naturalHeight;
    const context = canvas.getContext("2d", { willReadFrequently: true });
    context.drawImage(image, 0, 0);
    SHEETS.push({ first, across: sheet.across, count: sheet.count, context });
    first += sheet.count;
    sheet.png = "";
  }
}

const valueCache = new Map();
// The values of a picture before alignment: (pixels x channels) floats.
function valuesOf(slot) {
  let values = valueCache.get(slot);
  if (values) return values;
  const sheet = SHEETS.find((s) => slot < s.first + s.count);
  const cell = slot - sheet.first;
  const x = (cell % sheet.across) * COLUMNS, y = Math.floor(cell / sheet.across) * ROWS;
  const bytes = sheet.context.getImageData(x, y, COLUMNS, ROWS).data;
  const { low, high } = DATA.tone;
  values = new Float32Array(PIXELS * CHANNELS);
  for (let p = 0; p < PIXELS; p++)
    for (let c = 0; c < CHANNELS; c++)
      values[p * CHANNELS + c] = low + (bytes[4 * p + c] * (high - low)) / 255;
  valueCache.set(slot, values);
  return values;
}
