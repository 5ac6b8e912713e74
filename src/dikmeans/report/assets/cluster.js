// A cluster: its members before and after alignment, sorted, and those that nearly went elsewhere.

const SORTS = {
  best: ["Best fit first", (a, b) => CANDIDATES[0].cost[a] - CANDIDATES[0].cost[b]],
  worst: ["Worst fit first", (a, b) => CANDIDATES[0].cost[b] - CANDIDATES[0].cost[a]],
  margin: ["Closest decisions first", (a, b) => marginOf(a) - marginOf(b)],
};
// Enough to look like the mean of all, few enough to be drawn in every frame.
const MAX_IN_MEAN = 80;
const MEAN_SIDE = 64;
const MAX_NEARBY = 12;
let sortBy = "best";

function showCluster(k) {
  const cluster = DATA.clusters[k], prototypes = PROTOTYPES_OF[k];
  let members = MEMBERS[k], chosen = null, meanMembers = [], hasLeft = false;
  const wall = el("div", {
    class: "wall", id: "members", role: "group", "aria-label": `Members of cluster ${k}`,
  });
  const watch = watchVisible((tile) => tile.redraw());
  const watchNearby = watchVisible((tile) => tile.redraw());
  leaveView = () => { watch.stop(); watchNearby.stop(); hasLeft = true; };
  const mean = newCanvas("large", "Mean of the members at this position of the slider");
  mean.paint = () => paintMean(mean, meanMembers, state.alignment.members);
  const meanFigure = captioned(mean, "");
  const slider = alignSlider("members", () => {
    for (const tile of watch.visible) tile.redraw();
    mean.paint();
  });
  playCurrent = slider.play;

  const fillWall = () => {
    watch.stop();
    const sorted = [...members].sort(SORTS[sortBy][1]);
    const position = () => state.alignment.members;
    wall.replaceChildren(...sorted.map((slot) =>
      pictureTile(slot, { chip: isClose(slot) ? "second" : null, position })));
    for (const tile of wall.children) watch.observe(tile);
    roving(wall);
  };
  // Show the members of one prototype, or of all if it is null.
  const showMembersOf = (prototype) => {
    chosen = prototype;
    members = MEMBERS[k].filter((s) => chosen === null || CANDIDATES[0].prototype[s] === chosen);
    const bestMembers = [...members].sort(SORTS.best[1]).slice(0, MAX_IN_MEAN);
    meanMembers = bestMembers;
    meanFigure.querySelector("figcaption").textContent = bestMembers.length < members.length
      ? `mean of the best ${count(bestMembers.length)}` : "mean of the members";
    for (const button of document.querySelectorAll("#prototypes button"))
      button.setAttribute("aria-pressed", button.dataset.prototype === String(chosen));
    fillWall();
    mean.paint();
    invertAhead(bestMembers, () => hasLeft || bestMembers !== meanMembers, mean.paint);
  };
  const prototypeButton = (prototype) => el("button", {
    type: "button", class: "tile", "data-prototype": prototype, "aria-pressed": "false",
    disabled: !members.some((slot) => CANDIDATES[0].prototype[slot] === prototype),
    title: `Show the members of ${prototypeName(prototype)}`,
    click: () => showMembersOf(prototype === chosen ? null : prototype),
  },
    prototypeCanvas(prototype, "large", prototypeName(prototype)),
    el("small", {}, plural(DATA.prototypes.size[prototype], KIND)));
  const sort = el("select", { id: "sort", change: () => { sortBy = sort.value; fillWall(); } },
    ...Object.entries(SORTS).map(([key, [name]]) =>
      el("option", { value: key, selected: key === sortBy }, name)));

  const isDivided = prototypes.length > 1, hasMembers = members.length > 0;
  MAIN.append(
    clusterStrip(k),
    el("section", { class: "head" },
      el("div", { class: "portraits" },
        isDivided
          ? el("div", { id: "prototypes", role: "group", "aria-label": "Prototypes" },
            ...prototypes.map(prototypeButton))
          : captioned(centroidCanvas(k, "large", `Centroid of cluster ${k}`), "centroid"),
        hasMembers && !IS_SIGNAL && meanFigure,
        hasMembers && SPREADS && captioned(painted(
          newCanvas("large", "What varies among the members"),
          (canvas) => paintCell(canvas, SPREADS, prototypes[0])),
        el("span", {}, "what varies ", why("varies")))),
      el("div", {},
        el("h1", {}, clusterName(k)),
        el("p", { class: "lead" }, clusterSummary(cluster, prototypes.length)),
        portraitNote(prototypes), signLegend(),
        SAMPLED && el("p", { class: "note sample" },
          `${count(members.length)} of its ${count(cluster.size)} members are shown.`),
        hasMembers && note(sliderExplanation(isDivided)),
        hasMembers && DATA.warp !== "none" && slider.element)));
  if (hasMembers) {
    MAIN.append(el("section", {},
      el("div", { class: "toolbar" }, el("h2", {}, "Members"), el("label", {}, "Sort ", sort),
        saveTableButton("save-cluster",
          () => everyRow().filter((row) => row.cluster === k), `cluster-${k}.csv`)),
      note("Under each: its cost ", why("cost"),
        K > 1 && ", and, if another cluster is nearly as good, its centroid and the extra cost",
        ".", DATA.classes && ` A ${LABEL_WORD} in color is not that of the majority.`),
      wall));
    showMembersOf(null);
  }
  const nearby = nearbyPictures(k);
  if (nearby.length) {
    const others = el("div", { class: "wall" }, ...nearby.map((slot) => pictureTile(slot, { chip: "own" })));
    MAIN.append(el("section", {},
      el("h2", {}, "Nearly in this cluster"),
      note("Pictures of other clusters for which this one is nearly as good, closest first."),
      others));
    for (const tile of others.children) watchNearby.observe(tile);
    roving(others);
  }
}

function clusterSummary(cluster, nPrototypes) {
  if (!cluster.size)
    return "No picture is nearest to this centroid: there are fewer shapes than clusters.";
  const divided = nPrototypes > 1 ? ` around ${nPrototypes} prototypes` : "";
  return `${plural(cluster.size, KIND)}${divided}, mean cost ${percent(cluster.cost)}.`;
}

// What the centroid is made of, where it is not the mean of the originals.
function portraitNote(prototypes) {
  if (!PORTRAIT || !showsOriginals()) return null;
  const isTypical = prototypes.some((prototype) => PORTRAIT.kinds[prototype] === "typical");
  return isTypical && note("The members share no appearance, so the most typical one is shown in "
    + "place of their mean.");
}

function sliderExplanation(isDivided) {
  if (DATA.warp === "none") return "This model does not align pictures.";
  const frame = isDivided
    ? "its prototype. Click on a prototype to see its members only." : "the centroid.";
  return `The slider brings every member into the pose of ${frame}`
    + (IS_SIGNAL ? "" : " Their mean becomes sharp.");
}

// Pictures of other clusters that have `k` as a close second choice.
function nearbyPictures(k) {
  const slots = [];
  for (let i = 0; i < N; i++) if (!isOutlier(i) && isClose(i) && CANDIDATES[1].cluster[i] === k) slots.push(i);
  return slots.sort(SORTS.margin[1]).slice(0, MAX_NEARBY);
}

// Inverting a warp takes a millisecond: done in small portions before the slider is moved.
function invertAhead(slots, isObsolete, done) {
  let next = 0;
  const portion = () => {
    const end = performance.now() + 8;
    while (next < slots.length && performance.now() < end) alignedGrid(0, slots[next++]);
    if (isObsolete()) return;
    if (next < slots.length) setTimeout(portion, 0);
    else done();
  };
  setTimeout(portion, 50);
}

// The mean of the pictures whose warps have been inverted: soon all of them.
function paintMean(canvas, members, t) {
  const slots = t === 0 ? members : members.filter((slot) => hasAlignedGrid(0, slot));
  if (!slots.length) return;
  if (showsOriginals()) return paintOriginalMean(canvas, slots, t);
  setSize(canvas, comparedSize());
  const sum = new Float32Array(PIXELS * CHANNELS), buffer = new Float32Array(PIXELS * CHANNELS);
  for (const slot of slots) {
    const original = valuesOf(slot);
    const values = t === 0 ? original : resample(original, alignedGrid(0, slot), t, buffer);
    for (let p = 0; p < sum.length; p++) sum[p] += values[p] / slots.length;
  }
  const high = sum.reduce((most, v) => Math.max(most, v), DATA.tone.low + 1e-9);
  if (DATA.tone.is_signed) paintResidual(canvas, sum, high);
  else paintValues(canvas, sum, DATA.tone.low, high);
}
function paintOriginalMean(canvas, slots, t) {
  const size = carriedSize(MEAN_SIDE), [height, width] = size;
  const sum = new Float32Array(4 * height * width);
  const still = new Float32Array(2 * PIXELS).map((_, p) => IDENTITY[p]);
  for (const slot of slots) {
    const grid = t === 0 ? still : alignedGrid(0, slot);
    const crop = t === 0 ? UNCHANGED : cropOf(slot);
    const { data } = carried(ORIGINALS, slot, grid, t, size, UNCHANGED, crop);
    for (let p = 0; p < sum.length; p++) sum[p] += data[p];
  }
  const image = new ImageData(Uint8ClampedArray.from(sum, (v) => v / slots.length), width, height);
  setSize(canvas, boxSizeOf(ORIGINALS), false);
  drawImageData(canvas.getContext("2d"), image, [0, 0, canvas.width, canvas.height]);
}

// All centroids in a row, with links to their clusters.
function clusterStrip(current) {
  const link = (k) => el("a", {
    href: `#cluster-${k}`, "aria-current": k === current ? "page" : null,
    title: clusterName(k), "aria-label": clusterName(k),
  }, centroidCanvas(k), el("small", {}, String(k)));
  return el("nav", { class: "strip", "aria-label": "All clusters" },
    ...DATA.clusters.map((_, k) => link(k)));
}
