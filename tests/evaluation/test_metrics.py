from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dikmeans.evaluation import clustering_accuracy, confusion, scores

labels = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30).map(
    lambda pairs: np.array(pairs).T
)


def by_trying_all_matchings(y_true, y_pred):
    """The definition: clusters get distinct classes, the best way counts."""
    return max(np.mean(np.array(m)[y_pred] == y_true) for m in permutations(range(4)))


@given(labels)
def test_accuracy_is_the_best_over_all_matchings(pair):
    assert clustering_accuracy(*pair) == pytest.approx(by_trying_all_matchings(*pair))


@given(labels, st.permutations(range(4)), st.permutations(range(4)))
def test_accuracy_does_not_depend_on_what_classes_and_clusters_are_called(
    pair, renamed, renumbered
):
    y_true, y_pred = pair
    expected = clustering_accuracy(y_true, y_pred)
    assert clustering_accuracy(np.array(renamed)[y_true], np.array(renumbered)[y_pred]) == expected
    words = np.array(["a", "b", "c", "d"])
    assert clustering_accuracy(words[y_true], y_pred) == expected


@given(labels, st.randoms())
def test_accuracy_does_not_depend_on_the_order_of_the_samples(pair, random):
    y_true, y_pred = pair
    order = random.sample(range(len(y_true)), len(y_true))
    assert clustering_accuracy(y_true[order], y_pred[order]) == clustering_accuracy(y_true, y_pred)


@given(labels)
def test_confusion_counts_every_sample_once_with_the_matches_on_the_diagonal(pair):
    y_true, y_pred = pair
    result = confusion(y_true, y_pred)
    for row, a in enumerate(result.classes):
        for column, b in enumerate(result.clusters):
            assert result.counts[row, column] == np.sum((y_true == a) & (y_pred == b))
    assert result.accuracy == clustering_accuracy(y_true, y_pred)
    assert result.n_matched == min(len(result.classes), len(result.clusters))


def test_members_of_superfluous_clusters_count_as_wrong():
    assert clustering_accuracy([0, 0, 0, 1], [0, 0, 2, 1]) == 0.75


def test_one_cluster_for_all_gets_the_largest_class():
    assert clustering_accuracy([0, 0, 0, 1], [7, 7, 7, 7]) == 0.75


@given(labels)
def test_a_perfect_clustering_scores_one_in_everything(pair):
    y_true, _ = pair
    assert scores(y_true, 9 - y_true) == pytest.approx({"accuracy": 1, "nmi": 1, "ari": 1})


def test_scores_agree_with_hand_computed_values():
    # Two classes of two, one sample strayed; the pair counts give the Rand index by hand.
    result = scores([0, 0, 1, 1], [0, 0, 0, 1])
    assert result["accuracy"] == 0.75
    assert result["ari"] == pytest.approx(0.0)
    entropy_true, entropy_pred = np.log(2), -(0.75 * np.log(0.75) + 0.25 * np.log(0.25))
    mutual = (
        0.5 * np.log(0.5 / (0.5 * 0.75)) + 0.25 * np.log(0.25 / (0.5 * 0.75)) + 0.25 * np.log(2)
    )
    assert result["nmi"] == pytest.approx(2 * mutual / (entropy_true + entropy_pred))


@pytest.mark.parametrize(
    ("y_true", "y_pred"), [([0, 1], [0]), ([], []), ([[0]], [[0]]), ([0.5, 1.0], [0, 1])]
)
def test_what_are_no_two_lists_of_labels_is_refused(y_true, y_pred):
    with pytest.raises(ValueError, match="y_true"):
        clustering_accuracy(y_true, y_pred)
