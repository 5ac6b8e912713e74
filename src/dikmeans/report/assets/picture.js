// A picture: how it fits its centroid and the next-best ones, what does not fit, what it costs.

function showPicture(slot) {
  const cluster = LABELS[slot], isOutside = isOutlier(slot);
  const order = [...(isOutside ? OUTLIERS : MEMBERS[cluster])].sort(SORTS[sortBy][1]), rank = order.indexOf(slot);
  const neighborLink = (by) =>
    `#picture-${indexOf(order[(rank + by + order.length) % order.length])}`;
  const rows = CANDIDATES.map((_, candidate) => candidateRow(slot, candidate));
  const aligned = newCanvas("large", "The picture, aligned with its centroid");
  const redraw = () => {
    rows.forEach((row) => row.redraw());
    paintSlot(aligned, slot, state.alignment.picture);
  };
  aligned.paint = redraw;
  const slider = alignSlider("picture", redraw);
  playCurrent = slider.play;
  const isAligned = DATA.warp !== "none";
  const highest = Math.max(...CANDIDATES.map((c) => c.cost[slot]));

  MAIN.append(
    el("p", { class: "crumbs" },
      isOutside ? el("a", { href: "#outliers", id: "up" }, "Outliers")
        : el("a", { href: `#cluster-${cluster}`, id: "up" }, clusterName(cluster)),
      ` ${rank + 1} of ${count(order.length)}, ${SORTS[sortBy][0].toLowerCase()} `,
      el("a", { href: neighborLink(-1), id: "before", "aria-label": "Previous picture" }, "←"), " ",
      el("a", { href: neighborLink(1), id: "after", "aria-label": "Next picture" }, "→")),
    el("section", { class: "head" },
      el("div", { class: "portraits", id: "three" },
        ORIGINALS && captioned(painted(newCanvas("large", `The original of ${nameOf(slot)}`),
          (canvas) => paintOriginal(canvas, slot)), "the original"),
        captioned(painted(newCanvas("large", `${nameOf(slot)} as compared`), (canvas) => {
          setSize(canvas, comparedSize());
          paintPicture(canvas, valuesOf(slot));
        }), el("span", {}, "as compared ", why("compared"))),
        isAligned && captioned(aligned, el("span", {}, "aligned ", why("aligned")))),
      el("div", {},
        el("h1", { class: "name" }, nameOf(slot)),
        el("p", { class: "lead" }, decision(slot)),
        signLegend("compared"),
        DATA.classes && note(`Its ${LABEL_WORD}: ${className(classOf(slot))}.`),
        DATA.links?.[slot] && note(el("a", { href: DATA.links[slot] }, "Open the file")),
        hasSound(slot) && el("audio", {
          controls: true, preload: "none", src: addressOf(DATA.sounds[slot]) }),
        isAligned && slider.element)),
    el("section", {},
      el("h2", {}, K > 1 && !isOutside ? "Why this cluster and not another" : "How it fits"),
      note(explanation()),
      isAligned && !IS_SIGNAL && deformationChoice(redraw),
      ...rows.map((row) => row.element),
      barLegend("Bars: cost of this picture", highest)),
    el("section", {},
      el("h2", {}, "All clusters"),
      note("Cost of this picture with each centroid, cheapest first. The longest bar is the "
        + "highest of them. ", why("cost")),
      allCosts(slot)));
  redraw();
}

function explanation() {
  if (DATA.warp === "none")
    return "The picture is compared with each centroid pixel by pixel. What does not fit is drawn "
      + "in orange where the centroid has too much, in blue where it has too little.";
  const warped = DATA.direction === "centroid-to-image"
    ? "Each centroid is deformed to match the picture" : "The picture is deformed to match each "
    + "centroid";
  return `${warped}. What does not fit is drawn in orange where the deformed one has too much, in `
    + "blue where it has too little. “Aligned” is the picture in the pose of the centroid.";
}

// Why the picture is in its cluster, in words.
function decision(slot) {
  const misfitOf = (candidate) => candidate.cost[slot] - candidate.bending[slot];
  const [first, next] = CANDIDATES, cost = percent(first.cost[slot]);
  const parts = DATA.warp === "none" ? ""
    : ` (${percent(misfitOf(first))} does not fit, ${percent(first.bending[slot])} for the `
      + "deformation)";
  if (isOutlier(slot))
    return `It belongs to no cluster. Nearest to it is ${inText(LABELS[slot])}, where its cost would `
      + `be ${cost}${parts}.`;
  if (!next) return `Its cost is ${cost}${parts}.`;
  const assigned = `In ${inText(LABELS[slot])} its cost is ${cost}${parts}.`;
  const other = `${shortName(next.cluster[slot])} would cost`;
  if (marginOf(slot) < 0)
    return `${assigned} ${other} less, ${percent(next.cost[slot])}, but the search for the nearest `
      + "cluster, which skips pairs that seem hopeless, did not try it to the end.";
  const bendingGap = next.bending[slot] - first.bending[slot];
  const because = DATA.warp === "none" ? ""
    : bendingGap > misfitOf(next) - misfitOf(first)
      ? ", mostly because more deformation would be needed"
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
  const warpedCanvas = newCanvas("large", `Deformed, cluster ${k}`);
  const alignedCanvas = newCanvas("large", `Aligned picture, cluster ${k}`);
  const residualCanvas = newCanvas("large", `What does not fit, cluster ${k}`);
  const mesh = meshOverlay();
  const limit = 0.8 * centroid.reduce((most, v) => Math.max(most, Math.abs(v)), 1e-9);
  const redraw = () => {
    const t = state.alignment.picture;
    const crop = showsOriginals() && warpsCentroid ? cropOf(slot) : UNCHANGED;
    if (warpsCentroid) paintWarpedPrototype(warpedCanvas, prototype, forward, t, crop);
    else paintSlot(warpedCanvas, slot, t, rank);
    const warped = resample(source, forward, t);
    paintResidual(residualCanvas, warped.map((v, p) => v - target[p]), limit);
    paintSlot(alignedCanvas, slot, t, rank);
    drawDeformation(mesh, { forward, lines }, t, crop);
  };

  const cost = candidate.cost[slot], bending = candidate.bending[slot];
  const folded = candidate.folded[slot], isAligned = DATA.warp !== "none";
  const highest = Math.max(...CANDIDATES.map((c) => c.cost[slot]));
  const chip = rank === 0 ? (isOutlier(slot) ? "nearest" : "its cluster") : signed(cost - CANDIDATES[0].cost[slot]);
  const name = PROTOTYPES_OF[k].length > 1 ? prototypeName(prototype) : "centroid";
  const label = `cost ${percent(cost)}, of which deformation ${percent(bending)}`;
  const element = el("article", { class: `candidate${rank === 0 ? " assigned" : ""}` },
    el("header", {},
      el("a", { href: `#cluster-${k}` }, clusterName(k)), el("span", { class: "chip" }, chip)),
    el("div", { class: "body" },
      el("div", { class: "steps" },
        captioned(prototypeCanvas(prototype, "large", `Centroid ${k}`), name),
        isAligned && captioned(el("span", { class: "stack" }, warpedCanvas, mesh),
          warpsCentroid ? "deformed to match" : "picture, deformed"),
        isAligned && warpsCentroid && captioned(alignedCanvas, "picture, aligned"),
        captioned(residualCanvas, el("span", {}, "what does not fit ", why("residual")))),
      el("div", { class: "split" },
        costBar(cost, bending, highest, label),
        el("p", {},
          el("b", {}, percent(cost)),
          isAligned && `${percent(cost - bending)} does not fit + ${percent(bending, 2)} deformation`,
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
