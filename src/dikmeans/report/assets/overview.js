// Overview: centroids beside those of K-means, the course of the fit, its settings.

const MAX_OUTLIERS_SHOWN = 16;
const INTRO = {
  tps: "Two pictures are similar if a smooth deformation turns one into the other; the deformation "
    + "itself has a cost.",
  affine: "Two pictures are similar if a shift, rotation, scaling or shear turns one into the "
    + "other.",
  none: "Two pictures are similar if they agree pixel by pixel.",
};

function showOverview() {
  const parts = [
    el("section", { class: "intro" },
      el("h1", {}, DATA.title),
      el("p", { class: "lead" },
        `${plural(DATA.total - DATA.outliers, KIND)} in ${plural(K, "cluster")}`
        + `${DATA.outliers ? ` and ${plural(DATA.outliers, "outlier")}` : ""}, found without looking at any `
        + `${LABEL_WORDS}. ${INTRO[DATA.warp]}`),
      sampleNote(), problemNote(),
      DATA.averaged && note("These pictures have neither one nor three channels; the mean of "
        + "their channels is shown."),
      figures()),
    el("section", { "aria-labelledby": "centroids" },
      el("h2", { id: "centroids" }, "The clusters"),
      clustersNote(), signLegend(),
      clusterCards()),
    OUTLIERS.length > 0 && outlierSection(),
    DATA.likeness && el("section", {},
      el("h2", {}, "What would merge next"),
      note("Clusters that are nearly alike are joined far to the left. ", why("alike"), " ",
        el("a", { href: "#alike" }, "Look at the pairs")),
      likenessTree()),
    el("section", { class: "two" },
      el("div", {}, el("h2", {}, "The course of the fit"), costCurve()),
      el("div", {}, el("h2", {}, "The settings, and the reasons"), settingsTable())),
    el("footer", {}, provenance()),
  ];
  MAIN.append(...parts.filter(Boolean));
  roving(document.getElementById("cards"));
}

function clustersNote() {
  if (!BASELINE)
    return note("Each centroid is the mean of its members: this model is plain K-means. ",
      why("kmeans"));
  const large = showsOriginals()
    ? "Large: what the members have in common, the mean of your pictures after alignment"
    : "Large: the centroid as the machine compares it, prepared so that brightness, paper or light "
      + "do not count (the settings below say how)";
  return note(`${large}. `, why("centroid"), " Small: the same for plain K-means, which compares "
    + "pixel by pixel. ", why("kmeans"));
}

function sampleNote() {
  return SAMPLED && el("p", { class: "note sample", id: "sample-note" },
    `This page shows ${count(N)} of the ${count(DATA.total)} pictures: a random sample with the `
    + "same share of every cluster. Sizes, costs, the comparison with K-means and the table of "
    + `${LABEL_WORDS} count all ${count(DATA.total)}.`);
}

// Originals that could not be shown, by name.
function problemNote() {
  const { total, first } = DATA.problems;
  if (!total) return null;
  const rest = total - first.length;
  return el("details", { class: "note sample", id: "problem-note" },
    el("summary", {}, `${plural(total, "original")} of ${count(DATA.total)} could not be shown; `
      + "the small pictures that were compared take their place."),
    el("ul", {}, ...first.map(([name, reason]) => el("li", {}, el("b", {}, name), ` ${reason}`)),
      rest > 0 && el("li", {}, `and ${count(rest)} more`)));
}

function figures() {
  const figure = (value, name, beside, word) =>
    el("div", { class: "figure" },
      el("strong", {}, value), el("span", {}, name, " ", word && why(word)),
      beside && el("small", {}, beside));
  const meanCost = (inertia, n) => asPercent(inertia / n / DATA.energy);
  const tiles = [figure(meanCost(DATA.inertia, DATA.total - DATA.outliers), "mean cost",
    DATA.baseline && `K-means ${meanCost(DATA.baseline.inertia, DATA.total)}; less is better`, "cost")];
  const agreement = DATA.agreement;
  if (agreement) {
    const score = (key, name, word) => figure(asPercent(agreement.scores[key]), name,
      agreement.baselineScores && `K-means ${asPercent(agreement.baselineScores[key])}`, word);
    tiles.push(score("accuracy", `agree with the ${LABEL_WORDS}, one to one`, "accuracy"),
      score("nmi", "normalized mutual information", "nmi"));
  } else {
    const sizes = DATA.clusters.map((c) => c.size);
    tiles.push(figure(`${count(Math.min(...sizes))} – ${count(Math.max(...sizes))}`,
      "pictures per cluster", "no labels were given"));
  }
  return el("div", { class: "figures" }, ...tiles);
}

// The pictures that belong to no cluster, the worst first.
function outlierSection() {
  const slots = [...OUTLIERS].sort(SORTS.worst[1]).slice(0, MAX_OUTLIERS_SHOWN);
  return el("section", { id: "outlier-section" },
    el("h2", {}, "Outliers"),
    note(`${plural(DATA.outliers, KIND)} in no cluster: even the nearest fits badly, or a person has `
      + "rejected them. They count in no size and no mean. ", why("outlier"), " ",
      el("a", { href: "#outliers" }, "Look at all of them")),
    growingWall(slots, "own"));
}

function clusterCards() {
  const highest = Math.max(...DATA.clusters.map((c) => c.cost ?? 0));
  const cards = DATA.clusters.map((cluster, k) => clusterCard(cluster, k, highest));
  return el("div", {},
    el("div", { class: BASELINE ? "cards" : "cards single", id: "cards" }, ...cards),
    barLegend("Bars: mean cost of the members", highest));
}

function clusterCard(cluster, k, highest) {
  const pair = el("span", { class: "pair" },
    el("span", { class: "model" }, centroidCanvas(k, "large", `Centroid of cluster ${k}`)),
    BASELINE && el("span", { class: "kmeans" },
      painted(newCanvas("large", `K-means centroid beside cluster ${k}`),
        (canvas) => paintBaseline(canvas, k)),
      el("small", {}, `K-means, ${count(DATA.baseline.sizes[k])}`)));
  const majority = majorityText(k), n = PROTOTYPES_OF[k].length;
  const prototypes = n > 1 ? `, ${n} prototypes` : "";
  return el("a", { class: "card", href: `#cluster-${k}`, "data-cluster": k },
    pair,
    el("span", { class: "caption" },
      el("b", {}, shortName(k)),
      majority !== null
        && el("span", { class: "chip", title: GLOSSARY.majority[1] }, majority)),
    el("span", { class: "meta" }, cluster.size
      ? `${plural(cluster.size, KIND)}${prototypes}, cost ${percent(cluster.cost)}`
      : "empty: no picture is nearest to it"),
    cluster.size > 0
      && costBar(cluster.cost, cluster.bending, highest, `mean cost ${percent(cluster.cost)}`));
}

// `full` is the cost that a whole bar stands for.
function barLegend(text, full) {
  const warped = DATA.warp !== "none";
  return el("p", { class: "legend" },
    `${text}: `, el("i", { class: "swatch misfit" }), " what does not fit",
    warped && " + ", warped && el("i", { class: "swatch bending" }),
    warped && ` what the ${DATA.warp === "tps" ? "deformation" : "displacement"} costs`,
    `. A whole bar is ${percent(full)}. `, why("cost"));
}

function costCurve() {
  const { phases, cost, stopped } = DATA.history;
  if (!cost.length) return note("The model has no record of its fit.");
  // as wide as there is room, so that letters keep their size on a phone
  const width = Math.min(560, Math.max(280, document.documentElement.clientWidth - 40));
  const height = 260, left = 46, right = 12, top = 30, bottom = 30;
  const values = cost.map((c) => (100 * c) / DATA.energy), high = Math.max(...values);
  const x = (i) => left + ((i + 0.5) / values.length) * (width - left - right);
  const y = (v) => top + (1 - v / high) * (height - top - bottom);
  const text = (content, attributes) => {
    const label = svg("text", attributes);
    label.textContent = content;
    return label;
  };
  const ends = [values[0], values[values.length - 1]].map((v) => `${v.toPrecision(3)} %`);
  const chart = svg("svg", {
    viewBox: `0 0 ${width} ${height}`, class: "chart", role: "img",
    "aria-label": `Mean cost over ${values.length} steps, from ${ends.join(" to ")}`,
  });
  for (const value of [0, high / 2, high]) {
    const at = { x1: left, x2: width - right, y1: y(value), y2: y(value), class: "rule" };
    const label = { x: left - 8, y: y(value) + 4, "text-anchor": "end" };
    chart.append(svg("line", at), text(`${value.toFixed(0)}\u202f%`, label));
  }
  const groups = phaseGroups(phases);
  groups.forEach((group, g) => {
    const from = x(group.start - 0.5), to = x(group.end + 0.5);
    const band = { x: from, y: top - 18, width: to - from, height: height - top - bottom + 18 };
    if (g % 2) chart.append(svg("rect", { ...band, class: "band" }));
    const label = { x: (from + to) / 2, y: top - 6, "text-anchor": "middle", class: "phase" };
    if (groups.length > 1) chart.append(text(String(g + 1), label));
    const part = values.slice(group.start, group.end + 1);
    const points = part.map((v, i) => [x(group.start + i), y(v)]);
    chart.append(svg("polyline", { points: points.join(" "), class: "curve" }));
    for (const [cx, cy] of points) chart.append(svg("circle", { cx, cy, r: 2.4, class: "dot" }));
  });
  const axis = { x: width - right, y: height - 8, "text-anchor": "end" };
  chart.append(text(`step ${values.length}`, axis));
  return el("div", {}, chart,
    note("Mean cost of a picture after each step of the search. ", why("cost"),
      (groups.length > 1 ? " Each phase compares in its own way: costs can be compared within a "
      + "phase, not between phases. " : " ") + `It stopped because: ${stopped || "not recorded"}.`),
    groups.length > 1
      && el("ol", { class: "note phases" }, ...groups.map(({ phase }) => el("li", {}, phase))));
}

// Consecutive iterations of one phase.
function phaseGroups(phases) {
  const groups = [];
  phases.forEach((phase, i) => {
    const last = groups[groups.length - 1];
    if (last && last.phase === phase) last.end = i;
    else groups.push({ phase, start: i, end: i });
  });
  return groups;
}

function settingsTable() {
  const row = ({ name, value, origin, reason }) => el("tr", {},
    el("th", { scope: "row" }, name),
    el("td", {},
      el("b", {}, value), " ", el("span", { class: `origin ${origin}` }, origin),
      el("p", {}, reason)));
  return el("table", { class: "settings" }, el("tbody", {}, ...DATA.settings.map(row)));
}

function provenance() {
  const { title, source, citation } = DATA.card;
  const origin = [title, source, citation].filter((text) => text && text !== "-").join(" · ");
  const thumbnails = ORIGINALS
    ? ` Originals are embedded at ${ORIGINALS.columns} × ${ORIGINALS.rows} pixels.` : "";
  return `${origin} — made by dikmeans ${DATA.version}; this page loads nothing from a network.`
    + thumbnails;
}
