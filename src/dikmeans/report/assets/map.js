// The map: similar pictures lie close together. Hover to see one, lasso to list and save names.

let selection = new Set();
let nSelections = 0; // how often the selection has changed
let mapStyle = "points";
let colorBy = DATA.classes ? "class" : "cluster";
const MARGIN = 14;
const HOVER_DISTANCE = 14;
const MAX_SELECTED_SHOWN = 120;
const MOST_ZOOM = 40;
// The part of the map that is seen: its upper left corner, and how much it is enlarged.
const view = { x: 0, y: 0, zoom: 1 };
let dragMode = "select";

function showMap() {
  const tip = el("div", { class: "tip", id: "tip", hidden: true, "aria-hidden": "true" });
  const live = el("p", { class: "visually-hidden", "aria-live": "polite", id: "map-live" });
  const hover = (slot, x, y) => {
    if (slot !== map.hovered) {
      map.hovered = slot;
      map.draw();
      tip.replaceChildren();
      if (slot >= 0)
        tip.append(pictureCanvas(slot), el("b", {}, nameOf(slot)), el("span", {}, describe(slot)));
    }
    tip.hidden = slot < 0;
    if (slot >= 0) {
      tip.style.left = `${Math.min(x + 16, window.innerWidth - 200)}px`;
      tip.style.top = `${Math.min(y + 16, window.innerHeight - 210)}px`;
    }
  };
  const select = (slots) => {
    selection = new Set(slots);
    nSelections++;
    map.draw();
    list.fill();
    // for a page that this one is embedded in
    dispatchEvent(new CustomEvent("selectpictures", { detail: [...selection].map(indexOf) }));
  };
  const announce = (slot) => { live.textContent = `${nameOf(slot)}, ${describe(slot)}`; };
  const map = makeMap({ hover, select, announce });
  const list = selectionList(() => select([]));
  let legend = mapLegend(select);

  const choice = (id, name, options, value, change) => el("label", {}, `${name} `,
    el("select", {
      id,
      change: (event) => {
        change(event.target.value);
        map.draw();
        legend.replaceWith(legend = mapLegend(select));
      },
    }, ...options.map(([key, text]) => el("option", { value: key, selected: key === value }, text))));
  const styles = [["points", "points"], ["pictures", "pictures"]];
  const colors = [["cluster", "by cluster"], ["cost", "by cost"]];
  if (DATA.classes) colors.push(["class", `by ${LABEL_WORD}`]);
  const drags = [["select", "selects"], ["move", "moves the map"]];
  const zoomButton = (id, text, label, click) =>
    el("button", { type: "button", id, "aria-label": label, title: label, click }, text);

  MAIN.append(
    el("section", { class: "intro" },
      el("h1", {}, "Map"),
      el("p", { class: "lead" }, DATA.warp === "none"
        ? "Similar pictures lie close together."
        : "Pictures that are similar after alignment lie close together."),
      el("ul", { class: "note", id: "map-help" },
        el("li", {}, el("b", {}, "See: "), "point at a dot, and its picture appears; click or tap "
          + "to open it."),
        el("li", {}, el("b", {}, "Select: "), "draw around dots with the mouse or a pen, and their "
          + "names are listed below, to copy or save. Shift adds to what is selected; a color in "
          + "the legend selects all of it."),
        el("li", {}, el("b", {}, "Enlarge: "), "+ and −, or Ctrl and the wheel; to move about, "
          + "choose “Dragging moves the map”.")),
      sampleNote(),
      el("div", { class: "toolbar" },
        choice("map-style", "Show", styles, mapStyle, (value) => { mapStyle = value; }),
        choice("color-by", "Color", colors, colorBy, (value) => { colorBy = value; }),
        choice("drag-mode", "Dragging", drags, dragMode, (value) => { dragMode = value; }),
        zoomButton("zoom-in", "+", "Enlarge", () => map.zoomBy(1.6)),
        zoomButton("zoom-out", "−", "Reduce", () => map.zoomBy(1 / 1.6)),
        zoomButton("zoom-all", "Whole map", "Show the whole map", () => map.zoomBy(0)))),
    map.canvas, legend,
    note(`${plural(N, KIND)}. Neighbors are similar, but distances between distant groups mean `
      + "little, and the axes have no meaning. ", why("map"),
    DATA.warp !== "none" && " Each picture is aligned with its own cluster, so the map shows the "
      + "clusters more separate than the pictures are."),
    list.element, live, tip);
  if (DATA.agreement) MAIN.append(confusionMatrix());
  const resize = new ResizeObserver(map.draw);
  resize.observe(map.canvas);
  leaveView = () => resize.disconnect();
  list.fill();
}

function describe(slot) {
  const label = DATA.classes ? `, ${LABEL_WORD} ${className(classOf(slot))}` : "";
  const where = isOutlier(slot) ? "outlier" : inText(LABELS[slot]);
  return `${where}${label}, cost ${percent(CANDIDATES[0].cost[slot])}`;
}

// Outliers are rings: some cluster may be gray.
const outlierColor = () => (isDark() ? "#b4b4b4" : "#6a6a6a");
let costRange = null;
function pointColor(slot) {
  if (colorBy === "class") return colorOf(classOf(slot));
  if (colorBy === "cluster") return isOutlier(slot) ? outlierColor() : colorOf(LABELS[slot]);
  const { cost } = CANDIDATES[0];
  costRange ??= [cost.reduce((a, b) => Math.min(a, b)), cost.reduce((a, b) => Math.max(a, b))];
  const share = (cost[slot] - costRange[0]) / (costRange[1] - costRange[0] || 1);
  return `hsl(${220 - 200 * Math.sqrt(share)} 75% ${isDark() ? 62 : 46}%)`;
}

// Thumbnails are painted once for each theme.
const thumbnails = new Map();
function thumbnail(slot) {
  const key = `${slot}/${isDark()}/${state.inverted}/${state.look}`;
  if (!thumbnails.has(key)) {
    const canvas = newCanvas();
    paintSlot(canvas, slot, 0, 0, 64);
    thumbnails.set(key, canvas);
  }
  return thumbnails.get(key);
}

// The canvas of the map, its `draw` function, and the slot under the pointer, or -1.
function makeMap({ hover, select, announce }) {
  const canvas = el("canvas", {
    class: "map", id: "map-canvas", tabindex: 0, role: "application",
    "aria-label": "Map of the pictures. Arrow keys go from picture to picture.",
  });
  const map = { canvas, hovered: -1 };
  let lasso = null, dragged = null, layer = null, layerKey = "";

  const size = () => {
    const box = canvas.getBoundingClientRect();
    return [box.width, box.height];
  };
  const place = (slot, [width, height]) => [
    MARGIN + (POSITIONS[2 * slot] - view.x) * view.zoom * (width - 2 * MARGIN),
    MARGIN + (POSITIONS[2 * slot + 1] - view.y) * view.zoom * (height - 2 * MARGIN),
  ];
  const thumbnailSide = () => (mapStyle === "pictures" ? Math.min(88, 22 * view.zoom ** 0.7) : 0);
  const keepInside = () => {
    const most = 1 - 1 / view.zoom;
    view.x = Math.min(most, Math.max(0, view.x));
    view.y = Math.min(most, Math.max(0, view.y));
  };
  // Enlarge by a factor around a point of the canvas; 0 shows the whole map.
  map.zoomBy = (factor, point = null) => {
    const box = size(), [px, py] = point ?? [box[0] / 2, box[1] / 2];
    const zoom = Math.min(MOST_ZOOM, Math.max(1, view.zoom * factor));
    const share = [(px - MARGIN) / (box[0] - 2 * MARGIN), (py - MARGIN) / (box[1] - 2 * MARGIN)];
    view.x += share[0] * (1 / view.zoom - 1 / zoom);
    view.y += share[1] * (1 / view.zoom - 1 / zoom);
    view.zoom = zoom;
    keepInside();
    hover(-1);
    map.draw();
  };
  const moveBy = (dx, dy) => {
    const box = size();
    view.x -= dx / (box[0] - 2 * MARGIN) / view.zoom;
    view.y -= dy / (box[1] - 2 * MARGIN) / view.zoom;
    keepInside();
    map.draw();
  };

  // All pictures, on a separate canvas: drawn again only if they change, not when the pointer moves.
  const pictureLayer = (width, height, ratio) => {
    const key = [width, height, ratio, isDark(), state.inverted, mapStyle, colorBy, nSelections,
      state.look, view.x, view.y, view.zoom];
    if (key.join() === layerKey) return layer;
    layerKey = key.join();
    layer = el("canvas", { width: Math.round(width * ratio), height: Math.round(height * ratio) });
    const context = layer.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const side = thumbnailSide(), aspect = showsOriginals() ? BOX_ASPECT : FRAME_ASPECT;
    const high = IS_SIGNAL ? side / 2 : side * Math.min(1, aspect);
    const wide = IS_SIGNAL ? side : side * Math.min(1, 1 / aspect);
    for (let slot = 0; slot < N; slot++) {
      const [x, y] = place(slot, [width, height]);
      if (x < -side || y < -side || x > width + side || y > height + side) continue;
      context.globalAlpha = selection.size > 0 && !selection.has(slot) ? 0.18 : 0.9;
      context.fillStyle = context.strokeStyle = pointColor(slot);
      context.lineWidth = 1.4;
      if (side) {
        context.drawImage(thumbnail(slot), x - wide / 2, y - high / 2, wide, high);
        context.lineWidth = 1.2;
        context.strokeRect(x - wide / 2, y - high / 2, wide, high);
      } else {
        context.beginPath();
        context.arc(x, y, Math.min(8, (N > 1200 ? 2.4 : 3.4) * view.zoom ** 0.35), 0, 7);
        if (isOutlier(slot)) context.stroke();
        else context.fill();
      }
    }
    return layer;
  };

  map.draw = () => {
    canvas.classList.toggle("moving", dragMode === "move");
    const [width, height] = size(), ratio = window.devicePixelRatio || 1;
    if (!width) return;
    const pixels = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== pixels[0] || canvas.height !== pixels[1])
      [canvas.width, canvas.height] = pixels;
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.drawImage(pictureLayer(width, height, ratio), 0, 0, width, height);
    context.strokeStyle = isDark() ? "#fff" : "#111";
    if (map.hovered >= 0) {
      const [x, y] = place(map.hovered, [width, height]), side = thumbnailSide();
      context.lineWidth = 2;
      context.beginPath();
      context.arc(x, y, side ? side * 0.8 : 7, 0, 7);
      context.stroke();
    }
    if (lasso) {
      context.fillStyle = isDark() ? "rgba(255,255,255,.08)" : "rgba(0,0,0,.06)";
      context.lineWidth = 1.5;
      context.setLineDash([5, 4]);
      context.beginPath();
      lasso.forEach(([x, y]) => context.lineTo(x, y));
      context.closePath();
      context.fill();
      context.stroke();
      context.setLineDash([]);
    }
  };
  canvas.paint = map.draw;

  const pointOf = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const nearest = ([px, py], distance) => {
    const box = size();
    let best = -1, least = distance * distance;
    for (let slot = 0; slot < N; slot++) {
      const [x, y] = place(slot, box), squared = (x - px) ** 2 + (y - py) ** 2;
      if (squared < least) { best = slot; least = squared; }
    }
    return best;
  };
  const open = (slot) => { location.hash = `picture-${indexOf(slot)}`; };
  const endLasso = (addToSelection) => {
    const path = lasso, box = size();
    lasso = null;
    const stepLength = ([x, y], i) => i && Math.hypot(x - path[i - 1][0], y - path[i - 1][1]);
    const length = path.reduce((sum, point, i) => sum + stepLength(point, i), 0);
    if (length < 6) { // a click
      const slot = nearest(path[0], HOVER_DISTANCE);
      return slot >= 0 ? open(slot) : select([]);
    }
    const inside = [];
    for (let slot = 0; slot < N; slot++) if (isInside(place(slot, box), path)) inside.push(slot);
    select(addToSelection ? [...selection, ...inside] : inside);
  };
  const move = (direction) => {
    const box = size(), frame = canvas.getBoundingClientRect();
    const slot = map.hovered < 0
      ? nearest([box[0] / 2, box[1] / 2], Infinity)
      : nextInDirection(map.hovered, direction, (other) => place(other, box));
    const [x, y] = place(slot, box);
    hover(slot, frame.left + x, frame.top + y);
    announce(slot);
  };
  const toggle = (slot) => {
    const slots = new Set(selection);
    if (!slots.delete(slot)) slots.add(slot);
    select(slots);
  };

  const listeners = {
    pointerdown: (event) => {
      if (event.button !== 0) return;
      canvas.setPointerCapture(event.pointerId);
      const point = pointOf(event);
      if (dragMode === "move") dragged = { from: point, last: point };
      else lasso = [point];
    },
    pointermove: (event) => {
      const point = pointOf(event);
      if (dragged) {
        moveBy(point[0] - dragged.last[0], point[1] - dragged.last[1]);
        dragged.last = point;
        return hover(-1);
      }
      if (!lasso) return hover(nearest(point, HOVER_DISTANCE), event.clientX, event.clientY);
      lasso.push(point);
      hover(-1);
      return map.draw();
    },
    pointerup: (event) => {
      if (lasso) return endLasso(event.shiftKey);
      if (!dragged) return null;
      const { from, last } = dragged;
      dragged = null;
      const slot = nearest(from, HOVER_DISTANCE);
      const isClick = Math.hypot(last[0] - from[0], last[1] - from[1]) < 6;
      return isClick && slot >= 0 && open(slot);
    },
    pointercancel: () => { lasso = dragged = null; map.draw(); },
    wheel: (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      map.zoomBy(Math.exp(-event.deltaY / 200), pointOf(event));
    },
    pointerleave: () => { if (!lasso) hover(-1); },
    blur: () => hover(-1),
    keydown: (event) => {
      const direction = {
        ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1],
      }[event.key];
      if (direction) move(direction);
      else if (event.key === " " && map.hovered >= 0) toggle(map.hovered);
      else if (event.key === "Enter" && map.hovered >= 0) open(map.hovered);
      else if (event.key === "Escape" && selection.size) select([]);
      else if (event.key === "+" || event.key === "-")
        map.zoomBy(event.key === "+" ? 1.6 : 1 / 1.6);
      else return;
      event.preventDefault();
      event.stopPropagation();
    },
  };
  for (const [name, listener] of Object.entries(listeners))
    canvas.addEventListener(name, listener, { passive: false });
  return map;
}

// The closest point in a direction; distance across it counts double.
function nextInDirection(from, [dx, dy], place) {
  const [x0, y0] = place(from);
  let best = from, least = Infinity;
  for (let slot = 0; slot < N; slot++) {
    const [x, y] = place(slot), along = (x - x0) * dx + (y - y0) * dy;
    const across = Math.abs((x - x0) * dy) + Math.abs((y - y0) * dx);
    if (along > 0.5 && along >= across * 0.5 && along + 2 * across < least) {
      best = slot;
      least = along + 2 * across;
    }
  }
  return best;
}

// Even-odd rule.
function isInside([x, y], path) {
  let inside = false;
  for (let i = 0, j = path.length - 1; i < path.length; j = i++) {
    const [xi, yi] = path[i], [xj, yj] = path[j];
    if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) inside = !inside;
  }
  return inside;
}

function mapLegend(select) {
  if (colorBy === "cost")
    return el("p", { class: "legend", id: "map-legend" }, "Blue: low cost. Red: high cost.");
  const byClass = colorBy === "class";
  const button = (color, name, slots, isRing = false) => {
    const swatch = el("i", { class: isRing ? "swatch ring" : "swatch" });
    swatch.style[isRing ? "borderColor" : "background"] = color;
    return el("button",
      { type: "button", title: "Select these pictures", click: () => select(slots()) }, swatch, name);
  };
  const ofClass = (_, c) => button(colorOf(c), className(c), () => ALL_SLOTS.filter((i) => classOf(i) === c));
  const ofCluster = (_, k) => button(colorOf(k), shortName(k), () => MEMBERS[k]);
  const outside = !byClass && OUTLIERS.length > 0
    && button(outlierColor(), "Outliers", () => OUTLIERS, true);
  return el("div", {
    class: "legend groups", id: "map-legend", role: "group", "aria-label": "Select by color",
  }, ...(byClass ? DATA.classes.map(ofClass) : DATA.clusters.map(ofCluster)), outside);
}

// One name per line: line breaks inside a name become spaces.
const nameLine = (name) => name.replace(/[\r\n\u2028\u2029]+/g, " ");
function selectionList(clear) {
  const names = el("textarea", {
    id: "names", readonly: true, rows: 8, spellcheck: "false",
    "aria-label": "Names of the selected pictures",
  });
  const title = el("h2", { id: "selected" });
  const wall = el("div", { class: "wall small" });
  const copied = el("span", { class: "note", "aria-live": "polite" });
  const slots = () => [...selection].sort((a, b) => a - b);
  const copy = () => {
    names.select();
    document.execCommand("copy");
    copied.textContent = "Copied.";
  };
  const saveNames = () => saveFile(`${names.value}\n`, "selection.txt", "text/plain");
  const saveTable = () => saveFile(asTable(rowsOf(slots())), "selection.csv", "text/csv");
  const button = (id, text, click) => el("button", { type: "button", id, click }, text);
  const element = el("section", { class: "selection", hidden: true },
    el("div", { class: "toolbar" }, title,
      button("copy", "Copy names", copy), button("save-names", "Save names", saveNames),
      button("save-table", "Save table", saveTable), button("clear", "Clear", clear), copied),
    el("div", { class: "two" }, wall, names));
  const tile = (slot) => {
    const name = nameOf(slot);
    const attributes = { href: `#picture-${indexOf(slot)}`, class: "tile", title: name };
    return el("a", { ...attributes, "aria-label": name }, pictureCanvas(slot));
  };
  const fill = () => {
    const selected = slots(), rest = selected.length - MAX_SELECTED_SHOWN;
    element.hidden = selected.length === 0;
    title.textContent = `${plural(selected.length, KIND)} selected`;
    copied.textContent = "";
    names.value = selected.map((slot) => nameLine(nameOf(slot))).join("\n");
    wall.replaceChildren(...selected.slice(0, MAX_SELECTED_SHOWN).map(tile));
    if (rest > 0) wall.append(el("small", {}, `and ${count(rest)} more`));
    roving(wall);
  };
  return { element, fill };
}

function confusionMatrix() {
  const { counts, classes, clusters, matched, scores } = DATA.agreement;
  const column = (k) => el("th", { scope: "col" },
    el("a", { href: `#cluster-${k}`, title: clusterName(k), "aria-label": shortName(k) },
      centroidCanvas(k), String(k)));
  const row = (cells, r) => {
    const sum = cells.reduce((a, b) => a + b, 0);
    return el("tr", {}, el("th", { scope: "row" }, className(classes[r])), ...cells.map((n, c) => {
      const isMatched = r === c && r < matched;
      const cell = el("td", { class: isMatched ? "diagonal" : "" }, n ? count(n) : "");
      cell.style.setProperty("--share", sum ? n / sum : 0);
      return cell;
    }));
  };
  const table = el("table", { class: "confusion" },
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, LABEL_WORD), ...clusters.map(column))),
    el("tbody", {}, ...counts.map(row)));
  return el("section", {},
    el("h2", {}, `${LABEL_WORDS[0].toUpperCase()}${LABEL_WORDS.slice(1)} and clusters`),
    note(`Rows: the ${LABEL_WORDS}. Columns: clusters, paired one to one so that most pictures lie `
      + `on the diagonal: ${asPercent(scores.accuracy)} do. `, why("accuracy"),
    ` Normalized mutual information ${asPercent(scores.nmi)}, adjusted Rand index `
      + `${asPercent(scores.ari)}. All ${count(DATA.total - DATA.outliers)} pictures that are in a cluster are `
      + `counted; ${LABEL_WORDS} `
      + "were not used to find the clusters."),
    el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `Table of ${LABEL_WORDS} and clusters` },
      table));
}
