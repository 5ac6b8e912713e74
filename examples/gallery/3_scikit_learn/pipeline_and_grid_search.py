"""
Pipeline and grid search
========================

`DIKMeans` is a transformer, too: ``transform`` gives the cost of every picture to every cluster. As
features for a linear classifier, some twenty costs can say more than all pixels. The number of
clusters is then a parameter like any other, and labels can choose it.
"""

from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dikmeans import DIKMeans, plot

digits = load_digits()
X_train, X_test, y_train, y_test = train_test_split(
    digits.images, digits.target, train_size=160, test_size=400, random_state=0
)

# %%
# ``n_prototypes=1``: every cluster is one feature. Parameters of a step are named as always.

pipeline = make_pipeline(
    DIKMeans(n_init=1, n_prototypes=1, random_state=0),
    StandardScaler(),
    LogisticRegression(max_iter=1000),
)
search = GridSearchCV(pipeline, {"dikmeans__n_clusters": [5, 10, 20]}, cv=2)
search.fit(X_train, y_train)
for parameters, score in zip(
    search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
):
    print(f"{parameters['dikmeans__n_clusters']:>3} clusters: {score:.1%} by cross-validation")

# %%
# On pictures that were not seen:

pixels = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
pixels.fit(X_train.reshape(len(X_train), -1), y_train)
print(f"costs:  {search.score(X_test, y_test):.1%} right")
print(f"pixels: {pixels.score(X_test.reshape(len(X_test), -1), y_test):.1%} right")

# %%
# What a feature means can be seen: it is how badly a picture fits one of these.

best = search.best_estimator_[0]
plot.centroids(best)

# %%
# The columns have names, and ``set_output`` works.

print(best.set_output(transform="pandas").transform(X_test[:3]).iloc[:, :5].round(2))
