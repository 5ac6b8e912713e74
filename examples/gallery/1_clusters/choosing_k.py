"""
How many clusters?
==================

The cost cannot tell: it falls with every cluster that is added. Stability can help: if the number
is right, fits on two random halves of the pictures find the same clusters.

The digits 0 to 3 should give four. `dikmeans choose-k` does the same from the command line.
"""

from matplotlib import pyplot as plt

from dikmeans import DIKMeans
from dikmeans.demo import load_digits
from dikmeans.evaluation import choose_n_clusters, score_n_clusters

digits = load_digits(1000, seed=0)
X = digits.images[digits.labels < 4][:200]
scores = list(score_n_clusters(DIKMeans(n_init=1), X, range(3, 7), n_splits=2))
choice = choose_n_clusters(scores)
print(f"recommended: {choice.n_clusters}; as good: {choice.alternatives or 'no other'}")

# %%
# Left, the agreement of the two fits (adjusted Rand index): one dot per split, and their mean.
# Right, the mean cost, which has no minimum.

numbers = [score.n_clusters for score in scores]
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
for score in scores:
    left.plot([score.n_clusters] * len(score.stability), score.stability, "o", color="0.7")
left.plot(numbers, [score.mean_stability for score in scores], "-o")
left.axvline(choice.n_clusters, color="0.8", zorder=0)
left.set(xlabel="number of clusters", ylabel="stability")
right.plot(numbers, [score.cost for score in scores], "-o")
right.set(xlabel="number of clusters", ylabel="mean cost", ylim=(0, None))

# %%
# With so few splits, numbers close to the best one cannot be told from it: look at the report of
# each, and prefer the number whose clusters you can name.
