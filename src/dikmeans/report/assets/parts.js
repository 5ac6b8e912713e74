// Small parts that all views are made of. Texts from files enter the page as text only.

const MAIN = document.getElementById("main");

// What the current view does on the key "a", and before another view replaces it.
let playCurrent = () => {};
let leaveView = () => {};

// Canvases that must be drawn again when the theme changes have a function that does it.
function painted(canvas, paint) {
  canvas.paint = () => paint(canvas);
  canvas.paint();
  return canvas;
}
function repaintAll() {
  for (const canvas of document.querySelectorAll("canvas")) if (canvas.paint) canvas.paint();
}

const prototypeCanvas = (prototype, className, label) =>
  painted(newCanvas(className, label), (canvas) => paintPrototype(canvas, prototype));
const centroidCanvas = (k, className, label) =>
  prototypeCanvas(PROTOTYPES_OF[k][0], className, label);
const pictureCanvas = (slot, className, label) =>
  painted(newCanvas(className, label), (canvas) => paintSlot(canvas, slot));

// A bar of two parts: what does not fit, and what the bending costs. `full` is the cost of a whole
// bar.
function costBar(cost, bending, full, label) {
  const part = (value, name) => {
    const piece = el("i", { class: name });
    piece.style.width = `${Math.max(0, Math.min(100, (100 * value) / full))}%`;
    return piece;
  };
  return el("span", { class: "bar", role: "img", "aria-label": label },
    part(cost - bending, "misfit"), part(bending, "bending"));
}

// "prototype 2 of 3", counted within its cluster.
function prototypeName(prototype) {
  const siblings = PROTOTYPES_OF[DATA.prototypes.cluster[prototype]];
  return `prototype ${siblings.indexOf(prototype) + 1} of ${siblings.length}`;
}

// The label that most members of a cluster have, with their share; null without labels.
function majorityText(k) {
  const majority = MAJORITIES[k];
  return majority
    && `${asPercent(majority.share, 0)} ${LABEL_WORD} ${className(majority.label)}`;
}
// As a person has named it, or by its number.
const shortName = (k) => DATA.names[k] ?? `Cluster ${k}`;
const inText = (k) => DATA.names[k] ?? `cluster ${k}`;
function clusterName(k) {
  const majority = majorityText(k);
  return majority === null ? shortName(k) : `${shortName(k)} · ${majority}`;
}

// A slider from "original" to "aligned" with a button that plays it; `change` is called with t in
// [0, 1]. `view` tells the positions in different views apart.
function alignSlider(view, change, [from, to] = ["Original", "Aligned"]) {
  const set = (t) => { state.alignment[view] = t; input.value = t; change(t); };
  const stop = () => cancelAnimationFrame(frame);
  const input = el("input", {
    type: "range", min: 0, max: 1, step: 0.01, value: state.alignment[view], id: "align",
    "aria-label": `From ${from.toLowerCase()} to ${to.toLowerCase()}`,
    input: () => { stop(); set(Number(input.value)); },
  });
  let frame = 0;
  const play = () => {
    stop();
    const start = state.alignment[view], end = start < 0.5 ? 1 : 0, begin = performance.now();
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return set(end);
    const tick = (now) => {
      const share = Math.min(1, (now - begin) / 900), eased = share * share * (3 - 2 * share);
      set(start + eased * (end - start));
      if (share < 1 && input.isConnected) frame = requestAnimationFrame(tick);
    };
    frame = requestAnimationFrame(tick);
  };
  const button = { type: "button", id: "play", title: "Move to the other end (a)", click: play };
  const element = el("div", { class: "slide" },
    el("span", {}, from), input, el("span", {}, to), el("button", button, "Play"));
  return { element, play };
}

// How deformations are drawn; `change` is called when another way is chosen.
function deformationChoice(change) {
  const select = el("select", {
    id: "deformation",
    change: () => { state.deformation = select.value; change(); },
  }, ...Object.entries(DEFORMATIONS).map(([key, [name]]) =>
    el("option", { value: key, selected: key === state.deformation }, name)));
  return el("label", { class: "note choice" }, "Show the deformation ", select);
}

const meshOverlay = () => svg("svg", {
  class: "mesh", viewBox: `0 0 ${COLUMNS} ${ROWS}`, preserveAspectRatio: "none",
  "aria-hidden": "true",
});

// A prototype read along a grid, the share t of the way; `crop` is that of the picture it is put
// onto.
function paintWarpedPrototype(canvas, prototype, forward, t, crop = UNCHANGED) {
  if (showsOriginals() && hasPortrait(prototype)) {
    const size = boxSizeOf(PORTRAITS);
    setSize(canvas, size, false);
    const image = carriedPortrait(prototype, forward, t, size, crop);
    return canvas.getContext("2d").putImageData(image, 0, 0);
  }
  setSize(canvas, comparedSize());
  return paintCentroid(canvas, resample(PROTOTYPES[prototype], forward, t));
}

// -- words ----------------------------------------------------------------------------------------

const GLOSSARY = {
  cost: ["Cost", "How badly a picture fits a centroid after the best alignment: 0 % is a perfect "
    + "fit, 100 % no better than an empty picture. It is the sum of what does not fit and of what "
    + "the deformation costs."],
  deformation: ["Deformation", "How much the centroid had to be bent to match the picture. Bending "
    + "has a price; otherwise anything could be turned into anything."],
  margin: ["Margin", "How much more the second-best cluster would cost. Near 0, the picture could "
    + "as well be there: it is doubtful."],
  centroid: ["Centroid", "What the members of a cluster have in common. Here it is the mean of "
    + "their originals, each carried into the same pose by its own deformation; where they share "
    + "no appearance (random colors, say), the most typical member is shown instead."],
  prototype: ["Prototype", "A cluster whose members differ by more than a deformation has several "
    + "centroids: crossed and plain sevens, say. Each is a prototype."],
  compared: ["As compared", "What the machine compares: a small picture, prepared so that "
    + "brightness, paper or light do not count. The settings say how."],
  aligned: ["Aligned", "The picture in the pose of its centroid: the deformation is undone."],
  residual: ["What does not fit", "The difference that is left after alignment: orange where the "
    + "centroid has more, blue where the picture has more."],
  varies: ["What varies", "Bright where members of a cluster differ after alignment, dark where "
    + "they agree."],
  majority: ["Majority", `The ${LABEL_WORD} that most members of a cluster have, and how many of `
    + "them in percent."],
  accuracy: ["Accuracy, one to one", `Every cluster is paired with one ${LABEL_WORD}, so that as `
    + "many pictures as possible agree; that many do."],
  nmi: ["Normalized mutual information", `What knowing the cluster tells about the ${LABEL_WORD}: `
    + "100 % everything, 0 % nothing."],
  kmeans: ["K-means", "The usual way of clustering, which compares pixel by pixel. It got the same "
    + "pictures, prepared in the same way, and the same number of clusters."],
  alike: ["Alike", "Two clusters are alike if one centroid can be deformed into the other at a low "
    + "cost. Clusters as alike as members of one cluster may be one: try fewer clusters."],
  outlier: ["Outlier", "A picture that fits even its nearest cluster far worse than the members "
    + "of that cluster do, or that a person has rejected. It belongs to no cluster, and no "
    + "centroid follows it."],
  map: ["Map", "A t-SNE embedding. Neighbors are similar; distances between distant groups mean "
    + "little, and the axes mean nothing."],
};

// A question mark that explains a word.
function why(word) {
  const [name, text] = GLOSSARY[word];
  return el("button", {
    type: "button", class: "why", title: text, "aria-label": `What is “${name}”?`,
    click: (event) => { event.preventDefault(); event.stopPropagation(); openHelp(word); },
  }, "?");
}
function openHelp(word) {
  const dialog = document.getElementById("keys");
  if (!dialog.open) dialog.showModal();
  for (const entry of dialog.querySelectorAll("[data-word]"))
    entry.classList.toggle("asked", entry.dataset.word === word);
  dialog.querySelector(".asked")?.scrollIntoView({ block: "center" });
}
function fillGlossary(list) {
  for (const [word, [name, text]] of Object.entries(GLOSSARY))
    list.append(el("dt", { "data-word": word }, name), el("dd", { "data-word": word }, text));
}

// The two colors of values with both signs, where they are drawn so.
function signLegend(look = state.look) {
  const isShown = look === "original" ? DATA.originals?.signed : DATA.tone.is_signed;
  if (!isShown || IS_SIGNAL) return null;
  return el("p", { class: "legend signs" },
    el("i", { class: "swatch more" }), " more than around it (above zero) ",
    el("i", { class: "swatch less" }), " less (below zero)");
}

// -- tiles and lists ------------------------------------------------------------------------------

// A decision is close if the next-best cluster costs less than a quarter more.
const isClose = (slot) => K > 1 && marginOf(slot) < 0.25 * CANDIDATES[0].cost[slot];

// A picture with its cost; below it, with `chip`, where it is or nearly was: "second", "own", null.
// `position` gives the share of the alignment at which it is drawn.
function pictureTile(slot, { chip = null, position = () => 0 } = {}) {
  const canvas = newCanvas(), cost = percent(CANDIDATES[0].cost[slot]);
  const mark = chip === "own" ? clusterChip(isOutlier(slot) ? "near" : "in", LABELS[slot], "")
    : chip === "second" && K > 1
      ? clusterChip("→", CANDIDATES[1].cluster[slot], signed(marginOf(slot))) : null;
  const majority = isOutlier(slot) ? null : MAJORITIES[LABELS[slot]];
  const differs = majority && majority.label !== classOf(slot);
  const tile = el("button", {
    type: "button", class: `tile${mark ? " is-close" : ""}`, "data-slot": slot,
    title: nameOf(slot),
    click: () => { location.hash = `picture-${indexOf(slot)}`; },
  },
    canvas,
    el("small", {}, spoken(`${nameOf(slot)}, cost `), cost,
      differs && el("em", { title: `its ${LABEL_WORD} is ${className(classOf(slot))}` },
        spoken(`, ${LABEL_WORD}`), ` ${className(classOf(slot))}`)),
    mark);
  tile.redraw = () => paintSlot(canvas, slot, position(), 0, TILE_SIDE);
  canvas.paint = tile.redraw;
  if (!hasSound(slot)) return tile;
  const cell = el("div", { class: "cell" }, tile, playButton(slot));
  cell.redraw = tile.redraw;
  return cell;
}

const playButton = (slot) => el("button", {
  type: "button", class: "listen", title: "Listen", "aria-label": `Listen to ${nameOf(slot)}`,
  click: () => playSound(slot),
}, "▶");

function clusterChip(sign, k, margin) {
  const title = {
    in: `in ${inText(k)}`, near: `in no cluster, nearest is ${inText(k)}`,
  }[sign] ?? `nearly in ${inText(k)}, ${margin}`;
  return el("span", { class: "close", title, "data-cluster": k },
    el("span", { "aria-hidden": "true" }, sign), spoken(`, ${title}`), centroidCanvas(k),
    margin && el("span", { "aria-hidden": "true" }, margin));
}

const saveTableButton = (id, rows, name) => el("button", {
  type: "button", id, title: "file, cluster, prototype, cost, margin",
  click: () => saveFile(asTable(rows()), name, "text/csv"),
}, "Save list (CSV)");
