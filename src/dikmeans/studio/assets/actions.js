// What a person does: edits, undo, re-fit, exports, new pictures.

// Make edits based on the state that is shown; every tab hears of them.
async function edit(edits, said) {
  const done = await attempt(() => post("/api/edits", { edits, revision: STATE.revision }));
  if (!done) { await refresh(); return false; }
  clearSelection();
  adopt(done);
  if (said) say(said, "info", { name: "Undo", run: undo });
  return true;
}
const step = (path) => attempt(async () => adopt(await post(path, { revision: STATE.revision })));
const undo = () => {
  skipped.clear();
  return step("/api/undo");
};
const redo = () => step("/api/redo");

// -- selected pictures ----------------------------------------------------------------------------

const chosen = () => [...selection];
const some = (numbers) => plural(numbers.length, "picture");

function moveTo(numbers, to) {
  return edit([{ kind: "move", pictures: numbers, to }], `${some(numbers)} moved to ${titleOf(to)}.`);
}
const reject = (numbers) =>
  edit([{ kind: "reject", pictures: numbers }], `${some(numbers)} rejected as outliers.`);
const pin = (numbers) =>
  edit([{ kind: "pin", pictures: numbers }], `${some(numbers)} pinned where they are.`);

async function askMove(numbers = chosen()) {
  if (!numbers.length) return;
  const to = await chooseCluster(`Move ${some(numbers)} to`, STATE.clusters.map((c) => ({ cluster: c.id })));
  if (to) await moveTo(numbers, to);
}
// Pictures of one cluster become a new one; pictures of several are moved there one after the other.
async function makeCluster(numbers = chosen()) {
  if (!numbers.length) return;
  const answer = await attempt(() => post("/api/lookup", { pictures: numbers }));
  if (!answer) return;
  const all = answer.pictures;
  const home = all.find((known) => known.cluster !== null)?.cluster;
  if (home === undefined) { say("Outliers alone cannot become a cluster: select a member too.", "error"); return; }
  const own = all.filter((known) => known.cluster === home).map((known) => known.number);
  const others = all.filter((known) => known.cluster !== home).map((known) => known.number);
  const before = new Set(STATE.clusters.map((cluster) => cluster.id));
  if (!(await edit([{ kind: "split", cluster: home, pictures: own }]))) return;
  const made = STATE.clusters.find((cluster) => !before.has(cluster.id));
  if (others.length) await edit([{ kind: "move", pictures: others, to: made.id }]);
  location.hash = `cluster/${made.id}`;
  say(`A new cluster of ${some(numbers)}. Re-fit to see what else belongs to it.`);
}
async function membersOf(id) {
  const numbers = [];
  for (let total = 1; numbers.length < total;) {
    const page = await request(
      `/api/members?group=${encodeURIComponent(id)}&sort=file&limit=500&offset=${numbers.length}`);
    ({ total } = page);
    numbers.push(...page.pictures.map((known) => known.number));
  }
  return numbers;
}
// The selected members of the cluster that is shown are right: the rest becomes a new cluster.
async function splitRest(right = chosen()) {
  if (current.view !== "cluster" || !right.length) return;
  const { id } = current, members = await attempt(() => membersOf(id));
  if (!members) return;
  const rest = members.filter((number) => !right.includes(number));
  if (!rest.length) { say("All members are selected: there is no rest to split off.", "error"); return; }
  await edit([{ kind: "split", cluster: id, pictures: rest }, { kind: "pin", pictures: right }],
    `${some(right)} stay, ${some(rest)} are a new cluster.`);
}
function selectionActions() {
  const button = (name, key, run) =>
    el("button", { type: "button", title: `${name} (${key})`, "data-action": name, click: run },
      name, " ", el("kbd", {}, key));
  return [
    selection.size === 1 && el("button", {
      type: "button", "data-action": "Open", click: () => { location.hash = `picture/${chosen()[0]}`; },
    }, "Open"),
    button("Move", "m", () => askMove()),
    button("Reject", "x", () => reject(chosen())),
    button("Pin", "p", () => pin(chosen())),
    button("New cluster", "n", () => makeCluster()),
    current.view === "cluster" && button("Only these", "r", () => splitRest()),
    el("button", { type: "button", "data-action": "Clear", click: clearSelection }, "Clear"),
  ].filter(Boolean);
}

// -- clusters -------------------------------------------------------------------------------------

// A dialog that lists clusters; resolves to an identity, or null.
function chooseCluster(title, candidates, explanation = null) {
  const dialog = byId("choose");
  return new Promise((resolve) => {
    const finish = (id) => { dialog.onclose = null; dialog.close(); resolve(id); };
    const choice = ({ cluster: id, cost, pair }) => el("button", {
      type: "button", class: "choice-cluster", "data-cluster": id, click: () => finish(id),
    }, face(clusterOf(id)), el("span", {}, titleOf(id)),
      el("small", {}, cost === null || cost === undefined
        ? plural(clusterOf(id).size, "picture") : `${asPercent(cost, 0)} apart`),
      pair && el("span", { class: "between" },
        picture(`/api/likeness/${pair.join("/")}/image?v=${STATE.epoch}`), "one bent into the other"));
    const find = el("input", {
      type: "search", placeholder: "Type a name", "aria-label": "Find a cluster by its name",
      input: () => {
        const words = find.value.trim().toLowerCase();
        for (const button of list.children)
          button.hidden = !titleOf(button.dataset.cluster).toLowerCase().includes(words);
      },
      keydown: (event) => {
        const shown = [...list.children].filter((button) => !button.hidden);
        if (event.key === "Enter" && shown.length) { event.preventDefault(); shown[0].click(); }
      },
    });
    const list = el("div", { class: "choices" }, ...candidates.map(choice));
    dialog.replaceChildren(
      el("div", { class: "dialog-head" }, el("h2", { id: "choose-title" }, title), find,
        el("button", { type: "button", click: () => finish(null) }, "Cancel")),
      ...(explanation ? [explanation] : []), list);
    dialog.onclose = () => resolve(null);
    dialog.showModal();
    find.focus();
  });
}
async function askMerge(id) {
  const answer = await attempt(() => request(`/api/clusters/${encodeURIComponent(id)}/alike`));
  if (!answer) return;
  const into = await chooseCluster(`Merge ${titleOf(id)} into`, answer.candidates,
    note("The most alike first: how much of one centroid is left over when it is deformed into the "
      + "other."));
  if (into) await merge(id, into);
}
async function merge(id, into) {
  const [from, to] = [titleOf(id), titleOf(into)];
  const wasHere = location.hash === `#cluster/${id}`;
  if (await edit([{ kind: "merge", clusters: [id], into }], `${from} merged into ${to}.`))
    if (wasHere) location.hash = `cluster/${into}`;
}
const splitPrototype = (id, place) =>
  edit([{ kind: "split", cluster: id, prototypes: [place] }],
    "The prototype is a cluster of its own now.");

// A name that is edited in its place.
function editableName(cluster, tag = "h1") {
  const begins = (event) => { event.preventDefault(); begin(); };
  const name = el(tag, {}, el("span", {
    class: "editable", title: "Rename (F2)", tabindex: "0", role: "button",
    id: tag === "h1" ? "name" : null, click: begins,
    keydown: (event) => { if (event.key === "Enter") begins(event); },
  }, cluster.title));
  const begin = () => {
    let isOver = false;
    const end = async (keep) => {
      if (isOver) return;
      isOver = true;
      const text = input.value.trim();
      input.replaceWith(name);
      if (keep && text !== (cluster.name ?? ""))
        await edit([{ kind: "rename", cluster: cluster.id, name: text || null }],
          text ? `${cluster.title} is called ${text} now.` : "The name was removed.");
    };
    const input = el("input", {
      class: "rename", value: cluster.name ?? "", placeholder: cluster.title, maxlength: "200",
      "aria-label": `New name of ${cluster.title}`, click: (event) => event.preventDefault(),
      keydown: (event) => {
        event.stopPropagation();
        if (event.key === "Enter") end(true);
        if (event.key === "Escape") end(false);
      },
      blur: () => end(true),
    });
    name.replaceWith(input);
    input.focus();
    input.select();
  };
  return name;
}

// Texts that are being typed, by the page they are typed on: another tab may change it meanwhile.
const drafts = new Map();
// Notes, and a field for one more; `write` is called with its text.
function notes(texts, write) {
  const page = location.hash;
  const add = async () => {
    const text = field.value.trim();
    if (!text) { field.focus(); return; }
    drafts.delete(page);
    if (!(await write(text))) drafts.set(page, text);
  };
  const field = el("textarea", {
    id: "note", rows: "2", maxlength: "2000", placeholder: "Write a note", "aria-label": "New note",
    input: () => drafts.set(page, field.value),
    keydown: (event) => {
      if (event.key !== "Enter" || event.shiftKey) return;
      event.preventDefault();
      add();
    },
  });
  field.value = drafts.get(page) ?? "";
  return el("div", { class: "notes" },
    texts.length > 0 && el("ul", { "aria-label": "Notes" }, ...texts.map((text) => el("li", {}, text))),
    el("p", { class: "row" }, field,
      el("button", { type: "button", id: "add-note", click: add }, "Add note")));
}
const NOTED = "The note is kept.";

// Something that pictures can be dragged onto, and clusters onto clusters.
function dropTarget(element, id) {
  const accepts = (event) => [...event.dataTransfer.types].some((type) => type.startsWith("application/x-dikmeans"));
  element.addEventListener("dragover", (event) => {
    if (!accepts(event)) return;
    event.preventDefault();
    element.classList.add("over");
  });
  element.addEventListener("dragleave", () => element.classList.remove("over"));
  element.addEventListener("drop", (event) => {
    element.classList.remove("over");
    if (!accepts(event)) return;
    event.preventDefault();
    const other = event.dataTransfer.getData("application/x-dikmeans-cluster");
    if (other && other !== id) merge(other, id);
    else if (!other && selection.size) moveTo(chosen(), id);
  });
  return element;
}

// -- re-fit ---------------------------------------------------------------------------------------

const startRefit = () => attempt(async () => adopt(await post("/api/refit")));
let isCancelling = false;
function cancelRefit() {
  isCancelling = true;
  showProgress();
  return attempt(() => post("/api/refit/cancel"));
}

function showProgress() {
  const bar = byId("progress"), { refit } = STATE;
  bar.hidden = refit?.phase !== "running";
  byId("refit").disabled = !bar.hidden || refit?.phase === "done";
  byId("nav-compare").hidden = refit?.phase !== "done";
  if (bar.hidden) { isCancelling = false; return; }
  // the button stays the same one: whoever is about to click it finds it
  if (!bar.children.length)
    bar.append(el("span"), el("progress"),
      el("button", { type: "button", id: "cancel", click: cancelRefit }, "Cancel"));
  const [text, meter, button] = bar.children;
  button.disabled = isCancelling;
  text.title = "You can go on: edits that you make now are made in the re-fitted run too.";
  text.textContent = isCancelling ? "Cancelling …" : refit.of
    ? `Fitting again: iteration ${refit.iteration}, ${plural(refit.moved, "picture")} moved`
    : "Fitting again: preparing";
  if (refit.of) Object.assign(meter, { max: refit.of, value: refit.iteration });
  else meter.removeAttribute("value");
}
const REFIT_ENDS = {
  running: () => {},
  done: () => { location.hash = "compare"; },
  cancelled: () => say("The re-fit was cancelled. Nothing was changed."),
  failed: ({ error }) => say(`The re-fit failed: ${error}`, "error"),
};

// -- exports --------------------------------------------------------------------------------------

function openExports() {
  const dialog = byId("exports");
  const joined = el("p", { class: "note", id: "joined" });
  const showTable = () => {
    joined.textContent = STATE.table
      ? `${plural(STATE.table.matched, "picture")} found in your table; its columns are joined: `
        + `${STATE.table.columns.join(", ")}.` : "";
  };
  const table = el("input", {
    type: "file", accept: ".csv,text/csv", id: "table", "aria-label": "A table of your own (CSV)",
    change: () => attempt(async () => {
      STATE.table = await request("/api/table", { method: "POST", body: table.files[0] });
      showTable();
    }),
  });
  const folder = el("input", { id: "folder", value: `${STATE.run}-sorted`, "aria-label": "Folder" });
  const report = el("p", { class: "note", id: "report-status" });
  dialog.showReport = () => {
    const status = STATE.chores.report;
    if (!status) return;
    report.replaceChildren(status.phase === "done"
      ? el("a", { href: "/api/report.html", target: "_blank", rel: "noopener" }, "Open the report")
      : status.phase === "failed" ? status.error
        : `${status.text} (${asPercent(status.fraction, 0)})`);
  };
  dialog.replaceChildren(
    el("div", { class: "dialog-head" }, el("h2", { id: "exports-title" }, "Export"),
      el("button", { type: "button", click: () => dialog.close() }, "Close")),
    el("h3", {}, "Table"),
    note("One row per picture: file, cluster, name, cost, margin, notes. Add a CSV of your own, with file "
      + "names in one of its columns, and its columns are joined."),
    el("p", {}, table), joined,
    el("p", {}, el("a", { class: "button", id: "csv", href: "/api/labels.csv", download: "" }, "Save the table (CSV)")),
    el("h3", {}, "Sorted folders"),
    note("Copies of your files in one folder per cluster, beside the run. Nothing is moved."),
    el("p", { class: "row" }, folder, el("button", {
      type: "button", id: "make-folders",
      click: () => attempt(async () => {
        const done = await post("/api/folders", { name: folder.value });
        say(`${plural(done.nFiles, "file")} copied to ${done.folder}`
          + (done.nMissing ? `; ${count(done.nMissing)} could not be read.` : "."));
      }),
    }, "Copy")),
    el("h3", {}, "Report"),
    note("One HTML file that shows the clusters as they are now, to send to others. It is written "
      + "into the run."),
    el("p", {}, el("button", {
      type: "button", id: "make-report",
      click: () => attempt(async () => {
        STATE.chores.report = await post("/api/report");
        dialog.showReport();
      }),
    }, "Make the report")),
    report);
  showTable();
  dialog.showReport();
  dialog.showModal();
}

// -- new pictures ---------------------------------------------------------------------------------

async function addPictures(files) {
  const form = new FormData();
  for (const file of files) form.append("pictures", file, file.name);
  const hint = el("p", { class: "message" }, `Looking at ${plural(files.length, "new picture")} …`);
  byId("messages").append(hint);
  const answer = await attempt(() => request("/api/drop", { method: "POST", body: form }));
  hint.remove();
  if (!answer) return;
  lastDrop = answer;
  if (location.hash === `#drop/${answer.drop}`) route();
  else location.hash = `drop/${answer.drop}`;
}
let lastDrop = null;
const bringsFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
addEventListener("dragover", (event) => {
  if (!bringsFiles(event)) return;
  event.preventDefault();
  document.body.classList.add("receiving");
});
addEventListener("dragleave", (event) => {
  if (event.relatedTarget === null) document.body.classList.remove("receiving");
});
addEventListener("drop", (event) => {
  document.body.classList.remove("receiving");
  if (!bringsFiles(event)) return;
  event.preventDefault();
  addPictures([...event.dataTransfer.files]);
});
