// The map: pictures in the plane before and after alignment; hover to see, lasso to list and save names.

let selection = new Set();
let selections = 0; // how often the selection has changed
let mapStyle = "points";
let colourBy = DATA.classes ? "class" : "cluster";
const MARGIN = 14;

function showMap() {
  const panels = MAPS.map((panel, i) => makePanel(panel, i));
  const redraw = () => panels.forEach((panel) => panel.draw());
  const tip = el("div", { class: "tip", id: "tip", hidden: true, "aria-hidden": "true" });
  const live = el("p", { class: "visually-hidden", "aria-live": "polite", id: "map-live" });
  let hovered = -1;

  const hover = (slot, x, y) => {
    if (slot !== hovered) {
      hovered = slot;
      panels.forEach((panel) => { panel.hovered = slot; panel.draw(); });
      tip.replaceChildren();
      if (slot >= 0) tip.append(pictureCanvas(slot), el("b", {}, nameOf(slot)), el("span", {}, describe(slot)));
    }
    tip.hidden = slot < 0;
    if (slot >= 0) {
      tip.style.left = `${Math.min(x + 16, window.innerWidth - 200)}px`;
      tip.style.top = `${Math.min(y + 16, window.innerHeight - 210)}px`;
    }
  };
  const select = (slots) => { selection = new Set(slots); selections++; redraw(); list.fill(); };
  const list = selectionList(() => select([]));
  panels.forEach((panel) => panel.listen({ hover, select, say: (slot) => { live.textContent = `${nameOf(slot)}, ${describe(slot)}`; } }));

  const choose = (id, name, options, value, change) => el("label", {}, `${name} `, el("select", { id, change: (event) => { change(event.target.value); redraw(); legend.replaceWith(legend = mapLegend(select)); } },
    ...options.map(([key, text]) => el("option", { value: key, selected: key === value }, text))));
  let legend = mapLegend(select);

  MAIN.append(
    el("section", { class: "intro" }, el("h1", {}, "Map"),
      el("p", { class: "lead" }, "Pictures that are alike lie close together. If alignment does its work, clusters that overlap as the pictures are come apart once they are aligned."),
      el("p", { class: "note" }, `Each map is a t-SNE embedding of the same ${plural(N, "picture")}, made for itself: distances between far groups mean little, and the axes mean nothing. ${MAPS.length > 1 ? "Pictures are aligned with the centroid of their own cluster, which favours the clusters found. " : ""}${MAPS.length > 2 ? "The affine map uses the same centroids without bending; it is not another clustering. " : ""}${DATA.mapNote} Drag to draw a lasso; hold Shift to add to the selection.`),
      SAMPLED ? sampleNote() : null,
      el("div", { class: "bar-of-tools" },
        choose("map-style", "Show", [["points", "points"], ["pictures", "pictures"]], mapStyle, (v) => { mapStyle = v; }),
        choose("colour-by", "Colour", [["cluster", "by cluster"], ["cost", "by cost"]].concat(DATA.classes ? [["class", "by label"]] : []), colourBy, (v) => { colourBy = v; }))),
    el("section", { class: `maps maps-${MAPS.length}` }, ...panels.map((panel) => panel.element)),
    legend, list.element, live, tip);
  if (DATA.agreement) MAIN.append(confusionMatrix());
  const resize = new ResizeObserver(redraw);
  panels.forEach((panel) => resize.observe(panel.canvas));
  leaveView = () => resize.disconnect();
  playCurrent = () => {};
  list.fill();
}

const describe = (slot) => `cluster ${LABELS[slot]}${DATA.classes ? `, label ${className(classOf(slot))}` : ""}, cost ${percent(CANDIDATES[0].cost[slot])}`;

let costRange = null;
function pointColour(slot) {
  if (colourBy === "class") return colourOf(classOf(slot));
  if (colourBy === "cluster") return colourOf(LABELS[slot]);
  costRange ??= [Math.min(...CANDIDATES[0].cost), Math.max(...CANDIDATES[0].cost)];
  const share = (CANDIDATES[0].cost[slot] - costRange[0]) / (costRange[1] - costRange[0] || 1);
  return `hsl(${220 - 200 * Math.sqrt(share)} 75% ${isDark() ? 62 : 46}%)`;
}

// Thumbnails are painted once for each look of the page.
const thumbnails = new Map();
function thumbnail(slot) {
  const key = `${slot}/${isDark()}/${state.inverted}`;
  if (!thumbnails.has(key)) {
    const canvas = newCanvas();
    paintPicture(canvas, valuesOf(slot));
    thumbnails.set(key, canvas);
  }
  return thumbnails.get(key);
}

function makePanel(panel, number) {
  const canvas = el("canvas", { class: "map", tabindex: 0, role: "application", "aria-label": `Map, ${panel.title}: ${panel.note} Arrow keys go from picture to picture.`, "data-panel": number });
  const element = el("figure", { class: "panel" }, el("figcaption", {}, el("b", {}, panel.title), el("span", {}, panel.note)), canvas);
  const self = { element, canvas, hovered: -1 };
  let lasso = null, layer = null, layerKey = "";

  const size = () => { const box = canvas.getBoundingClientRect(); return [box.width, box.height]; };
  const place = (slot, [w, h]) => [MARGIN + panel.xy[2 * slot] * (w - 2 * MARGIN), MARGIN + panel.xy[2 * slot + 1] * (h - 2 * MARGIN)];

  const side = () => (mapStyle === "pictures" ? 22 : 0);

  // All pictures, on a canvas of their own: drawn anew only if they look different, not when the pointer moves.
  const pictureLayer = (w, h, ratio) => {
    const key = [w, h, ratio, isDark(), state.inverted, mapStyle, colourBy, selections].join();
    if (key === layerKey) return layer;
    layer = el("canvas", { width: Math.round(w * ratio), height: Math.round(h * ratio) });
    layerKey = key;
    const context = layer.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const dim = selection.size > 0, length = side();
    for (let slot = 0; slot < N; slot++) {
      const [x, y] = place(slot, [w, h]);
      context.globalAlpha = dim && !selection.has(slot) ? 0.18 : 0.9;
      context.fillStyle = context.strokeStyle = pointColour(slot);
      if (length) {
        const high = IS_SIGNAL ? length / 2 : (length * ROWS) / Math.max(ROWS, COLUMNS);
        const wide = IS_SIGNAL ? length : (length * COLUMNS) / Math.max(ROWS, COLUMNS);
        context.drawImage(thumbnail(slot), x - wide / 2, y - high / 2, wide, high);
        context.lineWidth = 1.2;
        context.strokeRect(x - wide / 2, y - high / 2, wide, high);
      } else {
        context.beginPath();
        context.arc(x, y, N > 1200 ? 2.4 : 3.4, 0, 7);
        context.fill();
      }
    }
    return layer;
  };

  self.draw = () => {
    const [w, h] = size(), ratio = window.devicePixelRatio || 1;
    if (!w) return;
    if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(h * ratio)) {
      canvas.width = Math.round(w * ratio);
      canvas.height = Math.round(h * ratio);
    }
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, w, h);
    context.drawImage(pictureLayer(w, h, ratio), 0, 0, w, h);
    const ink = isDark() ? "#fff" : "#111";
    if (self.hovered >= 0) {
      const [x, y] = place(self.hovered, [w, h]);
      context.strokeStyle = ink;
      context.lineWidth = 2;
      context.beginPath();
      context.arc(x, y, side() ? side() * 0.8 : 7, 0, 7);
      context.stroke();
    }
    if (lasso) {
      context.strokeStyle = ink;
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
  canvas.paint = self.draw;

  const at = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
  const nearest = ([px, py], reach) => {
    const box = size();
    let best = -1, least = reach * reach;
    for (let slot = 0; slot < N; slot++) {
      const [x, y] = place(slot, box), squared = (x - px) ** 2 + (y - py) ** 2;
      if (squared < least) { best = slot; least = squared; }
    }
    return best;
  };

  self.listen = ({ hover, select, say }) => {
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      canvas.setPointerCapture(event.pointerId);
      lasso = [at(event)];
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!lasso) return hover(nearest(at(event), 14), event.clientX, event.clientY);
      lasso.push(at(event));
      hover(-1);
      self.draw();
    });
    canvas.addEventListener("pointerup", (event) => {
      if (!lasso) return;
      const path = lasso, box = size();
      lasso = null;
      const length = path.reduce((sum, [x, y], i) => sum + (i ? Math.hypot(x - path[i - 1][0], y - path[i - 1][1]) : 0), 0);
      if (length < 6) { // a click
        const slot = nearest(path[0], 14);
        if (slot >= 0) location.hash = `picture-${indexOf(slot)}`;
        else select([]);
        return;
      }
      const inside = [];
      for (let slot = 0; slot < N; slot++) if (isInside(place(slot, box), path)) inside.push(slot);
      select(event.shiftKey ? [...selection, ...inside] : inside);
    });
    canvas.addEventListener("pointercancel", () => { lasso = null; self.draw(); });
    canvas.addEventListener("pointerleave", () => { if (!lasso) hover(-1); });
    canvas.addEventListener("blur", () => hover(-1));
    canvas.addEventListener("keydown", (event) => {
      const towards = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
      const box = size();
      const point = (slot) => { const [x, y] = place(slot, box), frame = canvas.getBoundingClientRect(); hover(slot, frame.left + x, frame.top + y); say(slot); };
      if (towards) point(self.hovered < 0 ? nearest([box[0] / 2, box[1] / 2], 1e9) : neighbour(self.hovered, towards, (slot) => place(slot, box)));
      else if (event.key === " " && self.hovered >= 0) {
        const slots = new Set(selection);
        if (!slots.delete(self.hovered)) slots.add(self.hovered);
        select(slots);
      } else if (event.key === "Enter" && self.hovered >= 0) location.hash = `picture-${indexOf(self.hovered)}`;
      else if (event.key === "Escape" && selection.size) select([]);
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
  };
  return self;
}

// The closest point in a direction: what lies aside counts double.
function neighbour(from, [dx, dy], place) {
  const [x0, y0] = place(from);
  let best = from, least = Infinity;
  for (let slot = 0; slot < N; slot++) {
    const [x, y] = place(slot), along = (x - x0) * dx + (y - y0) * dy, aside = Math.abs((x - x0) * dy) + Math.abs((y - y0) * dx);
    if (along > 0.5 && along >= aside * 0.5 && along + 2 * aside < least) { best = slot; least = along + 2 * aside; }
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
  if (colourBy === "cost") return el("p", { class: "legend", id: "map-legend" }, "Blue: cheap. Red: costly.");
  const byClass = colourBy === "class";
  const groups = byClass ? DATA.classes.map((_, c) => c) : DATA.clusters.map((_, k) => k);
  const of = (slot) => (byClass ? classOf(slot) : LABELS[slot]);
  return el("div", { class: "legend groups", id: "map-legend", role: "group", "aria-label": "Select by colour" }, ...groups.map((g) => {
    const swatch = el("i", { class: "swatch" });
    swatch.style.background = colourOf(g);
    const slots = () => Array.from({ length: N }, (_, i) => i).filter((i) => of(i) === g);
    return el("button", { type: "button", title: "Select these pictures", click: () => select(slots()) }, swatch, byClass ? className(g) : `Cluster ${g}`);
  }));
}

// Names one a line; a line break inside a name would make two of it.
const nameLine = (name) => name.replace(/[\r\n\u2028\u2029]+/g, " ");
const csvCell = (text) => `"${String(text).replace(/"/g, '""')}"`;

function selectionList(clear) {
  const names = el("textarea", { id: "names", readonly: true, rows: 8, "aria-label": "Names of the selected pictures", spellcheck: "false" });
  const title = el("h2", { id: "selected" });
  const wall = el("div", { class: "wall small" });
  const slots = () => [...selection].sort((a, b) => a - b);
  const save = (text, file, type) => {
    const url = URL.createObjectURL(new Blob([text], { type }));
    el("a", { href: url, download: file }).click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  };
  const table = () => ["name,index,cluster,label,cost", ...slots().map((s) => [csvCell(nameOf(s)), indexOf(s), LABELS[s], DATA.classes ? csvCell(className(classOf(s))) : "", (CANDIDATES[0].cost[s] / DATA.energy).toPrecision(6)].join(","))].join("\r\n") + "\r\n";
  const copied = el("span", { class: "note", "aria-live": "polite" });
  const copy = () => { names.select(); document.execCommand("copy"); copied.textContent = "Copied."; };
  const element = el("section", { class: "selection", hidden: true },
    el("div", { class: "bar-of-tools" }, title,
      el("button", { type: "button", id: "copy", click: copy }, "Copy names"),
      el("button", { type: "button", id: "save-names", click: () => save(names.value + "\n", "selection.txt", "text/plain") }, "Save names"),
      el("button", { type: "button", id: "save-table", click: () => save(table(), "selection.csv", "text/csv") }, "Save table"),
      el("button", { type: "button", id: "clear", click: clear }, "Clear"), copied),
    el("div", { class: "two" }, wall, names));
  const fill = () => {
    const chosen = slots();
    element.hidden = chosen.length === 0;
    title.textContent = `${plural(chosen.length, "picture")} selected`;
    copied.textContent = "";
    names.value = chosen.map((slot) => nameLine(nameOf(slot))).join("\n");
    const some = chosen.slice(0, 120);
    wall.replaceChildren(...some.map((slot) => el("a", { href: `#picture-${indexOf(slot)}`, class: "tile", title: nameOf(slot), "aria-label": nameOf(slot) }, pictureCanvas(slot))));
    if (chosen.length > some.length) wall.append(el("small", {}, `and ${count(chosen.length - some.length)} more`));
    if (some.length) roving(wall);
  };
  return { element, fill };
}

function confusionMatrix() {
  const { counts, classes, clusters, matched, scores } = DATA.agreement;
  const sums = counts.map((row) => row.reduce((a, b) => a + b, 0));
  const table = el("table", { class: "confusion" },
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "label"), ...clusters.map((k) => el("th", { scope: "col" }, el("a", { href: `#cluster-${k}`, title: clusterName(k), "aria-label": `Cluster ${k}` }, centroidCanvas(k), String(k)))))),
    el("tbody", {}, ...counts.map((row, r) => el("tr", {}, el("th", { scope: "row" }, className(classes[r])), ...row.map((n, c) => {
      const cell = el("td", { class: r === c && r < matched ? "diagonal" : "" }, n ? count(n) : "");
      cell.style.setProperty("--share", sums[r] ? n / sums[r] : 0);
      return cell;
    })))));
  const share = (v) => `${(100 * v).toFixed(1)}\u202f%`;
  return el("section", {}, el("h2", {}, "Labels and clusters"),
    el("p", { class: "note" }, `Rows: the labels given. Columns: clusters, matched one to one so that most pictures lie on the diagonal: ${share(scores.accuracy)} do. Normalised mutual information ${share(scores.nmi)}, adjusted Rand index ${share(scores.ari)}. All ${count(DATA.total)} pictures are counted; labels were not used to find the clusters.`),
    el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Confusion matrix" }, table));
}
