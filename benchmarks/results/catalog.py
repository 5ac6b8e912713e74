"""All parts of the results, in the order in which they are made: short ones first."""

from __future__ import annotations

from benchmarks.results.part import ENGINE, Part, PicturesPart, TablePart

_TABLE = "dikmeans reproduce table --results docs/results/runs.jsonl"
_DEEP = tuple(
    f"{name}-{network}" for network in ("mlp", "conv") for name in ("ae-k-means", "dec", "vade")
)
_SETS = (
    *("affine-mnist", "diffeo-mnist", "mnist", "audio-mnist", "emnist-letters"),
    *("rock-paper-scissors", "face-pose", "face-pose-box", "arabic-characters"),
)


def _models(*names: str) -> str:
    return " ".join(f"--models {name}" for name in names)


_ALL = (
    # speed.md
    Part("kernel", "speed.md", "python -m benchmarks.kernel", 3),
    Part(
        "many-clusters",
        "speed.md",
        "python -m benchmarks.many_clusters --images 50000 --clusters 10 50 200 500 1000",
        10,
    ),
    Part("unequal-sizes", "speed.md", "python -m benchmarks.unequal_sizes --seeds 0 1 2", 5),
    Part("mnist-fit", "speed.md", "python -m benchmarks.mnist_fit --seeds 0 1 2", 4),
    Part(
        "against-earlier",
        "speed.md",
        "python -m benchmarks.compare_commits 66b1ffa --whole",
        15,
    ),
    Part(
        "solver",
        "speed.md",
        "python -m benchmarks.solver --images 300 --sides 4 8 --smoothness 0.3",
        5,
    ),
    Part(
        "growth",
        "speed.md",
        "python -m benchmarks.growth --output docs/results/figures/growth.png",
        8,
    ),
    Part("device", "speed.md", "python -m benchmarks.device", 3),
    # scale.md
    Part("unit-costs", "scale.md", "python -m benchmarks.unit_costs", 2),
    Part("checkpoint", "scale.md", "python -m benchmarks.checkpoint", 5),
    Part("streaming", "scale.md", "python -m benchmarks.streaming", 6),
    Part("out-of-memory", "scale.md", "python -m benchmarks.out_of_memory", 5),
    Part("dask-workers", "scale.md", "python -m benchmarks.dask_workers", 10),
    Part("million-images", "scale.md", "python -m benchmarks.million_images", 20),
    # pictures.md
    Part("grounds", "pictures.md", "python -m benchmarks.grounds", 1),
    Part(
        "own-pictures",
        "pictures.md",
        "python -m benchmarks.own_pictures --images 1000 --seeds 0 1 2 3 4",
        20,
    ),
    Part(
        "intensity",
        "pictures.md",
        "python -m benchmarks.intensity digits mnist face-pose,face_box --exposed --images 500 "
        "--kinds fixed affine standardized",
        15,
    ),
    Part("outliers", "pictures.md", "python -m benchmarks.outliers", 3),
    Part("partial-labels", "pictures.md", "python -m benchmarks.partial_labels --runs 1", 6),
    # ablation.md
    Part("symmetric", "ablation.md", "python -m benchmarks.symmetric", 3),
    Part(
        "ablation-digits",
        "ablation.md",
        "python -m benchmarks.ablation --data mnist --train-size 1000",
        20,
    ),
    Part(
        "ablation-hands",
        "ablation.md",
        "python -m benchmarks.ablation --data rock-paper-scissors --train-size 500",
        20,
    ),
    Part("neighbors", "ablation.md", "python -m benchmarks.neighbors", 10),
    Part("selection", "selection.md", "python -m benchmarks.selection", 30),
    Part("soak", "soak.md", "python -m benchmarks.soak", 10),
    # figures/README.md
    PicturesPart(
        "paper-figures",
        "figures/README.md",
        "dikmeans reproduce figures --output docs/results/figures --again",
        12,
        pictures=(
            *("transformations", "time", "accuracy-distortion", "centroids-overview"),
            *(f"{kind}-{name}" for kind in ("centroids", "embedding") for name in _SETS),
        ),
    ),
    PicturesPart(
        "pictures",
        "figures/README.md",
        "python tools/pictures.py docs/results/figures",
        5,
        code=(*ENGINE, "src/dikmeans/report", "src/dikmeans/studio", "src/dikmeans/demo.py"),
        pictures=(
            *("demo-centroids", "demo-prototypes"),
            *(f"report-{view}" for view in ("overview", "cluster", "picture")),
            *(f"studio-{view}" for view in ("overview", "rename", "select", "merge", "doubtful")),
            *(f"studio-{view}" for view in ("picture", "map", "compare")),
        ),
    ),
    # table.md and baselines.md
    Part("spectral", "table.md", "python -m benchmarks.spectral", 15),
    Part("published-choices", "table.md", "python -m benchmarks.published_choices --seeds 0 1", 40),
    TablePart(
        "table-rivals",
        "table.md",
        f"{_TABLE} --runs 3 {_models('umap-k-means', 'umap-gmm')}",
        60,
        code=("src/dikmeans/paper/umap_clustering.py",),
    ),
    TablePart(
        "table", "table.md", f"{_TABLE} {_models('k-means', 'ai-k-means', 'di-k-means')}", 240
    ),
    TablePart(
        "table-published",
        "table.md",
        f"{_TABLE} --train-size 2000 {_models('ai-k-means-published', 'di-k-means-published')}",
        480,
    ),
    TablePart(
        "table-deep",
        "baselines.md",
        f"{_TABLE} --runs 3 {_models(*_DEEP)}",
        1200,
        code=("src/dikmeans/paper/baselines",),
    ),
)
PARTS = {part.name: part for part in _ALL}
