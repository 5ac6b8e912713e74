// A picture: how it fits its own centroid and the next ones, what is left over, what the bending costs.

function showPicture(slot) {
  const own = LABELS[slot];
  const order = [...MEMBERS[own]].sort(SORTS[sortBy][1]), here = order.indexOf(slot);
  const step = (by) => `#picture-${indexOf(order[(here + by + order.length) % order.length])}`;
  const rows = CANDIDATES.map((_, rank) => candidateRow(slot, rank));
  const redraw = (t) => rows.forEach((row) => row.redraw(t));
  const slider = alignSlider("picture", redraw);
  playCurrent = slider.play;
  leaveView = () => {};

  MAIN.append(
    el("p", { class: "crumbs" },
      el("a", { href: `#cluster-${own}`, id: "up" }, clusterName(own)),
      el("span", {}, ` ${here + 1} of ${count(order.length)}, ${SORTS[sortBy][0].toLowerCase()} `),
      el("a", { href: step(-1), id: "before", "aria-label": "Picture before" }, "←"), " ",
      el("a", { href: step(1), id: "after", "aria-label": "Picture after" }, "→")),
    el("section", { class: "head" },
      el("div", { class: "portraits" }, labelled(pictureCanvas(slot, "large", `The picture ${nameOf(slot)}`), "the picture")),
      el("div", {},
        el("h1", { class: "name" }, nameOf(slot)),
        el("p", { class: "lead" }, verdict(slot)),
        DATA.classes ? el("p", { class: "note" }, `Its label: ${className(classOf(slot))}.`) : null,
        DATA.warp === "none" ? null : slider.element)),
    el("section", {},
      el("h2", {}, K > 1 ? "Why here and not there" : "How it fits"),
      el("p", { class: "note" }, explanation()),
      ...rows.map((row) => row.element),
      barLegend("Bars: cost of this picture")),
    el("section", {}, el("h2", {}, "All clusters"), el("p", { class: "note" }, "What this picture costs with each centroid, cheapest first."), allCosts(slot)));
  redraw(state.slides.picture);
}

function explanation() {
  if (DATA.warp === "none") return "The picture is compared with each centroid pixel by pixel. The residual shows the centroid minus the picture: orange where the centroid has too much, blue where it has too little.";
  const who = DATA.direction === "centroid-to-image"
    ? "Each centroid is bent onto the picture; the lines show where an even grid goes."
    : "The picture is bent onto each centroid; the lines show where an even grid goes.";
  return `${who} The residual is what the bend could not explain: orange where the bent picture has too much, blue where it has too little. “Brought back” is the picture in the centroid’s own frame.`;
}

function verdict(slot) {
  const own = LABELS[slot], mine = CANDIDATES[0];
  const split = DATA.warp === "none" ? "" : ` (${percent(mine.cost[slot] - mine.bending[slot])} misfit, ${percent(mine.bending[slot])} bending)`;
  if (K < 2) return `It costs ${percent(mine.cost[slot])}${split}.`;
  const next = CANDIDATES[1], k = next.cluster[slot];
  const misfit = next.cost[slot] - next.bending[slot] - (mine.cost[slot] - mine.bending[slot]);
  const bending = next.bending[slot] - mine.bending[slot];
  if (misfit + bending < 0)
    return `In cluster ${own} it costs ${percent(mine.cost[slot])}${split}. Cluster ${k} would cost less, ${percent(next.cost[slot])}, but the assignment, which gives up early on pairs that look hopeless, did not get that far.`;
  const because = DATA.warp === "none" ? "" : bending > misfit ? ", mostly because it would have to bend further" : ", mostly because more of it would not fit";
  return `In cluster ${own} it costs ${percent(mine.cost[slot])}${split}. Cluster ${k} would cost ${percent(next.cost[slot])}${because}.`;
}

// The centroid of that rank, the bent one with its grid, the residual, the picture brought back, the cost.
function candidateRow(slot, rank) {
  const fit = CANDIDATES[rank], k = fit.cluster[slot], warp = warpOf(rank, slot);
  const centroidWarped = DATA.direction === "centroid-to-image";
  const image = Float32Array.from(valuesOf(slot), (v) => v * GAIN[slot]);
  const centroid = FORMS[fit.form[slot]];
  const source = centroidWarped ? centroid : image, target = centroidWarped ? image : centroid;
  const forward = forwardGrid(warp);
  // the lines follow the picture: where its points go, which is the inverse of where pixels come from
  const lines = centroidWarped ? alignedGrid(rank, slot) : inverseGrid(warp);
  const bent = newCanvas("large", `Bent, cluster ${k}`), back = newCanvas("large", `Picture brought back, cluster ${k}`);
  const residual = newCanvas("large", `Residual, cluster ${k}`);
  const mesh = svg("svg", { class: "mesh", viewBox: `0 0 ${COLUMNS} ${ROWS}`, "aria-hidden": "true" });
  const limit = 0.8 * centroid.reduce((most, v) => Math.max(most, Math.abs(v)), 1e-9);
  const draw = (t) => {
    const warped = resample(source, forward, t);
    if (centroidWarped) paintCentroid(bent, warped); else paintValues(bent, warped, DATA.tone.low * GAIN[slot], DATA.tone.high * GAIN[slot]);
    paintResidual(residual, warped.map((v, p) => v - target[p]), limit);
    paintPicture(back, alignedValues(slot, t, rank));
    drawGrid(mesh, lines, t);
  };
  bent.paint = () => draw(state.slides.picture);
  const full = Math.max(...CANDIDATES.map((c) => c.cost[slot]));
  const aligned = DATA.warp !== "none";
  const element = el("article", { class: `candidate${rank === 0 ? " own" : ""}` },
    el("header", {},
      el("a", { href: `#cluster-${k}` }, clusterName(k)),
      el("span", { class: "chip" }, rank === 0 ? "its cluster" : signed(fit.cost[slot] - CANDIDATES[0].cost[slot]))),
    el("div", { class: "body" }, el("div", { class: "steps" },
      labelled(formCanvas(fit.form[slot], "large", `Centroid ${k}`), FORMS_OF[k].length > 1 ? formName(fit.form[slot]) : "centroid"),
      aligned ? el("figure", {}, el("span", { class: "stack" }, bent, mesh), el("figcaption", {}, centroidWarped ? "bent onto the picture" : "picture, bent")) : null,
      labelled(residual, "residual"),
      aligned && centroidWarped ? labelled(back, "picture, brought back") : null),
    el("div", { class: "split" },
      costBar(fit.cost[slot], fit.bending[slot], full),
      el("p", {}, el("b", {}, percent(fit.cost[slot])), aligned ? `${percent(fit.cost[slot] - fit.bending[slot])} misfit + ${percent(fit.bending[slot], 2)} bending` : "",
        fit.folded[slot] > 0 ? ` · folds ${(100 * fit.folded[slot]).toFixed(1)}\u202f% of the picture` : ""))));
  return { element, redraw: draw };
}

function allCosts(slot) {
  const order = DATA.clusters.map((_, k) => k).sort((a, b) => costTo(slot, a) - costTo(slot, b));
  const highest = costTo(slot, order[order.length - 1]);
  return el("ol", { class: "costs" }, ...order.map((k) => {
    const bar = el("i", { class: k === LABELS[slot] ? "own" : "" });
    bar.style.width = `${(100 * costTo(slot, k)) / highest}%`;
    return el("li", {}, el("a", { href: `#cluster-${k}`, title: clusterName(k) }, centroidCanvas(k), String(k)), el("span", { class: "track" }, bar), el("span", {}, percent(costTo(slot, k))));
  }));
}
