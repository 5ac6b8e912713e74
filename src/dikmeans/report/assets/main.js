// Routing by hash, theme, keys.

let here = { view: "overview", number: 0 };

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
  const again = document.activeElement?.closest?.(".strip") !== null && document.activeElement !== document.body;
  if (shownHash !== null) scrollOf.set(shownHash, window.scrollY);
  leaveView();
  leaveView = () => {};
  playCurrent = () => {};
  here = parseHash();
  MAIN.replaceChildren();
  MAIN.className = here.view;
  const slot = here.view === "picture" ? SLOT_OF.get(here.number) : -1;
  if (here.view === "overview") showOverview();
  else if (here.view === "cluster") showCluster(here.number);
  else if (here.view === "picture") showPicture(slot);
  else showMap();
  const heading = MAIN.querySelector("h1");
  document.title = here.view === "overview" ? DATA.title : `${heading.textContent} – ${DATA.title}`;
  for (const link of document.querySelectorAll("header nav a")) {
    const current = link.dataset.view === here.view || (link.dataset.view === "cluster" && here.view === "picture");
    if (current) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  window.scrollTo(0, scrollOf.get(location.hash) ?? 0);
  shownHash = location.hash;
  if (again) MAIN.querySelector(".strip [aria-current]")?.focus({ preventScroll: true });
  else MAIN.focus({ preventScroll: true });
}

function setTheme(theme) {
  state.theme = theme;
  document.documentElement.dataset.theme = theme;
  document.getElementById("theme").textContent = isDark() ? "Light" : "Dark";
  repaintAll();
}
const toggleTheme = () => setTheme(isDark() ? "light" : "dark");
function toggleInk() {
  state.inverted = !state.inverted;
  document.getElementById("ink").setAttribute("aria-pressed", state.inverted);
  repaintAll();
}

function goUp() {
  if (here.view === "picture") location.hash = `cluster-${LABELS[SLOT_OF.get(here.number)]}`;
  else if (here.view === "map" && selection.size) document.getElementById("clear").click();
  else location.hash = "overview";
}
function step(by) {
  if (here.view === "cluster") location.hash = `cluster-${(here.number + by + K) % K}`;
  else if (here.view === "picture") document.getElementById(by < 0 ? "before" : "after").click();
}

const KEYS = {
  o: () => { location.hash = "overview"; },
  c: () => { location.hash = "cluster-0"; },
  m: () => { location.hash = "map"; },
  a: () => playCurrent(),
  t: toggleTheme,
  i: toggleInk,
  "?": () => document.getElementById("keys").showModal(),
  Escape: goUp,
  ArrowLeft: () => step(-1),
  ArrowRight: () => step(1),
};

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.getElementById("keys").open) return;
  if (event.target.matches("input, select, textarea") && event.key !== "Escape") return;
  const action = KEYS[event.key];
  if (!action) return;
  event.preventDefault();
  action();
});

async function start() {
  document.getElementById("brand").textContent = "dikmeans";
  document.getElementById("theme").addEventListener("click", toggleTheme);
  document.getElementById("ink").addEventListener("click", toggleInk);
  document.getElementById("help").addEventListener("click", KEYS["?"]);
  document.getElementById("keys-close").addEventListener("click", () => document.getElementById("keys").close());
  document.getElementById("skip").addEventListener("click", (event) => { event.preventDefault(); MAIN.focus(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaintAll);
  document.getElementById("theme").textContent = isDark() ? "Light" : "Dark";
  await loadSheets();
  addEventListener("hashchange", route);
  route();
  document.documentElement.dataset.ready = "";
}
start();
