// Routing by hash, theme, keys.

const byId = (id) => document.getElementById(id);

let current = { view: "overview", number: 0 };

function parseHash() {
  const match = /^#(overview|map|cluster|picture)(?:-(\d+))?$/.exec(location.hash);
  if (!match) return { view: "overview", number: 0 };
  const [, view, digits] = match, number = Number(digits ?? 0);
  if (view === "cluster" && number >= K) return { view: "overview", number: 0 };
  if (view === "picture" && !SLOT_OF.has(number)) return { view: "overview", number: 0 };
  return { view, number };
}

const scrollOf = new Map();
let shownHash = null;

function route() {
  const focused = document.activeElement;
  const wasInStrip = focused !== document.body && focused?.closest?.(".strip") !== null;
  if (shownHash !== null) scrollOf.set(shownHash, window.scrollY);
  leaveView();
  leaveView = () => {};
  playCurrent = () => {};
  current = parseHash();
  MAIN.replaceChildren();
  MAIN.className = current.view;
  if (current.view === "overview") showOverview();
  else if (current.view === "cluster") showCluster(current.number);
  else if (current.view === "picture") showPicture(SLOT_OF.get(current.number));
  else showMap();
  const heading = MAIN.querySelector("h1");
  document.title =
    current.view === "overview" ? DATA.title : `${heading.textContent} – ${DATA.title}`;
  const section = current.view === "picture" ? "cluster" : current.view;
  for (const link of document.querySelectorAll("header nav a")) {
    if (link.dataset.view === section) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  window.scrollTo(0, scrollOf.get(location.hash) ?? 0);
  shownHash = location.hash;
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
  repaintAll();
}

function goUp() {
  if (current.view === "picture")
    location.hash = `cluster-${LABELS[SLOT_OF.get(current.number)]}`;
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
  m: () => { location.hash = "map"; },
  a: () => playCurrent(),
  t: toggleTheme,
  i: toggleInk,
  "?": () => byId("keys").showModal(),
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
  byId("help").addEventListener("click", KEYS["?"]);
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
  await loadSheets();
  addEventListener("hashchange", route);
  route();
  document.documentElement.dataset.ready = "";
}
start();
