// The views: clusters, one cluster, one picture, doubtful ones, outliers, comparison, map.

let leaveView = () => {};
let currentWall = null;
let sortBy = "best", look = "original";

const SORTS = {
  best: "Best fit first", worst: "Worst fit first", doubtful: "Closest decisions first",
  file: "By file",
};

function showWall(list, options) {
  const wall = new Wall(list, { look, ...options });
  currentWall = wall;
  leaveView = () => { wall.stop(); currentWall = null; };
  attempt(() => wall.start());
  return wall.element;
}
const groupList = (group, sort = sortBy) =>
  new PagedList(`/api/members?group=${encodeURIComponent(group)}&sort=${sort}`);

function wallTools(again) {
  const sort = el("select", { id: "sort", change: () => { sortBy = sort.value; again(); } },
    ...Object.entries(SORTS).map(([key, name]) =>
      el("option", { value: key, selected: key === sortBy }, name)));
  const aligned = el("input", {
    type: "checkbox", id: "aligned", checked: look === "aligned",
    change: () => { look = aligned.checked ? "aligned" : "original"; currentWall?.setLook(look); },
  });
  return [el("label", {}, "Sort ", sort), el("label", {}, aligned, " aligned with the centroid")];
}

// -- overview -------------------------------------------------------------------------------------

function showOverview() {
  const { clusters, nPictures, nOutliers, nEdits } = STATE;
  const outliers = nOutliers ? `, ${plural(nOutliers, "outlier")}` : "";
  MAIN.append(
    el("section", { class: "intro" },
      el("h1", {}, STATE.title),
      el("p", { class: "lead" }, `${plural(nPictures, "picture")} in ${plural(clusters.length, "cluster")}${outliers}. `
        + (nEdits ? `${plural(nEdits, "edit")} since the fit.` : "Nothing edited yet.")),
      note("Click a name to rename it. Drag a cluster onto another to merge them. Drop new pictures "
        + "anywhere on the page to see where they belong.")),
    el("section", { class: "cards single" }, ...clusters.map(clusterCard)));
}
function clusterCard(cluster) {
  const card = el("a", {
    class: "card", href: `#cluster/${cluster.id}`, "data-cluster": cluster.id, draggable: "true",
    dragstart: (event) => event.dataTransfer.setData("application/x-dikmeans-cluster", cluster.id),
  },
    face(cluster),
    el("span", { class: "caption" }, editableName(cluster, "strong")),
    el("span", { class: "meta" }, plural(cluster.size, "picture"),
      cluster.cost !== null && ` · cost ${asPercent(cluster.cost)}`));
  return dropTarget(card, cluster.id);
}

// -- a cluster ------------------------------------------------------------------------------------

function clusterStrip(current) {
  const link = (cluster) => dropTarget(el("a", {
    href: `#cluster/${cluster.id}`, "aria-current": cluster.id === current ? "page" : null,
    title: `${cluster.title}: drop pictures here`, "data-cluster": cluster.id,
  }, face(cluster, 96), el("small", {}, cluster.title)), cluster.id);
  return el("nav", { class: "strip", "aria-label": "All clusters" }, ...STATE.clusters.map(link));
}

function showCluster(id) {
  const cluster = clusterOf(id), { prototypes } = cluster;
  const part = (prototype, place) => el("figure", {},
    picture(prototypeAddress(prototype), `Prototype ${place + 1}`),
    prototypes.length > 1 && el("figcaption", {}, el("button", {
      type: "button", class: "small", "data-prototype": place,
      title: "Make a cluster of this prototype and its members",
      click: () => splitPrototype(id, place),
    }, "Split off")));
  const holder = el("div", {});
  const fill = () => { leaveView(); holder.replaceChildren(showWall(groupList(id))); };
  MAIN.append(
    clusterStrip(id),
    el("section", { class: "head" },
      el("div", { class: "portraits" },
        ...(prototypes.length ? prototypes.map(part) : [el("figure", {}, face(cluster))])),
      el("div", {},
        editableName(cluster),
        el("p", { class: "lead" }, plural(cluster.size, "picture"),
          prototypes.length > 1 && ` around ${prototypes.length} prototypes`,
          cluster.cost !== null && `, mean cost ${asPercent(cluster.cost)}`,
          cluster.decided > 0 && `, ${count(cluster.decided)} decided by you`, "."),
        !prototypes.length && note("Made of chosen pictures: a re-fit will find its centroid."),
        el("p", { class: "row" },
          el("button", { type: "button", id: "merge", click: () => askMerge(id) }, "Merge into …"),
          el("button", { type: "button", id: "rename", click: () => byId("name")?.click() }, "Rename")),
        notes(cluster.notes, (text) => edit([{ kind: "note", cluster: id, text }], NOTED)))),
    el("section", {},
      el("div", { class: "toolbar" }, el("h2", {}, "Members"), ...wallTools(fill)),
      note("Click selects, Shift or Ctrl selects more, a double click opens. Drag the selected ones "
        + "onto a cluster above, or use the buttons that appear below."),
      holder));
  fill();
}

function showGroup(title, lead, address) {
  const holder = el("div", {});
  const fill = () => { leaveView(); holder.replaceChildren(showWall(new PagedList(address()))); };
  MAIN.append(
    clusterStrip(null),
    el("section", { class: "intro" }, el("h1", {}, title), el("p", { class: "lead" }, lead)),
    el("section", {}, el("div", { class: "toolbar" }, ...wallTools(fill)), holder));
  fill();
}
const showOutliers = () => showGroup("Outliers",
  STATE.nOutliers ? `${plural(STATE.nOutliers, "picture")} in no cluster. Drag them onto one to take them back.`
    : "No picture has been rejected. Select pictures and press x to reject them.",
  () => `/api/members?group=outliers&sort=${sortBy}`);
const showFound = (words) => showGroup(`“${words}”`, "Pictures with these letters in the file name.",
  () => `/api/members?group=all&sort=${sortBy}&find=${encodeURIComponent(words)}`);

// -- a picture ------------------------------------------------------------------------------------

// A page of the report in a frame of its own height; its links to clusters lead to the studio's.
function reportFrame(address, modelIds, ready = () => {}) {
  const frame = el("iframe", { src: address, title: "How the picture fits", class: "report-frame" });
  frame.addEventListener("load", () => {
    const page = frame.contentDocument;
    frame.contentWindow.setTheme?.(isDark() ? "dark" : "light");
    page.addEventListener("click", (event) => {
      const link = event.target.closest?.("a[href^='#cluster-']");
      if (!link) return;
      event.preventDefault();
      const id = modelIds?.[Number(link.hash.slice(9))];
      if (id) location.hash = `cluster/${id}`;
    }, true);
    const fit = () => { frame.style.height = `${page.documentElement.scrollHeight + 8}px`; };
    new ResizeObserver(fit).observe(page.body);
    fit();
    ready(frame);
  });
  return frame;
}

async function showPicture(number) {
  const known = await attempt(() => request(`/api/pictures/${number}`));
  if (!known || current.number !== number || current.view !== "picture") return;
  const choice = ({ cluster: id, cost }) => el("button", {
    type: "button", class: `choice-cluster${id === known.cluster ? " here" : ""}`, "data-cluster": id,
    disabled: id === known.cluster, click: () => moveTo([number], id),
  }, face(clusterOf(id), 96), el("span", {}, titleOf(id)), el("small", {}, asPercent(cost)));
  MAIN.append(
    el("p", { class: "crumbs" }, known.cluster === null
      ? el("a", { href: "#outliers" }, "Outliers")
      : el("a", { href: `#cluster/${known.cluster}` }, titleOf(known.cluster))),
    el("h1", { class: "name" }, known.file),
    el("section", {},
      el("p", {}, `In ${titleOf(known.cluster)}`, known.decided ? ", as you have decided." : "."),
      el("div", { class: "choices compact" }, ...known.choices.map(choice)),
      el("p", { class: "row" },
        el("button", { type: "button", id: "reject", disabled: known.cluster === null, click: () => reject([number]) }, "Reject as outlier"),
        el("button", { type: "button", id: "pin", disabled: known.decided, click: () => pin([number]) }, "Pin here"),
        el("button", { type: "button", id: "other", click: () => askMove([number]) }, "Another cluster …"),
        el("a", { class: "button", id: "similar", href: `#similar/${number}` }, "Find pictures like this one")),
      notes(known.notes, (text) => edit([{ kind: "note", pictures: [number], text }], NOTED))),
    reportFrame(`/frame/pictures/${number}#picture-0`, STATE.modelIds));
}

const whereLine = (text) => el("span", { class: "where", title: text }, text);

async function showSimilar(number) {
  const heading = el("p", { class: "lead" }, "Comparing …");
  const holder = el("div", {});
  MAIN.append(
    el("section", { class: "head" },
      el("div", { class: "portraits" }, el("figure", {}, picture(imageAddress(number, 192)))),
      el("div", {}, el("h1", {}, "Pictures like this one"), heading,
        el("p", {}, el("a", { href: `#picture/${number}` }, "Back to the picture")))),
    holder);
  const answer = await attempt(() => request(`/api/pictures/${number}/similar`));
  if (!answer || current.view !== "similar" || current.number !== number) return;
  heading.textContent = "Over the whole collection, the most alike first; in percent, what does not "
    + "fit once one is deformed into the other.";
  holder.append(showWall(new WholeList(answer.pictures),
    { lines: 2, caption: (known) => [asPercent(known.likeness), whereLine(titleOf(known.cluster))] }));
}

// -- doubtful pictures ----------------------------------------------------------------------------

// Always from the head of the queue, so they stay its first ones until an edit is undone.
const skipped = new Set();
let queue = [];
async function showDoubtful() {
  const answer = await attempt(() => request(`/api/doubtful?offset=${skipped.size}&limit=8`));
  if (!answer || current.view !== "doubtful") return;
  queue = answer.pictures.filter((known) => !skipped.has(known.number));
  const left = Math.max(0, answer.total - skipped.size);
  MAIN.replaceChildren(el("section", { class: "intro" },
    el("h1", {}, "Doubtful pictures"),
    el("p", { class: "lead" }, left
      ? `${plural(left, "picture")} could nearly as well be in another cluster; the closest first.`
      : "Nothing is left to decide."),
    note("Keys: ", el("kbd", {}, "1"), " ", el("kbd", {}, "2"), " ", el("kbd", {}, "3"),
      " for a cluster, ", el("kbd", {}, "x"), " for none, ", el("kbd", {}, "s"), " to skip, ",
      el("kbd", {}, "Ctrl"), "+", el("kbd", {}, "Z"), " to undo.")));
  const [known, ...next] = queue;
  if (!known) return;
  const choice = ({ cluster: id, cost }, place) => el("button", {
    type: "button", class: "choice-cluster", "data-cluster": id, click: () => decide(place),
  }, el("kbd", {}, String(place + 1)), face(clusterOf(id)), el("span", {}, titleOf(id)),
    el("small", {}, asPercent(cost), id === known.cluster && " · here now"));
  MAIN.append(
    el("section", { class: "decision" },
      el("figure", { class: "question" },
        el("a", { href: `#picture/${known.number}` }, picture(imageAddress(known.number, 512), known.file, "large")),
        el("figcaption", {}, known.file)),
      el("div", { class: "choices" }, ...known.choices.map(choice),
        el("button", { type: "button", class: "choice-cluster", id: "none", click: () => decide("x") },
          el("kbd", {}, "x"), el("span", { class: "picture no-face" }), el("span", {}, "No cluster"))),
      el("button", { type: "button", id: "skip-picture", click: () => decide("s") }, "Skip ", el("kbd", {}, "s"))),
    el("section", {}, el("h2", {}, "Next"), el("div", { class: "next" },
      ...next.map((one) => picture(imageAddress(one.number), one.file)))));
}
// Decide on the picture at the head of the queue: a place among its choices, "x" or "s".
async function decide(answer) {
  const known = queue[0];
  if (!known) return;
  if (answer === "s") {
    skipped.add(known.number);
    return void showDoubtful();
  }
  if (answer === "x") return void reject([known.number]);
  const to = known.choices[answer]?.cluster;
  if (to === undefined) return;
  await edit([to === known.cluster ? { kind: "pin", pictures: [known.number] }
    : { kind: "move", pictures: [known.number], to }]);
}

// -- before and after -----------------------------------------------------------------------------

async function showCompare() {
  const answer = await attempt(() => request("/api/refit"));
  if (!answer || current.view !== "compare") return;
  const titles = new Map(answer.clusters.map((one) => [one.id, one.title]));
  const name = (id) => (id === null ? "no cluster" : titles.get(id) ?? titleOf(id));
  const row = (one) => el("article", { class: "candidate compared", "data-cluster": one.id },
    el("figure", {}, face({ face: one.face }), el("figcaption", {}, `before: ${count(one.before)}`)),
    el("figure", {}, picture(`/api/refit/faces/${one.newFace}?run=${encodeURIComponent(answer.run)}`),
      el("figcaption", {}, `after: ${count(one.after)}`)),
    el("strong", {}, one.title));
  const finish = (path, text) => attempt(async () => {
    const state = await post(path);
    adopt(state);
    say(text);
    for (const why of state.notCarried ?? [])
      say(`An edit could not be made in the new run (${why}) It is still in the old one.`, "error");
    location.hash = "overview";
  });
  const later = STATE.nLaterEdits;
  const resisted = answer.resisted.map((one) => el("li", {},
    el("a", { href: `#picture/${one.number}` }, one.file), one.decided === null
      ? ` was rejected, but fits ${name(one.rather)} better than most of its members.`
      : ` stays in ${name(one.decided)}, as you decided; ${name(one.rather)} would cost less.`));
  const moved = new WholeList(answer.moved.map((one) => (
    { ...one, file: "", cluster: one.from, decided: false })));
  const [outside, outsideNow] = answer.outliers;
  const parts = [
    el("section", { class: "intro" },
      el("h1", {}, "Before and after"),
      el("p", { class: "lead" }, answer.nMoved
        ? `The re-fit has moved ${plural(answer.nMoved, "picture")}.` : "The re-fit has moved no picture.",
      outside + outsideNow > 0
        && ` ${plural(outside, "picture")} belonged to no cluster before, ${count(outsideNow)} now.`),
      note(`It is the run ${answer.run}, beside this one. Keep it to go on with it; the run you came `
        + "from and its edits stay as they are.",
        later > 0 && ` ${plural(later, "edit")} made since it began will be made in it too.`),
      el("p", { class: "row" },
        el("button", { type: "button", class: "primary", id: "keep",
          click: () => finish("/api/refit/keep", `You are in ${answer.run} now.`) }, "Keep the re-fit"),
        el("button", { type: "button", id: "discard",
          click: () => finish("/api/refit/discard", "The re-fit was discarded.") }, "Discard it"))),
    el("section", { class: "comparison" }, ...answer.clusters.map(row)),
    resisted.length > 0 && el("section", {}, el("h2", {}, "What speaks against your decisions"),
      el("ul", { class: "note" }, ...resisted)),
    moved.total > 0 && el("section", {}, el("h2", {}, "Moved pictures"), showWall(moved,
      { lines: 2, caption: (known) => [whereLine(name(known.from)), whereLine(`→ ${name(known.to)}`)] })),
  ];
  MAIN.append(...parts.filter(Boolean));
}

// -- map and new pictures -------------------------------------------------------------------------

async function showMap() {
  const status = await attempt(() => post("/api/map"));
  if (!status || current.view !== "map") return;
  STATE.chores.map = status;
  drawMap();
}
function drawMap() {
  const status = STATE.chores.map;
  if (!status || MAIN.querySelector("iframe")) return;
  if (status.phase !== "done") {
    MAIN.replaceChildren(el("section", { class: "intro" }, el("h1", {}, "Map"),
      el("p", { class: "lead" }, status.phase === "failed" ? status.error
        : `The map is being made: ${status.text}.`),
      el("progress", status.fraction ? { max: 1, value: status.fraction } : {}),
      note("It is made once per run. You can go on editing meanwhile.")));
    return;
  }
  MAIN.replaceChildren(
    note("Draw around pictures to select them; then move, reject or pin them, or make a cluster."),
    reportFrame("/frame/map#map", STATE.modelIds, (frame) => {
      frame.contentWindow.addEventListener("selectpictures", (event) => {
        selection.clear();
        for (const number of event.detail) selection.add(number);
        showSelection();
      });
    }));
}

function showDrop(drop) {
  if (lastDrop?.drop !== drop) { location.hash = "overview"; return; }
  const frame = reportFrame(`/frame/drops/${drop}#picture-0`, STATE.modelIds);
  const tab = (known, place) => el("button", {
    type: "button", class: "choice-cluster", "data-place": place,
    click: () => { frame.contentWindow.location.hash = `picture-${place}`; },
  }, face(clusterOf(known.cluster), 96), el("span", {}, known.file),
    el("small", {}, `${known.isOutlier ? "outlier, nearest " : ""}${titleOf(known.cluster)} · ${asPercent(known.cost)}`));
  MAIN.append(
    el("section", { class: "intro" },
      el("h1", {}, plural(lastDrop.pictures.length, "new picture")),
      note("Assigned to the clusters as they are; nothing was added to the run. Click one to see how "
        + "it fits."),
      el("div", { class: "choices" }, ...lastDrop.pictures.map(tab))),
    frame);
}
