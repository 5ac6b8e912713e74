// Routing by hash, theme, keys.

const byId = (id) => document.getElementById(id);

let current = { view: "overview", number: 0 };

// Each view: which numbers it has, how it is shown, and under which entry of the menu it is.
const VIEWS = {
  overview: { show: () => showOverview() },
  cluster: { has: (number) => number < K, show: (number) => showCluster(number) },
  picture: {
    has: (number) => SLOT_OF.has(number), menu: "cluster",
    show: (number) => showPicture(SLOT_OF.get(number)),
  },
  doubtful: { show: () => showDoubtful() },
  odd: { show: () => showOdd() },
  outliers: { has: () => DATA.outliers > 0, show: () => showOutliers() },
  alike: { has: () => DATA.likeness !== null, show: () => showAlike() },
  map: { show: () => showMap() },
  search: { show: () => showSearch() },
};

function parseHash() {
  const [, view, digits] = /^#([a-z]+)(?:-(\d+))?$/.exec(location.hash) ?? [];
  const number = Number(digits ?? 0);
  const isThere = Object.hasOwn(VIEWS, view ?? "") && (VIEWS[view].has?.(number) ?? true);
  return isThere ? { view, number } : { view: "overview", number: 0 };
}

const scrollOf = new Map();
let shownHash = null;

function route() {
  const focused = document.activeElement;
  const wasInStrip = focused !== document.body && focused?.closest?.(".strip") !== null;
  // a page that embeds this one keeps the focus: someone may be typing there
  const isArriving = shownHash === null && window.parent !== window;
  if (shownHash !== null) scrollOf.set(shownHash, window.scrollY);
  leaveView();
  leaveView = () => {};
  playCurrent = () => {};
  current = parseHash();
  MAIN.replaceChildren();
  MAIN.className = current.view;
  VIEWS[current.view].show(current.number);
  const heading = MAIN.querySelector("h1");
  document.title =
    current.view === "overview" ? DATA.title : `${heading.textContent} – ${DATA.title}`;
  const section = VIEWS[current.view].menu ?? current.view;
  for (const link of document.querySelectorAll("header nav a")) {
    if (link.dataset.view === section) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  window.scrollTo(0, scrollOf.get(location.hash) ?? 0);
  shownHash = location.hash;
  if (isArriving || document.activeElement === byId("find")) return; // whoever types goes on typing
  if (wasInStrip) MAIN.querySelector(".strip [aria-current]")?.focus({ preventScroll: true });
  else MAIN.focus({ preventScroll: true });
}

const nameThemeButton = () => { byId("theme").textContent = isDark() ? "Light" : "Dark"; };
function setTheme(theme) {
  state.theme = theme;
  document.documentElement.dataset.theme = theme;
  nameThemeButton();
  repaintAll();
}
const toggleTheme = () => setTheme(isDark() ? "light" : "dark");
function toggleInk() {
  state.inverted = !state.inverted;
  byId("ink").setAttribute("aria-pressed", state.inverted);
  document.documentElement.classList.toggle("inverted", state.inverted);
  repaintAll();
}

// Everything that depends on the look of pictures is drawn again.
function setLook(look) {
  if (!DATA.originals) return;
  state.look = look;
  nameLookButton();
  route();
}
const toggleLook = () => setLook(showsOriginals() ? "compared" : "original");
function nameLookButton() {
  const button = byId("look");
  button.hidden = !DATA.originals;
  button.textContent = showsOriginals() ? "As compared" : "Originals";
  button.title = showsOriginals()
    ? "Show what the machine compares (v)" : "Show the pictures as you know them (v)";
}

function search(text) {
  query = text.trim();
  if (!query) return;
  if (current.view === "search") route();
  else location.hash = "search";
}

// Paper is white, and every tile is on it, also those that have not been scrolled to.
let themeBefore = null;
function preparePrint() {
  themeBefore = state.theme;
  setTheme("light");
  for (const tile of document.querySelectorAll(".tile, .cell")) tile.redraw?.();
}
function endPrint() {
  state.theme = themeBefore;
  if (themeBefore) document.documentElement.dataset.theme = themeBefore;
  else delete document.documentElement.dataset.theme;
  nameThemeButton();
  repaintAll();
}

function goUp() {
  if (current.view === "picture") byId("up").click();
  else if (current.view === "map" && selection.size) byId("clear").click();
  else location.hash = "overview";
}
function step(by) {
  if (current.view === "cluster") location.hash = `cluster-${(current.number + by + K) % K}`;
  else if (current.view === "picture") byId(by < 0 ? "before" : "after").click();
}

const KEYS = {
  o: () => { location.hash = "overview"; },
  c: () => { location.hash = "cluster-0"; },
  d: () => { location.hash = "doubtful"; },
  l: () => { location.hash = "alike"; },
  m: () => { location.hash = "map"; },
  v: toggleLook,
  "/": () => byId("find").focus(),
  a: () => playCurrent(),
  t: toggleTheme,
  i: toggleInk,
  "?": () => openHelp(null),
  Escape: goUp,
  ArrowLeft: () => step(-1),
  ArrowRight: () => step(1),
};

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || byId("keys").open) return;
  if (event.target.matches("input, select, textarea") && event.key !== "Escape") return;
  const action = KEYS[event.key];
  if (!action) return;
  event.preventDefault();
  action();
});

async function start() {
  byId("brand").textContent = "dikmeans";
  byId("theme").addEventListener("click", toggleTheme);
  byId("ink").addEventListener("click", toggleInk);
  byId("look").addEventListener("click", toggleLook);
  byId("find").addEventListener("input", (event) => search(event.target.value));
  byId("help").addEventListener("click", KEYS["?"]);
  for (const link of document.querySelectorAll("nav a[data-view]"))
    link.hidden = !(VIEWS[link.dataset.view].has?.(0) ?? true);
  fillGlossary(byId("glossary"));
  addEventListener("beforeprint", preparePrint);
  addEventListener("afterprint", endPrint);
  byId("keys-close").addEventListener("click", () => byId("keys").close());
  byId("skip").addEventListener("click", (event) => {
    event.preventDefault();
    MAIN.focus();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    nameThemeButton();
    repaintAll();
  });
  nameThemeButton();
  nameLookButton();
  await loadSheets();
  addEventListener("hashchange", route);
  route();
  document.documentElement.dataset.ready = "";
}
start();
