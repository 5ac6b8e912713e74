// From values to canvases: tones that follow the page's theme, residuals, grids; signals as curves.

// alignment: how far pictures are aligned, among the members of a cluster and in a picture's view
const state = { theme: null, inverted: false, alignment: { members: 0, picture: 1 } };

function isDark() {
  return state.theme ? state.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

// Strokes are drawn as ink: dark on the light page, light on the dark one. Photographs are not.
function toneEnds() {
  const paper = isDark() ? [18, 20, 25] : [255, 255, 255];
  const ink = isDark() ? [245, 246, 248] : [20, 23, 31];
  if (DATA.tone.ink) return state.inverted ? [ink, paper] : [paper, ink];
  return state.inverted ? [[255, 255, 255], [0, 0, 0]] : [[0, 0, 0], [255, 255, 255]];
}

function newCanvas(className, label) {
  const canvas = document.createElement("canvas");
  // a signal is drawn as a curve, with a fixed resolution
  canvas.width = IS_SIGNAL ? 160 : COLUMNS;
  canvas.height = IS_SIGNAL ? 80 : ROWS;
  canvas.className = `picture ${IS_SIGNAL ? "curve" : ""} ${className || ""}`;
  if (label) {
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", label);
  } else canvas.setAttribute("aria-hidden", "true");
  return canvas;
}

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
  context.putImageData(image, 0, 0);
}

const paintPicture = (canvas, values) =>
  paintValues(canvas, values, DATA.tone.low, DATA.tone.high);

// A centroid is drawn over its own range of values: its scale is that of preprocessed pictures.
function paintCentroid(canvas, values) {
  let low = Math.min(0, DATA.tone.low), high = 1e-9;
  for (const v of values) { if (v < low) low = v; if (v > high) high = v; }
  // least-squares centroids undershoot around strokes; the background stays the background
  paintValues(canvas, values, DATA.tone.low < 0 || IS_SIGNAL ? low : 0, high);
}

// Differences: one color for too much, another for too little, that of the page for none.
function paintResidual(canvas, values, limit) {
  if (IS_SIGNAL) return paintCurve(canvas, [values], -limit, limit);
  const context = canvas.getContext("2d");
  const image = context.createImageData(COLUMNS, ROWS), data = image.data;
  const none = isDark() ? [18, 20, 25] : [255, 255, 255];
  const more = isDark() ? [255, 138, 91] : [200, 65, 20];
  const less = isDark() ? [90, 165, 255] : [25, 95, 200];
  for (let p = 0; p < PIXELS; p++) {
    let v = 0;
    for (let c = 0; c < CHANNELS; c++) v += values[p * CHANNELS + c] / CHANNELS;
    const strength = Math.min(1, Math.abs(v) / limit), color = v > 0 ? more : less;
    for (let c = 0; c < 3; c++) data[4 * p + c] = none[c] + strength * (color[c] - none[c]);
    data[4 * p + 3] = 255;
  }
  context.putImageData(image, 0, 0);
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

// The deformed grid as lines over a picture: an even grid, the share t of the way to `grid`.
function drawGrid(svg, grid, t) {
  svg.replaceChildren();
  if (IS_SIGNAL) return;
  const step = Math.max(1, Math.round(Math.max(ROWS, COLUMNS) / 9));
  const at = (r, c) => {
    const p = r * COLUMNS + c;
    const y = r + t * (grid[2 * p] - r) + 0.5, x = c + t * (grid[2 * p + 1] - c) + 0.5;
    return `${x.toFixed(2)},${y.toFixed(2)}`;
  };
  const line = (points) => {
    const path = document.createElementNS("http://www.w3.org/2000/svg", "polyline");
    path.setAttribute("points", points.join(" "));
    svg.append(path);
  };
  const stops = (n) => {
    const first = Math.floor(((n - 1) % step) / 2);
    const length = Math.floor((n - 1 - first) / step) + 1;
    return Array.from({ length }, (_, i) => first + i * step);
  };
  for (const r of stops(ROWS)) line(Array.from({ length: COLUMNS }, (_, c) => at(r, c)));
  for (const c of stops(COLUMNS)) line(Array.from({ length: ROWS }, (_, r) => at(r, c)));
}

// Ten colors that differ on a light and on a dark page; further hues follow by the golden angle.
const COLORS = [
  "#3b7dd8", "#ee8a1d", "#2f9e44", "#d6336c", "#c9a900",
  "#7048e8", "#14a3a3", "#a0522d", "#84b81e", "#7f8694",
];
const colorOf = (number) =>
  COLORS[number] ?? `hsl(${(137.5 * number) % 360} 60% ${number % 2 ? 45 : 62}%)`;
