// A cluster: its members as they are and as aligned, sorted, with those that almost went elsewhere.

const SORTS = {
  best: ["Best fit first", (a, b) => CANDIDATES[0].cost[a] - CANDIDATES[0].cost[b]],
  worst: ["Worst fit first", (a, b) => CANDIDATES[0].cost[b] - CANDIDATES[0].cost[a]],
  near: ["Near misses first", (a, b) => marginOf(a) - marginOf(b)],
};
// Many enough to look like the cluster, few enough to be drawn in every frame.
const MOST_IN_MEAN = 400;
const NEARLY_HERE = 12;
let sortBy = "best";
let playCurrent = () => {};
let leaveView = () => {};

function showCluster(k) {
  const cluster = DATA.clusters[k], forms = FORMS_OF[k];
  let members = MEMBERS[k], chosen = null;
  const wall = el("div", { class: "wall", id: "members", role: "group", "aria-label": `Members of cluster ${k}` });
  const watch = watchVisible((tile) => tile.redraw());
  const watchOthers = watchVisible((tile) => tile.redraw());
  let left = false;
  leaveView = () => { watch.stop(); watchOthers.stop(); left = true; };
  const mean = newCanvas("large", "Mean of the members at this point of the slide");
  const bestMembers = () => [...members].sort(SORTS.best[1]).slice(0, MOST_IN_MEAN);
  let meanOf = bestMembers();
  const meanName = () => (meanOf.length < members.length ? `mean of the best ${count(meanOf.length)}` : "mean of the members");
  mean.paint = () => paintMean(mean, meanOf, state.slides.wall);
  const redraw = () => {
    for (const tile of watch.visible) tile.redraw();
    mean.paint();
  };
  const slider = alignSlider("wall", redraw);
  playCurrent = slider.play;

  const fill = () => {
    watch.stop();
    wall.replaceChildren(...[...members].sort(SORTS[sortBy][1]).map((slot) => memberTile(slot)));
    for (const tile of wall.children) watch.observe(tile);
    roving(wall);
  };
  const meanFigure = labelled(mean, meanName());
  // Which members are looked at: those of one form, or all.
  const look = (form) => {
    chosen = form === chosen ? null : form;
    members = MEMBERS[k].filter((slot) => chosen === null || CANDIDATES[0].form[slot] === chosen);
    meanOf = bestMembers();
    meanFigure.querySelector("figcaption").textContent = meanName();
    for (const button of document.querySelectorAll("#forms button")) button.setAttribute("aria-pressed", Number(button.dataset.form) === chosen && chosen !== null);
    fill();
    mean.paint();
    const mine = meanOf;
    invertAhead(mine, () => left || mine !== meanOf, () => mean.paint());
  };
  const formButtons = el("div", { id: "forms", role: "group", "aria-label": `Forms of cluster ${k}` }, ...forms.map((form) => el("button", {
    type: "button", class: "tile", "data-form": form, "aria-pressed": "false", disabled: !members.some((slot) => CANDIDATES[0].form[slot] === form), title: `Show the members of ${formName(form)}`, click: () => look(form),
  }, formCanvas(form, "large", formName(form)), el("small", {}, plural(DATA.forms.size[form], "picture")))));
  const sort = el("select", { id: "sort", change: () => { sortBy = sort.value; fill(); } },
    ...Object.entries(SORTS).map(([key, [name]]) => el("option", { value: key, selected: key === sortBy }, name)));

  MAIN.append(
    clusterStrip(k),
    el("section", { class: "head" },
      el("div", { class: "portraits" },
        forms.length > 1 ? formButtons : labelled(centroidCanvas(k, "large", `Centroid of cluster ${k}`), "centroid"),
        members.length && !IS_SIGNAL ? meanFigure : null),
      el("div", {},
        el("h1", {}, clusterName(k)),
        el("p", { class: "lead" }, cluster.size
          ? `${plural(cluster.size, "picture")}; ${forms.length > 1 ? `its ${forms.length} forms explain` : "the centroid explains"} ${percent(DATA.energy - cluster.cost)} of their energy.`
          : "No picture is nearest to this centroid: there are fewer shapes than clusters."),
        SAMPLED ? el("p", { class: "note sample" }, `${count(members.length)} of its ${count(cluster.size)} members are shown.`) : null,
        members.length ? el("p", { class: "note" }, DATA.warp === "none"
          ? "This model does not align pictures; the slide changes nothing."
          : `Slide: every member is bent, pixel by pixel, into the frame of ${forms.length > 1 ? "its form. Choose a form to see its members alone." : "the centroid."}` + (IS_SIGNAL ? "" : " Watch the mean grow sharp.")) : null,
        members.length ? slider.element : null)));
  if (members.length) {
    MAIN.append(el("section", {},
      el("div", { class: "bar-of-tools" },
        el("h2", {}, "Members"), el("label", {}, "Sort ", sort)),
      el("p", { class: "note" }, K > 1 ? `Under each: its cost, and, if another cluster is close, the centroid it almost went to and how much more it costs there.${DATA.classes ? " A label in colour differs from that of the cluster." : ""}` : "Under each: its cost."),
      wall));
    fill();
    mean.paint();
    invertAhead(meanOf, () => left, () => mean.paint());
  }
  const nearly = nearlyHere(k);
  if (nearly.length) {
    const others = el("div", { class: "wall" }, ...nearly.map((slot) => memberTile(slot, true)));
    MAIN.append(el("section", {}, el("h2", {}, "Almost came here"), el("p", { class: "note" }, "Pictures of other clusters that have this one as their second choice, the closest calls first."), others));
    for (const tile of others.children) watchOthers.observe(tile);
    roving(others);
  }
}

// Pictures of other clusters that would lose little by coming to k.
function nearlyHere(k) {
  if (K < 2) return [];
  const slots = [];
  for (let i = 0; i < N; i++) if (CANDIDATES[1].cluster[i] === k && isNear(i)) slots.push(i);
  return slots.sort(SORTS.near[1]).slice(0, NEARLY_HERE);
}

// A near miss costs less than a quarter more with the next cluster.
const isNear = (slot) => K > 1 && marginOf(slot) < 0.25 * CANDIDATES[0].cost[slot];

function memberTile(slot, elsewhere = false) {
  const canvas = newCanvas();
  const chip = elsewhere
    ? nearChip("in", LABELS[slot], "")
    : isNear(slot) ? nearChip("almost", CANDIDATES[1].cluster[slot], signed(marginOf(slot))) : null;
  const wrong = DATA.classes && matchedClass(LABELS[slot]) !== classOf(slot);
  const label = `${nameOf(slot)}, cost ${percent(CANDIDATES[0].cost[slot])}${chip ? `, ${chip.title}` : ""}`;
  const tile = el("button", {
    type: "button", class: `tile${chip ? " is-near" : ""}`, "data-slot": slot, title: nameOf(slot), "aria-label": label,
    click: () => { location.hash = `picture-${indexOf(slot)}`; },
  }, canvas, el("small", {}, percent(CANDIDATES[0].cost[slot]), wrong ? el("em", { title: `its label is ${className(classOf(slot))}` }, ` ${className(classOf(slot))}`) : null), chip);
  tile.redraw = () => paintPicture(canvas, alignedValues(slot, elsewhere ? 0 : state.slides.wall));
  canvas.paint = tile.redraw;
  return tile;
}

function nearChip(word, k, margin) {
  return el("span", { class: "near", title: `${word} cluster ${k} ${margin}`.trim(), "data-near": k }, word === "almost" ? "→" : word, centroidCanvas(k), margin);
}

// Finding inverses takes a millisecond a picture: done in small portions before anyone slides.
function invertAhead(slots, stopped, done) {
  let next = 0;
  const portion = () => {
    const end = performance.now() + 8;
    while (next < slots.length && performance.now() < end) alignedGrid(0, slots[next++]);
    if (stopped()) return;
    if (next < slots.length) setTimeout(portion, 0);
    else done();
  };
  setTimeout(portion, 50);
}

// The mean of those whose inverses are there already: soon all of them.
function paintMean(canvas, all, t) {
  const slots = t === 0 ? all : all.filter((slot) => hasAlignedGrid(0, slot));
  if (!slots.length) return;
  const sum = new Float32Array(PIXELS * CHANNELS), one = new Float32Array(PIXELS * CHANNELS);
  for (const slot of slots) {
    const values = t === 0 ? valuesOf(slot) : resample(valuesOf(slot), alignedGrid(0, slot), t, one);
    for (let p = 0; p < sum.length; p++) sum[p] += values[p] / slots.length;
  }
  let high = DATA.tone.low + 1e-9;
  for (const v of sum) if (v > high) high = v;
  paintValues(canvas, sum, DATA.tone.low, high);
}

const labelled = (canvas, text) => el("figure", {}, canvas, el("figcaption", {}, text));

// All centroids in a row, to go from cluster to cluster.
function clusterStrip(k) {
  const strip = el("nav", { class: "strip", "aria-label": "All clusters" }, ...DATA.clusters.map((cluster, other) =>
    el("a", { href: `#cluster-${other}`, "aria-current": other === k ? "page" : null, title: clusterName(other), "aria-label": clusterName(other) },
      centroidCanvas(other), el("small", {}, String(other)))));
  return strip;
}
