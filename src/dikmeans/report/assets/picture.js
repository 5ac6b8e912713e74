// A picture: how it fits its centroid and the next-best ones, what does not fit, what it costs.

function showPicture(slot) {
  const cluster = LABELS[slot];
  const order = [...MEMBERS[cluster]].sort(SORTS[sortBy][1]), rank = order.indexOf(slot);
  const neighborLink = (by) =>
    `#picture-${indexOf(order[(rank + by + order.length) % order.length])}`;
  const rows = CANDIDATES.map((_, candidate) => candidateRow(slot, candidate));
  const redraw = (t) => rows.forEach((row) => row.redraw(t));
  const slider = alignSlider("picture", redraw);
  playCurrent = slider.play;

  MAIN.append(
    el("p", { class: "crumbs" },
      el("a", { href: `#cluster-${cluster}`, id: "up" }, clusterName(cluster)),
      ` ${rank + 1} of ${count(order.length)}, ${SORTS[sortBy][0].toLowerCase()} `,
      el("a", { href: neighborLink(-1), id: "before", "aria-label": "Previous picture" }, "←"), " ",
      el("a", { href: neighborLink(1), id: "after", "aria-label": "Next picture" }, "→")),
    el("section", { class: "head" },
      el("div", { class: "portraits" },
        captioned(pictureCanvas(slot, "large", `The picture ${nameOf(slot)}`), "the picture")),
      el("div", {},
        el("h1", { class: "name" }, nameOf(slot)),
        el("p", { class: "lead" }, decision(slot)),
        DATA.classes && note(`Its label: ${className(classOf(slot))}.`),
        DATA.warp !== "none" && slider.element)),
    el("section", {},
      el("h2", {}, K > 1 ? "Why this cluster and not another" : "How it fits"),
      note(explanation()),
      ...rows.map((row) => row.element),
      barLegend("Bars: cost of this picture")),
    el("section", {},
      el("h2", {}, "All clusters"),
      note("Cost of this picture with each centroid, cheapest first."),
      allCosts(slot)));
  redraw(state.alignment.picture);
}

function explanation() {
  if (DATA.warp === "none")
    return "The picture is compared with each centroid pixel by pixel. The residual is the "
      + "centroid minus the picture: orange where the centroid has too much, blue where it has "
      + "too little.";
  const warped = DATA.direction === "centroid-to-image"
    ? "Each centroid is warped onto the picture" : "The picture is warped onto each centroid";
  return `${warped}; the lines show how an even grid is deformed. The residual is the difference `
    + "that remains: orange where the warped picture has too much, blue where it has too little. "
    + "“Aligned” is the picture in the frame of the centroid.";
}

// Why the picture is in its cluster, in words.
function decision(slot) {
  const misfitOf = (candidate) => candidate.cost[slot] - candidate.bending[slot];
  const [first, next] = CANDIDATES, cost = percent(first.cost[slot]);
  const parts = DATA.warp === "none" ? ""
    : ` (${percent(misfitOf(first))} misfit, ${percent(first.bending[slot])} bending)`;
  if (!next) return `Its cost is ${cost}${parts}.`;
  const assigned = `In cluster ${LABELS[slot]} its cost is ${cost}${parts}.`;
  const other = `Cluster ${next.cluster[slot]} would cost`;
  if (marginOf(slot) < 0)
    return `${assigned} ${other} less, ${percent(next.cost[slot])}, but the search for the nearest `
      + "cluster, which skips pairs that seem hopeless, did not try it to the end.";
  const bendingGap = next.bending[slot] - first.bending[slot];
  const because = DATA.warp === "none" ? ""
    : bendingGap > misfitOf(next) - misfitOf(first) ? ", mostly because it would have to bend more"
    : ", mostly because less of it would fit";
  return `${assigned} ${other} ${percent(next.cost[slot])}${because}.`;
}

// The prototype of that rank, warped with its grid, the residual, the aligned picture, the cost.
function candidateRow(slot, rank) {
  const candidate = CANDIDATES[rank], k = candidate.cluster[slot], warp = warpOf(rank, slot);
  const warpsCentroid = DATA.direction === "centroid-to-image";
  const image = Float32Array.from(valuesOf(slot), (v) => v * GAIN[slot]);
  const prototype = candidate.prototype[slot], centroid = PROTOTYPES[prototype];
  const [source, target] = warpsCentroid ? [centroid, image] : [image, centroid];
  const forward = forwardGrid(warp);
  // lines show where points of the picture go: the inverse of where pixels come from
  const lines = warpsCentroid ? alignedGrid(rank, slot) : inverseGrid(warp);
  const warpedCanvas = newCanvas("large", `Warped, cluster ${k}`);
  const alignedCanvas = newCanvas("large", `Aligned picture, cluster ${k}`);
  const residualCanvas = newCanvas("large", `Residual, cluster ${k}`);
  const box = { class: "mesh", viewBox: `0 0 ${COLUMNS} ${ROWS}`, "aria-hidden": "true" };
  const mesh = svg("svg", box);
  const limit = 0.8 * centroid.reduce((most, v) => Math.max(most, Math.abs(v)), 1e-9);
  const redraw = (t) => {
    const warped = resample(source, forward, t), gain = GAIN[slot];
    if (warpsCentroid) paintCentroid(warpedCanvas, warped);
    else paintValues(warpedCanvas, warped, DATA.tone.low * gain, DATA.tone.high * gain);
    paintResidual(residualCanvas, warped.map((v, p) => v - target[p]), limit);
    paintPicture(alignedCanvas, alignedValues(slot, t, rank));
    drawGrid(mesh, lines, t);
  };
  warpedCanvas.paint = () => redraw(state.alignment.picture);

  const cost = candidate.cost[slot], bending = candidate.bending[slot];
  const folded = candidate.folded[slot], isAligned = DATA.warp !== "none";
  const highest = Math.max(...CANDIDATES.map((c) => c.cost[slot]));
  const chip = rank === 0 ? "its cluster" : signed(cost - CANDIDATES[0].cost[slot]);
  const name = PROTOTYPES_OF[k].length > 1 ? prototypeName(prototype) : "centroid";
  const label = `cost ${percent(cost)}, of which bending ${percent(bending)}`;
  const element = el("article", { class: `candidate${rank === 0 ? " assigned" : ""}` },
    el("header", {},
      el("a", { href: `#cluster-${k}` }, clusterName(k)), el("span", { class: "chip" }, chip)),
    el("div", { class: "body" },
      el("div", { class: "steps" },
        captioned(prototypeCanvas(centroid, "large", `Centroid ${k}`), name),
        isAligned && captioned(el("span", { class: "stack" }, warpedCanvas, mesh),
          warpsCentroid ? "warped onto the picture" : "picture, warped"),
        captioned(residualCanvas, "residual"),
        isAligned && warpsCentroid && captioned(alignedCanvas, "picture, aligned")),
      el("div", { class: "split" },
        costBar(cost, bending, highest, label),
        el("p", {},
          el("b", {}, percent(cost)),
          isAligned && `${percent(cost - bending)} misfit + ${percent(bending, 2)} bending`,
          folded > 0 && ` · folds ${asPercent(folded)} of the picture`))));
  return { element, redraw };
}

function allCosts(slot) {
  const order = DATA.clusters.map((_, k) => k).sort((a, b) => costTo(slot, a) - costTo(slot, b));
  const highest = costTo(slot, order[order.length - 1]);
  const row = (k) => {
    const bar = el("i", { class: k === LABELS[slot] ? "assigned" : "" });
    bar.style.width = `${(100 * costTo(slot, k)) / highest}%`;
    const link = { href: `#cluster-${k}`, title: clusterName(k) };
    return el("li", {},
      el("a", link, centroidCanvas(k), String(k)),
      el("span", { class: "track" }, bar),
      el("span", {}, percent(costTo(slot, k))));
  };
  return el("ol", { class: "costs" }, ...order.map(row));
}
