// From values to canvases: originals as they are, what is compared in tones that follow the page's
// theme, differences and values of both signs in two colors, grids, arrows; signals as curves.

// look: whether pictures are shown as people know them, or as they are compared.
// alignment: how far pictures are aligned, among the members of a cluster and in a picture's view.
// deformation: how it is drawn: as lines, arrows or growth.
const state = {
  theme: null, inverted: false, look: DATA.originals ? "original" : "compared",
  alignment: { members: 0, picture: 1, alike: 1 }, deformation: "lines",
};

function isDark() {
  return state.theme ? state.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}
const showsOriginals = () => state.look === "original";

// Strokes are drawn as ink: dark on the light page, light on the dark one. Photographs are not.
function toneEnds() {
  const paper = isDark() ? [18, 20, 25] : [255, 255, 255];
  const ink = isDark() ? [245, 246, 248] : [20, 23, 31];
  if (DATA.tone.ink) return state.inverted ? [ink, paper] : [paper, ink];
  return state.inverted ? [[255, 255, 255], [0, 0, 0]] : [[0, 0, 0], [255, 255, 255]];
}

// What is above zero, below it, and zero.
const twoColors = () => (isDark()
  ? { more: [255, 138, 91], less: [90, 165, 255], none: [18, 20, 25] }
  : { more: [200, 65, 20], less: [25, 95, 200], none: [255, 255, 255] });

function newCanvas(className, label) {
  const canvas = document.createElement("canvas");
  canvas.className = `picture ${IS_SIGNAL ? "curve" : ""} ${className || ""}`;
  setSize(canvas, comparedSize());
  if (label) {
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", label);
  } else canvas.setAttribute("aria-hidden", "true");
  return canvas;
}

// A signal is drawn as a curve, with a fixed resolution.
const comparedSize = () => (IS_SIGNAL ? [80, 160] : [ROWS, COLUMNS]);
// Swapping dark and light is a filter on originals, and a choice of tones for what is compared.
function setSize(canvas, [height, width], isCompared = true) {
  canvas.classList.toggle("original", !isCompared);
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
  const longest = Math.max(width, height);
  canvas.classList.toggle("pixels", longest <= 64);
}

// -- originals ------------------------------------------------------------------------------------

// The box that originals are seen in: their own proportions if all have the same, else a square.
const FRAME_ASPECT = ROWS / COLUMNS;
const BOX_ASPECT = (() => {
  if (!ASPECTS) return FRAME_ASPECT;
  const low = ASPECTS.reduce((a, b) => Math.min(a, b)), high = ASPECTS.reduce((a, b) => Math.max(a, b));
  return high / low < 1.03 ? low : 1;
})();
const SEEN_ASPECT = BOX_ASPECT === 1 ? FRAME_ASPECT : BOX_ASPECT;

function boxSize(longest) {
  return BOX_ASPECT >= 1
    ? [Math.round(longest), Math.round(longest / BOX_ASPECT)]
    : [Math.round(longest * BOX_ASPECT), Math.round(longest)];
}
// The largest rectangle of height / width `aspect` in a canvas: x, y, width, height.
function rectangleIn({ width, height }, aspect) {
  const wide = Math.min(width, height / aspect), high = wide * aspect;
  return [(width - wide) / 2, (height - high) / 2, wide, high];
}
const LONGEST_CELL = ORIGINALS ? Math.max(ORIGINALS.rows, ORIGINALS.columns) : 0;
const TILE_SIDE = 112;

const scratch = document.createElement("canvas");
function drawImageData(context, image, rectangle) {
  scratch.width = image.width;
  scratch.height = image.height;
  scratch.getContext("2d", { willReadFrequently: true }).putImageData(image, 0, 0);
  context.drawImage(scratch, ...rectangle);
}

// The size at which a cell is warped for a canvas: no more pixels than are seen.
function carriedSize(longest) {
  const scale = Math.min(1, longest / LONGEST_CELL);
  return [Math.max(1, Math.round(ORIGINALS.rows * scale)),
    Math.max(1, Math.round(ORIGINALS.columns * scale))];
}

function paintOriginal(canvas, slot, t = 0, rank = 0, longest = LONGEST_CELL) {
  longest = Math.min(longest, LONGEST_CELL);
  setSize(canvas, boxSize(longest), false);
  const context = canvas.getContext("2d");
  context.clearRect(0, 0, canvas.width, canvas.height);
  const aspect = ASPECTS[slot] + t * (SEEN_ASPECT - ASPECTS[slot]);
  const rectangle = rectangleIn(canvas, aspect);
  if (t === 0) ORIGINALS.draw(context, slot, ...rectangle);
  else drawImageData(context, carriedOriginal(slot, rank, t, carriedSize(longest)), rectangle);
}

// A picture as it is looked at now, the share t of the way to its prototype of that rank.
function paintSlot(canvas, slot, t = 0, rank = 0, longest = LONGEST_CELL) {
  if (showsOriginals()) return paintOriginal(canvas, slot, t, rank, longest);
  setSize(canvas, comparedSize());
  return paintPicture(canvas, alignedValues(slot, t, rank));
}

// One cell of some sheets, in the proportions in which the frame is seen.
function paintCell(canvas, sheets, number) {
  const [height, width] = boxSizeOf(sheets);
  setSize(canvas, [height, width], false);
  sheets.draw(canvas.getContext("2d"), number, 0, 0, width, height);
}
function boxSizeOf({ rows, columns }) {
  const longest = Math.max(rows, columns);
  return SEEN_ASPECT >= 1
    ? [longest, Math.round(longest / SEEN_ASPECT)] : [Math.round(longest * SEEN_ASPECT), longest];
}

function paintPrototype(canvas, prototype) {
  if (showsOriginals() && hasPortrait(prototype)) return paintCell(canvas, PORTRAITS, prototype);
  setSize(canvas, comparedSize());
  return paintCentroid(canvas, PROTOTYPES[prototype]);
}
function paintBaseline(canvas, k) {
  if (showsOriginals() && UNALIGNED) return paintCell(canvas, UNALIGNED, k);
  setSize(canvas, comparedSize());
  return paintCentroid(canvas, BASELINE[k]);
}

// -- what is compared -----------------------------------------------------------------------------

// Values between low and high.
function paintValues(canvas, values, low, high) {
  if (IS_SIGNAL) return paintCurve(canvas, [values], low, high);
  const context = canvas.getContext("2d");
  const image = context.createImageData(COLUMNS, ROWS), data = image.data;
  const [from, to] = toneEnds(), span = high > low ? high - low : 1;
  for (let p = 0; p < PIXELS; p++) {
    for (let c = 0; c < 3; c++) {
      const v = Math.min(1, Math.max(0, (values[CHANNELS === 3 ? 3 * p + c : p] - low) / span));
      data[4 * p + c] = from[c] + v * (to[c] - from[c]);
    }
    data[4 * p + 3] = 255;
  }
  return context.putImageData(image, 0, 0);
}

function paintPicture(canvas, values) {
  const { low, high, is_signed: isSigned } = DATA.tone;
  if (isSigned && !IS_SIGNAL) return paintResidual(canvas, values, Math.max(high, -low));
  return paintValues(canvas, values, low, high);
}

// A centroid is drawn over its own range of values, a few outliers left out.
function paintCentroid(canvas, values) {
  const { low, high } = rangeOf(values);
  if (DATA.tone.is_signed && !IS_SIGNAL)
    return paintResidual(canvas, values, Math.max(high, -low));
  // least-squares centroids undershoot around strokes; the background stays the background
  return paintValues(canvas, values, DATA.tone.low < 0 || IS_SIGNAL ? low : Math.max(0, low), high);
}
function rangeOf(values) {
  const sorted = Float32Array.from(values).sort(), last = sorted.length - 1;
  const low = Math.min(0, sorted[Math.round(0.002 * last)]), high = sorted[Math.round(0.998 * last)];
  return { low, high: Math.max(high, low + 1e-9) };
}

// Differences, and values of both signs: one color above zero, another below, the page's for none.
function paintResidual(canvas, values, limit) {
  if (IS_SIGNAL) return paintCurve(canvas, [values], -limit, limit);
  const context = canvas.getContext("2d");
  const image = context.createImageData(COLUMNS, ROWS), data = image.data;
  const { more, less, none } = twoColors();
  for (let p = 0; p < PIXELS; p++) {
    let v = 0;
    for (let c = 0; c < CHANNELS; c++) v += values[p * CHANNELS + c] / CHANNELS;
    const strength = Math.min(1, Math.abs(v) / limit), color = v > 0 ? more : less;
    for (let c = 0; c < 3; c++) data[4 * p + c] = none[c] + strength * (color[c] - none[c]);
    data[4 * p + 3] = 255;
  }
  return context.putImageData(image, 0, 0);
}

function paintCurve(canvas, curves, low, high) {
  const context = canvas.getContext("2d"), { width, height } = canvas;
  const [from, to] = toneEnds().map((c) => `rgb(${c.join(",")})`);
  context.fillStyle = from;
  context.fillRect(0, 0, width, height);
  context.strokeStyle = to;
  context.lineWidth = 2;
  for (const curve of curves) {
    context.beginPath();
    for (let p = 0; p < COLUMNS; p++) {
      const y = height - 4 - ((curve[p * CHANNELS] - low) / (high - low || 1)) * (height - 8);
      context.lineTo((p / Math.max(1, COLUMNS - 1)) * width, y);
    }
    context.stroke();
  }
}

// -- deformations ---------------------------------------------------------------------------------

function svgNode(tag, attributes) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}
function stops(n, step) {
  const first = Math.floor(((n - 1) % step) / 2);
  const length = Math.floor((n - 1 - first) / step) + 1;
  return Array.from({ length }, (_, i) => first + i * step);
}

// An even grid, the share t of the way to `grid`, in the place of `crop`, as lines over a picture.
function drawLines(svg, grid, t, crop) {
  const step = Math.max(1, Math.round(Math.max(ROWS, COLUMNS) / 9));
  const at = (r, c) => {
    const p = r * COLUMNS + c;
    const y = r + t * (crop.y(grid[2 * p]) - r) + 0.5;
    const x = c + t * (crop.x(grid[2 * p + 1]) - c) + 0.5;
    return `${x.toFixed(2)},${y.toFixed(2)}`;
  };
  const line = (points) => svg.append(svgNode("polyline", { points: points.join(" ") }));
  for (const r of stops(ROWS, step)) line(Array.from({ length: COLUMNS }, (_, c) => at(r, c)));
  for (const c of stops(COLUMNS, step)) line(Array.from({ length: ROWS }, (_, r) => at(r, c)));
}

// From where points are in the centroid to where they are in the picture.
function drawArrows(svg, grid, t, crop) {
  const step = Math.max(1, Math.round(Math.max(ROWS, COLUMNS) / 11));
  const size = Math.max(ROWS, COLUMNS) / 40;
  for (const r of stops(ROWS, step)) {
    for (const c of stops(COLUMNS, step)) {
      const p = r * COLUMNS + c, y0 = r + 0.5, x0 = c + 0.5;
      const dy = t * (crop.y(grid[2 * p]) - r), dx = t * (crop.x(grid[2 * p + 1]) - c);
      const length = Math.hypot(dy, dx);
      if (length < 0.3) continue;
      const [uy, ux] = [dy / length, dx / length], [y1, x1] = [y0 + dy, x0 + dx];
      const head = Math.min(size, length / 2);
      const corner = (side) =>
        `${(x1 - head * (ux + side * uy)).toFixed(2)},${(y1 - head * (uy - side * ux)).toFixed(2)}`;
      const tip = `${x1.toFixed(2)},${y1.toFixed(2)}`;
      svg.append(svgNode("polyline", { points: `${x0},${y0} ${tip}` }),
        svgNode("polyline", { points: `${corner(1)} ${tip} ${corner(-1)}` }));
    }
  }
}

// Where the centroid had to grow (orange) and to shrink (blue): squares of half-transparent color.
function drawGrowth(svg, forward, t, crop) {
  const growth = growthOf(forward), { more, less } = twoColors();
  const step = Math.max(1, Math.round(Math.max(ROWS, COLUMNS) / 24));
  for (let r = 0; r < ROWS; r += step) {
    for (let c = 0; c < COLUMNS; c += step) {
      const value = t * growth[Math.min(ROWS - 1, r + (step >> 1)) * COLUMNS
        + Math.min(COLUMNS - 1, c + (step >> 1))];
      const color = value > 0 ? more : less;
      svg.append(svgNode("rect", {
        x: crop.x(c - 0.5) + 0.5, y: crop.y(r - 0.5) + 0.5,
        width: crop.scale * step, height: crop.scale * step, class: "growth",
        fill: `rgb(${color.join(",")})`, "fill-opacity": Math.min(0.7, Math.abs(value)).toFixed(3),
      }));
    }
  }
}

const DEFORMATIONS = {
  lines: ["as a bent grid", (svg, { lines }, t, crop) => drawLines(svg, lines, t, crop)],
  arrows: ["as arrows", (svg, { lines }, t, crop) => drawArrows(svg, lines, t, crop)],
  growth: ["where it grew (orange) and shrank (blue)",
    (svg, { forward }, t, crop) => drawGrowth(svg, forward, t, crop)],
  none: ["not at all", () => {}],
};
// `maps.lines` tells where points of the centroid go, `maps.forward` where pixels come from.
function drawDeformation(svg, maps, t, crop = UNCHANGED) {
  svg.replaceChildren();
  if (!IS_SIGNAL) DEFORMATIONS[state.deformation][1](svg, maps, t, crop);
}

// Ten colors that differ on a light and on a dark page; further hues follow by the golden angle.
const COLORS = [
  "#3b7dd8", "#ee8a1d", "#2f9e44", "#d6336c", "#c9a900",
  "#7048e8", "#14a3a3", "#a0522d", "#84b81e", "#7f8694",
];
const colorOf = (number) =>
  COLORS[number] ?? `hsl(${(137.5 * number) % 360} 60% ${number % 2 ? 45 : 62}%)`;
