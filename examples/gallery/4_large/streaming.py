"""
A stream of pictures
====================

Pictures that come in batches and are gone afterwards go through ``partial_fit``. The first ones are
collected and searched as ``fit`` would; then every batch moves the prototypes a little.
"""

from matplotlib import pyplot as plt
from sklearn.datasets import load_digits

from dikmeans import DIKMeans, Search, plot
from dikmeans.evaluation import clustering_accuracy

digits = load_digits(n_class=6)
X, target = digits.images, digits.target
held_out, held_out_target = X[900:], target[900:]

# %%
# Nine batches of 100. ``Search(sample_size=300)`` keeps the first 300 pictures for the search; by
# default it is 4,000.

model = DIKMeans(6, search=Search(sample_size=300), random_state=0)
seen, accuracies = [], []
for start in range(0, 900, 100):
    model.partial_fit(X[start : start + 100])
    seen.append(start + 100)
    accuracies.append(clustering_accuracy(held_out_target, model.predict(held_out)))

figure, axis = plt.subplots(figsize=(5.5, 2.8), layout="constrained")
axis.plot(seen, accuracies, "-o")
axis.set(xlabel="pictures seen", ylabel="accuracy, held out", ylim=(0, 1.02))

# %%
# Weights of clusters count all pictures so far; the model can be saved, loaded and fed further.

print(model.cluster_weights_.round().astype(int), "pictures per cluster")
plot.centroids(model)
