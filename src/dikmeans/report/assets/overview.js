// Overview: centroids beside those of K-means, the course of the fit, what was chosen and why.

function showOverview() {
  const total = DATA.clusters.reduce((sum, c) => sum + c.size, 0);
  const mean = DATA.distortion / total;
  MAIN.append(
    el("section", { class: "intro" },
      el("h1", {}, DATA.title),
      el("p", { class: "lead" },
        `${plural(DATA.total, "picture")} in ${plural(K, "cluster")}, found without labels. ${INTRO[DATA.warp]}`),
      sampleNote(),
      DATA.averaged ? el("p", { class: "note" }, "These pictures have neither one nor three channels; the mean of their channels is shown.") : null,
      figures(mean)),
    el("section", { "aria-labelledby": "centroids" },
      el("h2", { id: "centroids" }, "The clusters"),
      el("p", { class: "note" }, BASELINE
        ? "Left: the centroid, the picture that fits its members best once it may be bent; where a cluster has several forms, the one that most members have. Right: what plain K-means, which compares pixel by pixel, makes of the same pictures from the same start. Cohesion is the share of its members’ energy that a centroid explains."
        : "Each centroid is the mean of its members: this model is plain K-means. Cohesion is the share of its members’ energy that a centroid explains."),
      clusterCards()),
    el("section", { class: "two" },
      el("div", {}, el("h2", {}, "How the fit went"), distortionCurve()),
      el("div", {}, el("h2", {}, "What was chosen, and why"), choiceTable())),
    el("footer", {}, provenance()));
  roving(document.getElementById("cards"));
}

const INTRO = {
  tps: "Two pictures count as alike if a smooth bend takes one to the other; the bend itself has a price.",
  affine: "Two pictures count as alike if a shift, a turn, a stretch or a slant takes one to the other.",
  none: "Two pictures count as alike if they agree pixel by pixel.",
};

function sampleNote() {
  if (!SAMPLED) return null;
  return el("p", { class: "note sample", id: "sample-note" },
    `This page shows ${count(N)} of the ${count(DATA.total)} pictures: a random sample with the same share of every cluster. Sizes, costs, the comparison with K-means and the confusion matrix count all ${count(DATA.total)}.`);
}

function figures(mean) {
  const tile = (value, name, beside) => el("div", { class: "figure" }, el("strong", {}, value), el("span", {}, name), beside ? el("small", {}, beside) : null);
  const share = (v) => `${(100 * v).toFixed(1)}\u202f%`;
  const cohesion = 1 - mean / DATA.energy;
  const tiles = [tile(share(cohesion), "cohesion", DATA.baseline ? `K-means ${share(1 - DATA.baseline.distortion / DATA.total / DATA.energy)}` : "share of the energy explained")];
  const found = DATA.agreement;
  if (found) {
    const beside = (name) => (found.baselineScores ? `K-means ${share(found.baselineScores[name])}` : null);
    tiles.push(
      tile(share(found.scores.accuracy), "agree with the labels given", beside("accuracy")),
      tile(share(found.scores.nmi), "normalised mutual information", beside("nmi")));
  } else {
    const sizes = DATA.clusters.map((c) => c.size);
    tiles.push(tile(`${count(Math.min(...sizes))} – ${count(Math.max(...sizes))}`, "pictures a cluster", "no labels were given"));
  }
  return el("div", { class: "figures" }, ...tiles);
}

function clusterCards() {
  const highest = Math.max(...DATA.clusters.map((c) => c.cost ?? 0));
  const cards = DATA.clusters.map((cluster, k) => {
    const pair = el("span", { class: "pair" }, el("span", { class: "mine" }, centroidCanvas(k, "large", `Centroid of cluster ${k}`)));
    if (BASELINE) {
      const canvas = painted(newCanvas("large", `K-means centroid beside cluster ${k}`), (c) => paintCentroid(c, BASELINE[k]));
      pair.append(el("span", { class: "theirs" }, canvas, el("small", {}, `K-means, ${count(DATA.baseline.sizes[k])}`)));
    }
    const matched = matchedClass(k);
    return el("a", { class: "card", href: `#cluster-${k}`, "data-cluster": k },
      pair,
      el("span", { class: "caption" },
        el("b", {}, `Cluster ${k}`),
        matched === null ? null : el("span", { class: "chip" }, `${className(matched)} · ${Math.round(100 * purity(k))}\u202f%`)),
      cluster.size
        ? el("span", { class: "meta" }, `${plural(cluster.size, "picture")}${FORMS_OF[k].length > 1 ? ` in ${FORMS_OF[k].length} forms` : ""}, cohesion ${percent(DATA.energy - cluster.cost, 0)}`)
        : el("span", { class: "meta" }, "empty: no picture is nearest to it"),
      cluster.size ? costBar(cluster.cost, cluster.bending, highest, `mean cost ${percent(cluster.cost)}`) : null);
  });
  return el("div", {}, el("div", { class: BASELINE ? "cards" : "cards single", id: "cards" }, ...cards), barLegend("Bars: mean cost of the members"));
}

function barLegend(text) {
  const bends = DATA.warp === "tps";
  return el("p", { class: "legend" }, text + ", ", el("i", { class: "swatch data" }), " what does not fit",
    DATA.warp === "none" ? "" : " + ", DATA.warp === "none" ? "" : el("i", { class: "swatch bending" }),
    DATA.warp === "none" ? "" : bends ? " what the bending costs" : " what the displacement costs",
    ". 100 % is the energy of an average picture.");
}

function distortionCurve() {
  const { phases, cost, stopped } = DATA.history;
  if (!cost.length) return el("p", { class: "note" }, "The model has no record of its fit.");
  const width = 560, height = 260, left = 46, right = 12, top = 30, bottom = 30;
  const values = cost.map((c) => (100 * c) / DATA.energy);
  const groups = [];
  phases.forEach((phase, i) => {
    const last = groups[groups.length - 1];
    if (last && last.phase === phase) last.end = i;
    else groups.push({ phase, start: i, end: i });
  });
  const high = Math.max(...values), x = (i) => left + ((i + 0.5) / values.length) * (width - left - right);
  const y = (v) => top + (1 - v / high) * (height - top - bottom);
  const chart = svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "chart", role: "img", "aria-label": `Distortion over ${values.length} iterations, from ${values[0].toPrecision(3)} to ${values[values.length - 1].toPrecision(3)}` });
  for (const share of [0, 0.5, 1]) {
    chart.append(svg("line", { x1: left, x2: width - right, y1: y(share * high), y2: y(share * high), class: "rule" }));
    const label = svg("text", { x: left - 8, y: y(share * high) + 4, "text-anchor": "end" });
    label.textContent = `${(share * high).toFixed(0)}\u202f%`;
    chart.append(label);
  }
  groups.forEach((group, g) => {
    const from = x(group.start - 0.5), to = x(group.end + 0.5);
    if (g % 2) chart.append(svg("rect", { x: from, y: top - 18, width: to - from, height: height - top - bottom + 18, class: "band" }));
    const room = (to - from) / 6.2;
    if (room >= 4) {
      const label = svg("text", { x: (from + to) / 2, y: top - 6, "text-anchor": "middle", class: "phase" });
      const name = PHASES[group.phase] || group.phase;
      label.textContent = name.length > room ? `${name.slice(0, Math.max(1, Math.floor(room) - 1))}…` : name;
      chart.append(label);
    }
    const points = values.slice(group.start, group.end + 1).map((v, i) => `${x(group.start + i)},${y(v)}`);
    chart.append(svg("polyline", { points: points.join(" "), class: "curve" }));
    points.forEach((p) => chart.append(svg("circle", { cx: p.split(",")[0], cy: p.split(",")[1], r: 2.4, class: "dot" })));
  });
  const axis = svg("text", { x: width - right, y: height - 8, "text-anchor": "end" });
  axis.textContent = `iteration ${values.length}`;
  chart.append(axis);
  return el("div", {}, chart,
    el("p", { class: "note" },
      `Distortion: the mean cost of the pictures to their centroids, in per cent of the energy of an average picture. ${groups.length > 1 ? "The fit begins rigid and grows soft; each phase has its own measure and lowers its own distortion. " : ""}It stopped because: ${stopped || "not recorded"}.`));
}

const PHASES = { none: "K-means", affine: "affine", search: "search", "usual deformations": "usual", "all images": "all" };

function choiceTable() {
  return el("table", { class: "choices" }, el("tbody", {}, ...DATA.choices.map((choice) =>
    el("tr", {},
      el("th", { scope: "row" }, choice.name),
      el("td", {}, el("b", {}, choice.value), " ", el("span", { class: `origin ${choice.origin}` }, choice.origin), el("p", {}, choice.reason))))));
}

function provenance() {
  const card = DATA.card;
  return [card.title, card.source, card.citation].filter((text) => text && text !== "-").join(" · ") + ` — made by dikmeans ${DATA.version}; nothing on this page is loaded from a network.`;
}
