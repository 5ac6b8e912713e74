// The state as the server knows it, requests, messages. Texts enter the page as text only.

const MAIN = document.getElementById("main");
const byId = (id) => document.getElementById(id);
// State of the run (`/api/state`), replaced as a whole whenever anything changes.
let STATE = null;

async function request(path, options = {}) {
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    throw new Error("The studio does not answer. Is it still running?");
  }
  if (answer.ok) return answer.json();
  const { error } = await answer.json().catch(() => ({ error: answer.statusText }));
  throw new Error(error);
}
const post = (path, value = {}) => request(path, {
  method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(value),
});

function say(text, kind = "info", action = null) {
  const message = el("p", { class: `message ${kind}` }, text, action && el("button", {
    type: "button", click: () => { message.remove(); action.run(); },
  }, action.name));
  byId("messages").append(message);
  setTimeout(() => message.remove(), kind === "error" ? 12000 : 6000);
}
// Run something that asks the server; what goes wrong is said.
async function attempt(work) {
  try {
    return await work();
  } catch (error) {
    say(error.message, "error");
    return null;
  }
}

const clusterOf = (id) => STATE.clusters.find((cluster) => cluster.id === id);
const titleOf = (id) => (id === null ? "no cluster" : clusterOf(id)?.title ?? "a former cluster");

// -- pictures -------------------------------------------------------------------------------------

const imageAddress = (number, side = 96, look = "original") =>
  `/api/pictures/${number}/image?side=${side}&look=${look}&v=${STATE.epoch}`;
const prototypeAddress = (number, side = 192) =>
  `/api/prototypes/${number}/image?side=${side}&v=${STATE.epoch}`;
const picture = (src, alt = "", className = "") =>
  el("img", { src, alt, class: `picture ${className}`, loading: "lazy", draggable: "false" });
// What a cluster is shown by.
function face(cluster, side = 192) {
  const { prototype, picture: number } = cluster?.face ?? {};
  if (prototype !== undefined) return picture(prototypeAddress(prototype, side));
  if (number !== undefined) return picture(imageAddress(number, side));
  return el("span", { class: "picture no-face" });
}

// -- theme ----------------------------------------------------------------------------------------

let theme = null;
try {
  theme = localStorage.getItem("theme");
} catch { /* storage may be off */ }
const isDark = () =>
  (theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);
function applyTheme() {
  if (theme) document.documentElement.dataset.theme = theme;
  byId("theme").textContent = isDark() ? "Light" : "Dark";
  for (const frame of document.querySelectorAll("iframe"))
    frame.contentWindow.setTheme?.(isDark() ? "dark" : "light");
}
function toggleTheme() {
  theme = isDark() ? "light" : "dark";
  try {
    localStorage.setItem("theme", theme);
  } catch { /* then it holds for this page */ }
  applyTheme();
}
