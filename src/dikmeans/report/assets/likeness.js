// Which clusters are nearly alike: a tree of all, and the nearest pairs with the warp between them.

const PAIRS = DATA.likeness ? DATA.likeness.pairs.map(([target, warped, cost], number) => ({
  target, warped, cost, number,
  clusters: [DATA.prototypes.cluster[target], DATA.prototypes.cluster[warped]],
})) : [];
const PAIR_WARPS = DATA.likeness && decode(DATA.likeness.warp, "f4");
const pairWarp = (number) => PAIR_WARPS.subarray(number * WARP_LENGTH, (number + 1) * WARP_LENGTH);

// Leaves in the order in which the tree does not cross itself, and where branches join.
function treeLayout() {
  const { merges } = DATA.likeness;
  const children = (node) => (node < K ? null : merges[node - K]);
  const leaves = [];
  const visit = (node) => {
    if (node < K) return leaves.push(node);
    const [a, b] = children(node);
    visit(a);
    return visit(b);
  };
  visit(2 * K - 2);
  const place = new Map(leaves.map((leaf, i) => [leaf, { row: i, cost: 0 }]));
  const joints = merges.map(([a, b, cost], i) => {
    const first = place.get(a), second = place.get(b);
    place.set(K + i, { row: (first.row + second.row) / 2, cost });
    return { first, second, cost };
  });
  return { leaves, joints };
}

function likenessTree() {
  const { leaves, joints } = treeLayout();
  const row = 46, picture = 60, room = document.documentElement.clientWidth - 60;
  const width = Math.min(720, Math.max(240, room)) - picture, height = row * K;
  const most = Math.max(...joints.map((joint) => joint.cost), 1e-9);
  const x = (cost) => 4 + (cost / most) * (width - 60), y = (r) => (r + 0.5) * row;
  const chart = svg("svg", {
    viewBox: `0 0 ${width} ${height + 24}`, width, height: height + 24, class: "chart tree",
    role: "img", "aria-label": "Tree of the clusters: those that join at the left are most alike",
  });
  for (const { first, second, cost } of joints) {
    const points = [[x(first.cost), y(first.row)], [x(cost), y(first.row)],
      [x(cost), y(second.row)], [x(second.cost), y(second.row)]];
    chart.append(svg("polyline", { points: points.join(" "), class: "curve" }));
    const label = svg("text", { x: x(cost) + 5, y: (y(first.row) + y(second.row)) / 2 - 6 });
    label.textContent = asPercent(cost, 0);
    chart.append(label);
  }
  const axis = svg("text", { x: 4, y: height + 16 });
  axis.textContent = "cost of deforming one into the other →";
  chart.append(axis);
  const leaf = (k) => el("a", { href: `#cluster-${k}`, title: clusterName(k) },
    centroidCanvas(k), el("small", {}, String(k)));
  return el("div", { class: "scroll" }, el("div", { class: "likeness" },
    el("div", { class: "leaves" }, ...leaves.map(leaf)), chart));
}

// Whether two clusters are as alike as members of one.
function isOneCluster({ clusters, cost }) {
  const within = clusters.map((k) => (DATA.clusters[k].cost ?? 0) / DATA.energy);
  return cost <= Math.max(...within);
}

function showAlike() {
  const nearest = PAIRS.filter(isOneCluster).length;
  const slider = alignSlider("alike", () => rows.forEach((row) => row.redraw()),
    ["One", "The other"]);
  const rows = PAIRS.slice(0, 24).map(pairRow);
  playCurrent = slider.play;
  const verdict = nearest
    ? `${plural(nearest, "pair")} differ${nearest === 1 ? "s" : ""} no more than a picture differs `
      + "from its own centroid: there may be more clusters than shapes. Try fewer, and compare."
    : "No two clusters are as alike as members of one cluster. If a cluster mixes several shapes, "
      + "try more.";
  MAIN.append(
    el("section", { class: "intro" },
      el("h1", {}, "Which clusters are alike"),
      el("p", { class: "lead" }, verdict, " ", why("alike")),
      note("Each centroid is compared with every other as pictures are. A tree shows all; below "
        + "are the nearest pairs, with the deformation between the two."),
      DATA.warp !== "none" && slider.element,
      DATA.warp !== "none" && deformationChoice(() => rows.forEach((row) => row.redraw()))),
    el("section", {}, likenessTree()),
    el("section", {}, ...rows.map((row) => row.element)));
  rows.forEach((row) => row.redraw());
}

function pairRow(pair) {
  const { target, warped, clusters: [a, b], number } = pair;
  const forward = forwardGrid(pairWarp(number)), lines = inverseGrid(pairWarp(number));
  const warpsCentroid = DATA.direction === "centroid-to-image";
  const source = warpsCentroid ? warped : target, goal = warpsCentroid ? target : warped;
  const canvas = newCanvas("large", `Cluster ${a}, deformed into cluster ${b}`);
  const mesh = meshOverlay();
  const redraw = () => {
    const t = state.alignment.alike;
    paintWarpedPrototype(canvas, source, forward, t);
    drawDeformation(mesh, { forward, lines }, t);
  };
  canvas.paint = redraw;
  const from = DATA.prototypes.cluster[source], to = DATA.prototypes.cluster[goal];
  const element = el("article", { class: `candidate${isOneCluster(pair) ? " assigned" : ""}` },
    el("header", {},
      el("a", { href: `#cluster-${from}` }, clusterName(from)), " and ",
      el("a", { href: `#cluster-${to}` }, clusterName(to)),
      isOneCluster(pair) && el("span", { class: "chip" }, "as alike as members of one cluster")),
    el("div", { class: "body" },
      el("div", { class: "steps" },
        captioned(prototypeCanvas(source, "large", `Cluster ${from}`), inText(from)),
        captioned(el("span", { class: "stack" }, canvas, mesh), "deformed"),
        captioned(prototypeCanvas(goal, "large", `Cluster ${to}`), inText(to))),
      el("div", { class: "split" }, el("p", {}, el("b", {}, asPercent(pair.cost)),
        "cost of deforming one into the other; members of these clusters cost ",
        `${percent(DATA.clusters[a].cost ?? 0)} and ${percent(DATA.clusters[b].cost ?? 0)}.`))));
  return { element, redraw };
}
