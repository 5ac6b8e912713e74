// Warps: the formulas of dikmeans.registration.warps and .inverse, for one picture at a time.
//
// A map is F(T p) with a matrix T, the identity unless pictures may be turned, and the warp
// F(p) = sum_j U(|p - s_j|) w_j + (1, p) a with U(r) = r^2 log r^2. Points are
// (row, column) in a frame whose unit is half of the picture's longer side. Grids hold
// (row, column) in pixels for each pixel.

const [SCALE_Y, SCALE_X] = DATA.frame.scale;
const [OFFSET_Y, OFFSET_X] = DATA.frame.offset;
const N_CENTERS = CENTERS.length / 2;
const point = new Float64Array(6); // value (2) and derivative (4) of the warp evaluated last

const IDENTITY = new Float32Array(2 * PIXELS);
for (let p = 0; p < PIXELS; p++) {
  IDENTITY[2 * p] = Math.floor(p / COLUMNS);
  IDENTITY[2 * p + 1] = p % COLUMNS;
}

const warpOf = (rank, slot) =>
  CANDIDATES[rank].warp.subarray(slot * WARP_LENGTH, (slot + 1) * WARP_LENGTH);
const toFrameY = (row) => (SCALE_Y > 0 ? (row - OFFSET_Y) / SCALE_Y : 0);
const toFrameX = (column) => (SCALE_X > 0 ? (column - OFFSET_X) / SCALE_X : 0);

function evaluateWarp(warp, row, column) {
  const a = 2 * N_CENTERS, t = a + 6;
  const y = warp[t] * row + warp[t + 1] * column, x = warp[t + 2] * row + warp[t + 3] * column;
  let fy = warp[a] + warp[a + 2] * y + warp[a + 4] * x;
  let fx = warp[a + 1] + warp[a + 3] * y + warp[a + 5] * x;
  let yy = warp[a + 2], yx = warp[a + 4], xy = warp[a + 3], xx = warp[a + 5];
  for (let j = 0; j < N_CENTERS; j++) {
    const dy = y - CENTERS[2 * j], dx = x - CENTERS[2 * j + 1];
    const squared = dy * dy + dx * dx;
    if (squared === 0) continue;
    const log = Math.log(squared), wy = warp[2 * j], wx = warp[2 * j + 1];
    fy += wy * squared * log;
    fx += wx * squared * log;
    yy += 2 * wy * dy * (log + 1);
    yx += 2 * wy * dx * (log + 1);
    xy += 2 * wx * dy * (log + 1);
    xx += 2 * wx * dx * (log + 1);
  }
  point[0] = fy; point[1] = fx;
  point[2] = yy * warp[t] + yx * warp[t + 2]; point[3] = yy * warp[t + 1] + yx * warp[t + 3];
  point[4] = xy * warp[t] + xx * warp[t + 2]; point[5] = xy * warp[t + 1] + xx * warp[t + 3];
}

// Where each pixel of the warped picture takes its value from.
function forwardGrid(warp) {
  const grid = new Float32Array(2 * PIXELS);
  for (let p = 0; p < PIXELS; p++) {
    evaluateWarp(warp, toFrameY(IDENTITY[2 * p]), toFrameX(IDENTITY[2 * p + 1]));
    grid[2 * p] = SCALE_Y > 0 ? point[0] * SCALE_Y + OFFSET_Y : IDENTITY[2 * p];
    grid[2 * p + 1] = SCALE_X > 0 ? point[1] * SCALE_X + OFFSET_X : IDENTITY[2 * p + 1];
  }
  return grid;
}

// The point that the warp maps to (gy, gx), by Newton's method from (y, x); damped where the
// residual would grow.
function invertAt(warp, gy, gx, y, x, out) {
  evaluateWarp(warp, y, x);
  let ry = point[0] - gy, rx = point[1] - gx, best = ry * ry + rx * rx;
  for (let step = 0; step < 20 && best > 1e-10; step++) {
    const [, , yy, yx, xy, xx] = point;
    const a = yy * yy + xy * xy, b = yy * yx + xy * xx, c = yx * yx + xx * xx;
    const sy = yy * ry + xy * rx, sx = yx * ry + xx * rx;
    let better = false, damping = 0;
    for (let trial = 0; trial < 6 && !better; trial++) {
      const determinant = (a + damping) * (c + damping) - b * b;
      if (determinant > 0) {
        const ny = y - ((c + damping) * sy - b * sx) / determinant;
        const nx = x - ((a + damping) * sx - b * sy) / determinant;
        evaluateWarp(warp, ny, nx);
        const ey = point[0] - gy, ex = point[1] - gx, miss = ey * ey + ex * ex;
        if (miss < best) {
          y = ny; x = nx; ry = ey; rx = ex; best = miss; better = true;
        }
      }
      damping = Math.max(10 * damping, 1e-3 * (a + c));
    }
    if (!better) break;
  }
  out[0] = y;
  out[1] = x;
}

// Where the affine part of a warp alone comes from: a start that is good for turned pictures too.
function invertAffine(warp, gy, gx) {
  const a = 2 * N_CENTERS, ry = gy - warp[a], rx = gx - warp[a + 1];
  const yy = warp[a + 2], yx = warp[a + 4], xy = warp[a + 3], xx = warp[a + 5];
  const determinant = yy * xx - yx * xy;
  if (Math.abs(determinant) < 1e-3) return [gy, gx];
  const y = (xx * ry - yx * rx) / determinant, x = (yy * rx - xy * ry) / determinant;
  const t = a + 6; // the inverse of a turn is its transpose
  return [warp[t] * y + warp[t + 2] * x, warp[t + 1] * y + warp[t + 3] * x];
}

// The inverse, exact at knots (all pixels of a small picture), linear between them. Each knot
// starts from the solution of its neighbor.
const KNOT_STEP = Math.max(1, Math.ceil(Math.max(ROWS, COLUMNS) / 48));
function inverseGrid(warp) {
  const knotRows = Math.ceil((ROWS - 1) / KNOT_STEP) + 1;
  const knotColumns = Math.ceil((COLUMNS - 1) / KNOT_STEP) + 1;
  const knots = new Float32Array(2 * knotRows * knotColumns);
  const solution = [0, 0], rowStart = [0, 0];
  for (let r = 0; r < knotRows; r++) {
    for (let c = 0; c < knotColumns; c++) {
      const gy = toFrameY(r * KNOT_STEP), gx = toFrameX(c * KNOT_STEP);
      if (c === 0) [solution[0], solution[1]] = r === 0 ? invertAffine(warp, gy, gx) : rowStart;
      invertAt(warp, gy, gx, solution[0], solution[1], solution);
      if (c === 0) [rowStart[0], rowStart[1]] = solution;
      const k = 2 * (r * knotColumns + c);
      knots[k] = SCALE_Y > 0 ? solution[0] * SCALE_Y + OFFSET_Y : r * KNOT_STEP;
      knots[k + 1] = SCALE_X > 0 ? solution[1] * SCALE_X + OFFSET_X : c * KNOT_STEP;
    }
  }
  if (KNOT_STEP === 1) return knots;
  const grid = new Float32Array(2 * PIXELS);
  for (let p = 0; p < PIXELS; p++) {
    const y = IDENTITY[2 * p] / KNOT_STEP, x = IDENTITY[2 * p + 1] / KNOT_STEP;
    const r = Math.min(Math.floor(y), Math.max(0, knotRows - 2));
    const c = Math.min(Math.floor(x), Math.max(0, knotColumns - 2));
    const down = knotRows > 1 ? 2 * knotColumns : 0, right = knotColumns > 1 ? 2 : 0;
    const k = 2 * (r * knotColumns + c), fy = y - r, fx = x - c;
    for (let axis = 0; axis < 2; axis++) {
      const top = knots[k + axis] * (1 - fx) + knots[k + right + axis] * fx;
      const low = knots[k + down + axis] * (1 - fx) + knots[k + down + right + axis] * fx;
      grid[2 * p + axis] = top * (1 - fy) + low * fy;
    }
  }
  return grid;
}

// Where the pixels of the picture in the frame of its prototype come from; cached for the slider.
const alignedCache = new Map();
const hasAlignedGrid = (rank, slot) => alignedCache.has(rank * N + slot);
function alignedGrid(rank, slot) {
  const key = rank * N + slot;
  let grid = alignedCache.get(key);
  if (!grid) {
    const warp = warpOf(rank, slot);
    grid = DATA.direction === "image-to-centroid" ? forwardGrid(warp) : inverseGrid(warp);
    alignedCache.set(key, grid);
  }
  return grid;
}

// A picture sampled at the share t of the way to a grid: t = 0 leaves it as it is, 1 warps it.
function resample(values, grid, t, out) {
  const edge = DATA.border === "edge";
  out = out || new Float32Array(PIXELS * CHANNELS);
  for (let p = 0; p < PIXELS; p++) {
    let y = IDENTITY[2 * p] + t * (grid[2 * p] - IDENTITY[2 * p]);
    let x = IDENTITY[2 * p + 1] + t * (grid[2 * p + 1] - IDENTITY[2 * p + 1]);
    y = y < -1 ? -1 : y > ROWS ? ROWS : y;
    x = x < -1 ? -1 : x > COLUMNS ? COLUMNS : x;
    const r = Math.floor(y), c = Math.floor(x), fy = y - r, fx = x - c;
    for (let channel = 0; channel < CHANNELS; channel++) {
      let sum = 0;
      for (let i = 0; i < 2; i++) {
        for (let j = 0; j < 2; j++) {
          const weight = (i ? fy : 1 - fy) * (j ? fx : 1 - fx);
          if (weight === 0) continue;
          let rr = r + i, cc = c + j;
          if (edge) {
            rr = Math.min(ROWS - 1, Math.max(0, rr));
            cc = Math.min(COLUMNS - 1, Math.max(0, cc));
          } else if (rr < 0 || cc < 0 || rr >= ROWS || cc >= COLUMNS) continue;
          sum += weight * values[(rr * COLUMNS + cc) * CHANNELS + channel];
        }
      }
      out[p * CHANNELS + channel] = sum;
    }
  }
  return out;
}

const alignedValues = (slot, t, rank = 0) =>
  t === 0 ? valuesOf(slot) : resample(valuesOf(slot), alignedGrid(rank, slot), t);

// -- originals and portraits, in their own resolution ---------------------------------------------

// Bytes of a cell of `sheets` read along a grid, as a canvas of (height, width).
//
// The grid leads from pixels of the frame to pixels of the frame of the cell; `before` is the crop
// through which it is read, `after` the one through which it leads on; t is the share of the way.
function carried(sheets, number, grid, t, [height, width], before, after) {
  const source = sheets.pixels(number), { rows, columns } = sheets;
  const image = new ImageData(width, height), out = image.data;
  const lastRow = ROWS - 1, lastColumn = COLUMNS - 1;
  for (let r = 0; r < height; r++) {
    const y = ((r + 0.5) / height) * ROWS - 0.5;
    const beforeY = before.y(y), gy = Math.min(lastRow, Math.max(0, beforeY));
    const top = Math.min(Math.floor(gy), Math.max(0, lastRow - 1)), fy = gy - top;
    const below = top < lastRow ? COLUMNS : 0;
    for (let c = 0; c < width; c++) {
      const x = ((c + 0.5) / width) * COLUMNS - 0.5;
      const beforeX = before.x(x), gx = Math.min(lastColumn, Math.max(0, beforeX));
      const left = Math.min(Math.floor(gx), Math.max(0, lastColumn - 1)), fx = gx - left;
      const right = left < lastColumn ? 1 : 0, k = top * COLUMNS + left;
      const a = 2 * k, b = 2 * (k + right), d = 2 * (k + below), e = 2 * (k + below + right);
      const wa = (1 - fy) * (1 - fx), wb = (1 - fy) * fx, wd = fy * (1 - fx), we = fy * fx;
      // beyond the middle of the edge pixels the map goes on as it is there
      const toY = wa * grid[a] + wb * grid[b] + wd * grid[d] + we * grid[e] + beforeY - gy;
      const toX = wa * grid[a + 1] + wb * grid[b + 1] + wd * grid[d + 1] + we * grid[e + 1]
        + beforeX - gx;
      let py = ((y + t * (after.y(toY) - y) + 0.5) / ROWS) * rows - 0.5;
      let px = ((x + t * (after.x(toX) - x) + 0.5) / COLUMNS) * columns - 0.5;
      py = py < 0 ? 0 : py > rows - 1 ? rows - 1 : py;
      px = px < 0 ? 0 : px > columns - 1 ? columns - 1 : px;
      const r0 = Math.floor(py), c0 = Math.floor(px), v = py - r0, u = px - c0;
      const r1 = r0 < rows - 1 ? r0 + 1 : r0, c1 = c0 < columns - 1 ? c0 + 1 : c0;
      const p00 = 4 * (r0 * columns + c0), p01 = 4 * (r0 * columns + c1);
      const p10 = 4 * (r1 * columns + c0), p11 = 4 * (r1 * columns + c1);
      const w00 = (1 - v) * (1 - u), w01 = (1 - v) * u, w10 = v * (1 - u), w11 = v * u;
      const o = 4 * (r * width + c);
      for (let i = 0; i < 3; i++)
        out[o + i] = w00 * source[p00 + i] + w01 * source[p01 + i]
          + w10 * source[p10 + i] + w11 * source[p11 + i];
      out[o + 3] = 255;
    }
  }
  return image;
}

// The part of a given picture that the preprocessed one shows: from pixels of this to pixels of that.
class Crop {
  constructor(scale, row, column) {
    Object.assign(this, { scale, row, column });
  }
  y(y) { return this.scale * y + this.row; }
  x(x) { return this.scale * x + this.column; }
  inverse() { return new Crop(1 / this.scale, -this.row / this.scale, -this.column / this.scale); }
}
const UNCHANGED = new Crop(1, 0, 0);
const cropOf = (slot) => new Crop(...CROPS.subarray(3 * slot, 3 * slot + 3));

// The original of a picture, the share t of the way into the frame of its prototype of that rank.
const carriedOriginal = (slot, rank, t, size) =>
  carried(ORIGINALS, slot, alignedGrid(rank, slot), t, size, UNCHANGED, cropOf(slot));

// The portrait of a prototype, the share t of the way onto a picture in its own place.
const carriedPortrait = (prototype, grid, t, size, crop = UNCHANGED) =>
  carried(PORTRAITS, prototype, grid, t, size, crop.inverse(), UNCHANGED);

// How much the neighborhood of each pixel has grown where a grid reads it: log2, per pixel.
function growthOf(grid) {
  const growth = new Float32Array(PIXELS);
  const at = (r, c, axis) =>
    grid[2 * (Math.min(ROWS - 1, Math.max(0, r)) * COLUMNS
      + Math.min(COLUMNS - 1, Math.max(0, c))) + axis];
  for (let r = 0; r < ROWS; r++) {
    for (let c = 0; c < COLUMNS; c++) {
      const high = Math.min(ROWS - 1, r + 1) - Math.max(0, r - 1) || 1;
      const wide = Math.min(COLUMNS - 1, c + 1) - Math.max(0, c - 1) || 1;
      const yy = (at(r + 1, c, 0) - at(r - 1, c, 0)) / high;
      const xy = (at(r + 1, c, 1) - at(r - 1, c, 1)) / high;
      const yx = (at(r, c + 1, 0) - at(r, c - 1, 0)) / wide;
      const xx = (at(r, c + 1, 1) - at(r, c - 1, 1)) / wide;
      growth[r * COLUMNS + c] = -Math.log2(Math.max(1e-3, yy * xx - yx * xy));
    }
  }
  return growth;
}
