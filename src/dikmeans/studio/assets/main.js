// Routing by hash, keys, and events from the server.

let current = { view: "overview" };

// Each view: how the rest of the hash is read (undefined if it is not there), and how it is shown.
const whole = () => ({});
const asNumber = (text) =>
  (/^\d+$/.test(text) && Number(text) < STATE.nPictures ? { number: Number(text) } : undefined);
const VIEWS = {
  overview: { read: whole, show: showOverview },
  cluster: {
    read: (id) => (clusterOf(id) ? { id } : undefined), menu: "overview",
    show: ({ id }) => showCluster(id),
  },
  picture: { read: asNumber, menu: "overview", show: ({ number }) => showPicture(number) },
  similar: { read: asNumber, menu: "overview", show: ({ number }) => showSimilar(number) },
  doubtful: { read: whole, show: showDoubtful },
  outliers: { read: whole, show: showOutliers },
  find: { read: (words) => (words ? { words } : undefined), show: ({ words }) => showFound(words) },
  map: { read: whole, show: showMap },
  compare: { read: () => (STATE.refit?.phase === "done" ? {} : undefined), show: showCompare },
  drop: { read: (text) => ({ drop: Number(text) }), show: ({ drop }) => showDrop(drop) },
};

function parseHash() {
  const [view, ...rest] = location.hash.slice(1).split("/");
  let text = "";
  try {
    text = decodeURIComponent(rest.join("/"));
  } catch { /* not an address of ours */ }
  const read = Object.hasOwn(VIEWS, view) ? VIEWS[view].read(text) : undefined;
  return read === undefined ? { view: "overview" } : { view, ...read };
}

let shownHash = null;
function route() {
  const isSame = shownHash === location.hash, top = scrollY;
  const isTyping = isSame && document.activeElement?.id === "note";
  if (!isSame) for (const dialog of document.querySelectorAll("dialog[open]")) dialog.close();
  leaveView();
  leaveView = () => {};
  if (!isSame) clearSelection();
  current = parseHash();
  MAIN.replaceChildren();
  MAIN.className = current.view;
  VIEWS[current.view].show(current);
  document.title = `${STATE.title} – dikmeans studio`;
  const section = VIEWS[current.view].menu ?? current.view;
  for (const link of document.querySelectorAll("header nav a")) {
    if (link.dataset.view === section) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  shownHash = location.hash;
  window.scrollTo(0, isSame ? top : 0);
  if (isTyping) byId("note")?.focus({ preventScroll: true });
  if (document.activeElement !== byId("find") && !isSame) MAIN.focus({ preventScroll: true });
}

// Take over a state from the server, if it is newer than what is shown.
function adopt(state) {
  const isOlder = STATE && (state.epoch < STATE.epoch
    || (state.epoch === STATE.epoch && state.revision < STATE.revision));
  if (isOlder) return;
  const isNew = !STATE || state.epoch !== STATE.epoch || state.revision !== STATE.revision;
  STATE = state;
  const { undo: last, redo: next } = state;
  const isFitted = state.nLaterEdits === 0; // the last edit is part of a re-fit
  Object.assign(byId("undo"), {
    disabled: last === null || isFitted,
    title: isFitted ? "The last edit is part of the re-fit" : last ? `Undo: ${last} (Ctrl+Z)` : "",
  });
  Object.assign(byId("redo"), { disabled: next === null, title: next ? `Redo: ${next}` : "" });
  showProgress();
  if (isNew) route();
  document.documentElement.dataset.revision = `${state.epoch}.${state.revision}`;
}
const refresh = () => attempt(async () => adopt(await request("/api/state")));

function listen() {
  const events = new EventSource("/api/events");
  let wasLost = false;
  events.addEventListener("open", () => {
    if (wasLost) say("Connected again.");
    wasLost = false;
    refresh();
  });
  events.addEventListener("error", () => {
    if (!wasLost) say("The studio does not answer. What you did so far is kept.", "error");
    wasLost = true;
  });
  events.addEventListener("state", (event) => {
    const { epoch, revision } = JSON.parse(event.data);
    if (epoch !== STATE.epoch || revision > STATE.revision || STATE.refit?.phase !== "running") refresh();
  });
  events.addEventListener("refit", (event) => {
    STATE.refit = JSON.parse(event.data);
    showProgress();
    if (STATE.refit.phase !== "running") refresh();
    REFIT_ENDS[STATE.refit.phase](STATE.refit);
  });
  events.addEventListener("map", (event) => {
    STATE.chores.map = JSON.parse(event.data);
    if (current.view === "map") drawMap();
  });
  events.addEventListener("report", (event) => {
    STATE.chores.report = JSON.parse(event.data);
    byId("exports").showReport?.();
  });
}

function goUp() {
  if (selection.size) clearSelection();
  else if (current.view === "picture" || current.view === "similar") history.back();
  else location.hash = "overview";
}
const KEYS = {
  o: () => { location.hash = "overview"; },
  d: () => { location.hash = "doubtful"; },
  "/": () => byId("find").focus(),
  t: toggleTheme,
  m: () => askMove(),
  p: () => selection.size && pin(chosen()),
  n: () => makeCluster(),
  r: () => splitRest(),
  x: () => (current.view === "doubtful" ? decide("x") : selection.size && reject(chosen())),
  s: () => current.view === "doubtful" && decide("s"),
  1: () => current.view === "doubtful" && decide(0),
  2: () => current.view === "doubtful" && decide(1),
  3: () => current.view === "doubtful" && decide(2),
  F2: () => byId("name")?.click(),
  "?": () => byId("keys").showModal(),
  Escape: goUp,
};
addEventListener("keydown", (event) => {
  if (document.querySelector("dialog[open]") || event.altKey) return;
  if (event.target.matches("input, select, textarea")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z") {
    event.preventDefault();
    if (event.shiftKey) redo();
    else undo();
    return;
  }
  const action = event.ctrlKey || event.metaKey ? null : KEYS[event.key];
  if (!action) return;
  event.preventDefault();
  action();
});

async function start() {
  byId("undo").addEventListener("click", undo);
  byId("redo").addEventListener("click", redo);
  byId("refit").addEventListener("click", startRefit);
  byId("export").addEventListener("click", openExports);
  byId("theme").addEventListener("click", toggleTheme);
  byId("help").addEventListener("click", KEYS["?"]);
  byId("find").addEventListener("input", (event) => {
    const words = event.target.value.trim();
    location.hash = words ? `find/${encodeURIComponent(words)}` : "overview";
  });
  byId("skip").addEventListener("click", (event) => { event.preventDefault(); MAIN.focus(); });
  for (const button of document.querySelectorAll(".close-dialog"))
    button.addEventListener("click", () => button.closest("dialog").close());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", applyTheme);
  applyTheme();
  await refresh();
  addEventListener("hashchange", route);
  listen();
  document.documentElement.dataset.ready = "";
}
start();
