"use strict";
// The data of the report: decoded once, and the questions the views ask of them.

const DATA = JSON.parse(document.getElementById("data").textContent);
const [ROWS, COLUMNS, CHANNELS] = DATA.shape;
const PIXELS = ROWS * COLUMNS;
const K = DATA.clusters.length;
const N = DATA.pictures.index.length;
const IS_SIGNAL = ROWS < 4;
const SAMPLED = N < DATA.total;
const ARRAYS = { f4: Float32Array, u2: Uint16Array };

function decode(text, kind) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  return new ARRAYS[kind](bytes.buffer);
}

function decodeCentroids(packed, length) {
  const step = (packed.high - packed.low) / 65535;
  const all = Float32Array.from(decode(packed.values, "u2"), (v) => packed.low + v * step);
  return Array.from({ length }, (_, k) => all.subarray(k * PIXELS * CHANNELS, (k + 1) * PIXELS * CHANNELS));
}

// A cluster has one picture or several, its forms; the first, which most members have, is its centroid.
const FORMS = decodeCentroids(DATA.forms.pictures, DATA.forms.cluster.length);
const FORMS_OF = Array.from({ length: K }, () => []);
DATA.forms.cluster.forEach((k, form) => FORMS_OF[k].push(form));
const CENTROIDS = FORMS_OF.map(([first]) => FORMS[first]);
const BASELINE = DATA.baseline && decodeCentroids(DATA.baseline.centroids, K);
const CENTRES = decode(DATA.centres, "f4");
const COSTS = decode(DATA.pictures.costs, "f4");
const GAIN = decode(DATA.pictures.gain, "f4");
const MAPS = DATA.maps.map((panel) => ({ ...panel, xy: decode(panel.xy, "f4") }));
const WARP_LENGTH = CENTRES.length + 6;

// CANDIDATES[rank]: every picture with its own cluster (rank 0), the next best one (1), and so on.
const CANDIDATES = DATA.candidates.map((packed) => ({
  cluster: decode(packed.cluster, "u2"),
  form: decode(packed.form, "u2"),
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
const marginOf = (slot) => (K > 1 ? CANDIDATES[1].cost[slot] - CANDIDATES[0].cost[slot] : Infinity);
// Costs are told in per cent of the energy of an average picture.
const percent = (cost, digits = 1) => `${((100 * cost) / DATA.energy).toFixed(digits)}\u202f%`;
const signed = (cost) => `${cost < 0 ? "−" : "+"}${percent(Math.abs(cost))}`;
const count = (n) => n.toLocaleString("en");
const plural = (n, word) => `${count(n)} ${word}${n === 1 ? "" : "s"}`;

// The class that most members of a cluster have, by the matching over all pictures.
function matchedClass(k) {
  const found = DATA.agreement;
  if (!found) return null;
  const column = found.clusters.indexOf(k);
  return column >= 0 && column < found.matched ? found.classes[column] : null;
}
function purity(k) {
  const column = DATA.agreement.clusters.indexOf(k);
  if (column < 0 || column >= DATA.agreement.matched) return null;
  const counts = DATA.agreement.counts.map((row) => row[column]);
  return counts[column] / counts.reduce((a, b) => a + b, 0);
}

// -- pixels ------------------------------------------------------------------------------------------

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
// The values of a picture as it is: (pixels x channels) floats.
function valuesOf(slot) {
  let values = valueCache.get(slot);
  if (values) return values;
  const sheet = SHEETS.find((s) => slot < s.first + s.count);
  const place = slot - sheet.first;
  const x = (place % sheet.across) * COLUMNS, y = Math.floor(place / sheet.across) * ROWS;
  const bytes = sheet.context.getImageData(x, y, COLUMNS, ROWS).data;
  const { low, high } = DATA.tone;
  values = new Float32Array(PIXELS * CHANNELS);
  for (let p = 0; p < PIXELS; p++)
    for (let c = 0; c < CHANNELS; c++) values[p * CHANNELS + c] = low + (bytes[4 * p + c] * (high - low)) / 255;
  valueCache.set(slot, values);
  return values;
}
