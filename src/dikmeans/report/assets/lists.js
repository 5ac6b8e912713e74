// Lists over all clusters: doubtful pictures, odd ones out, outliers, and what a search finds.

const PORTION = 120;

// A wall of tiles that grows by a button; `chip` as in `pictureTile`.
function growingWall(slots, chip) {
  const wall = el("div", { class: "wall", id: "listed" });
  const watch = watchVisible((tile) => tile.redraw());
  const more = el("button", { type: "button", id: "more", click: () => grow() });
  let n = 0;
  const grow = () => {
    const tiles = slots.slice(n, n + PORTION).map((slot) => pictureTile(slot, { chip }));
    n += tiles.length;
    wall.append(...tiles);
    for (const tile of tiles) watch.observe(tile);
    more.textContent = `Show ${count(Math.min(PORTION, slots.length - n))} more`;
    more.hidden = n >= slots.length;
    roving(wall);
  };
  grow();
  leaveView = () => watch.stop();
  return el("div", {}, wall, more);
}

function listView({ title, lead, explanation, slots, rows, file, chip }) {
  MAIN.append(
    el("section", { class: "intro" },
      el("h1", {}, title),
      el("p", { class: "lead" }, lead),
      note(...explanation),
      sampleNote(), signLegend(),
      el("div", { class: "toolbar" }, saveTableButton("save-list", rows, file))),
    el("section", {}, growingWall(slots, chip)));
}

function showDoubtful() {
  const slots = K > 1 ? [...INSIDE].sort((a, b) => marginOf(a) - marginOf(b)) : [];
  const close = INSIDE.filter(isClose).length;
  listView({
    title: "Doubtful pictures",
    lead: `${plural(close, KIND)} of ${count(N)} could nearly as well be in another cluster.`,
    explanation: ["Over all clusters, the closest decisions first. The arrow names the second-best "
      + "cluster and how much more it would cost. ", why("margin")],
    slots, chip: "second", file: "doubtful.csv",
    rows: () => everyRow().filter((row) => row.cluster >= 0).sort((a, b) => a.margin - b.margin),
  });
}

function showOdd() {
  listView({
    title: "Odd ones out",
    lead: "The pictures that fit worst, over all clusters.",
    explanation: ["They may be damaged, mislabeled, or of a kind that has no cluster. ",
      why("cost")],
    slots: [...INSIDE].sort(SORTS.worst[1]),
    chip: "own", file: "odd-ones-out.csv",
    rows: () => everyRow().filter((row) => row.cluster >= 0).sort((a, b) => b.cost - a.cost),
  });
}

function showOutliers() {
  listView({
    title: "Outliers",
    lead: `${plural(DATA.outliers, KIND)} of ${count(DATA.total)} belong to no cluster.`,
    explanation: ["The worst fit first. Below each, the cluster that it is nearest to. ",
      why("outlier")],
    slots: [...OUTLIERS].sort(SORTS.worst[1]),
    chip: "own", file: "outliers.csv",
    rows: () => everyRow().filter((row) => row.cluster < 0),
  });
}

let query = "";
function showSearch() {
  const words = query.toLowerCase();
  const rows = words ? everyRow().filter((row) => row.file.toLowerCase().includes(words)) : [];
  const slots = rows.map((row) => row.slot).filter((slot) => slot !== undefined);
  const hidden = rows.filter((row) => row.slot === undefined);
  listView({
    title: `“${query}”`,
    lead: `${plural(rows.length, KIND)} with these letters in the file name.`,
    explanation: hidden.length
      ? [`${plural(slots.length, KIND)} of them can be shown. `] : ["Best match by name."],
    slots, chip: "own", file: "found.csv", rows: () => rows,
  });
  const line = (row) => el("li", {}, `${row.file}: `, row.cluster < 0 ? "no cluster"
    : el("a", { href: `#cluster-${row.cluster}` }, `cluster ${row.cluster}`));
  if (hidden.length)
    MAIN.append(el("section", {}, el("h2", {}, "Not on this page"),
      el("ul", { class: "note" }, ...hidden.slice(0, 200).map(line))));
}
