"""How often a classifier's best classes are the oracle's."""

from __future__ import annotations

import numpy as np

from tilewright_graph.verification.agreement import agreement, is_classification

THEIRS = np.arange(12.0)[None]


def test_equal_answers_agree_in_all():
    told = agreement([(THEIRS, THEIRS)] * 3)
    assert (told.samples, told.top1, told.top1_decided, told.top5) == (3, 1.0, 1.0, 1.0)


def test_another_best_class_counts_against_the_best_one_and_not_against_the_best_five():
    swapped = THEIRS.copy()
    swapped[0, -2:] = swapped[0, -2:][::-1]
    told = agreement([(THEIRS, THEIRS), (swapped, THEIRS)])
    assert (told.top1, told.top5) == (0.5, 1.0)
    assert told.top1_decided == 1.0, (
        "of the second, the best two lie no further apart than the error"
    )


def test_a_wrong_best_class_counts_where_the_answer_is_decided():
    sure = np.zeros((1, 12))
    sure[0, 3] = 9.0
    near, wrong = sure + 1.0, sure.copy()
    wrong[0, [3, 7]] = 6.0, 6.5
    assert agreement([(near, sure)]).top1_decided == 1.0
    told = agreement([(wrong, sure), (sure, sure)])
    assert (told.top1, told.top1_decided) == (0.5, 0.5)


def test_best_five_that_differ_are_told():
    assert agreement([(-THEIRS, THEIRS)]).top5 == 0.0


def test_a_classification_has_many_classes_of_one_input():
    assert is_classification(THEIRS)
    assert not is_classification(THEIRS[:, :9])
    assert not is_classification(np.zeros((2, 12)))
    assert not is_classification(np.zeros((1, 12, 7, 7)))
