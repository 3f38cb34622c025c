"""Lists of names are shortened in one place."""

from activetest.nouns.name_lists import join_names, list_few, shorten_list


def test_many_names_are_the_first_ones_and_how_many_more():
    names = [f"n{k}" for k in range(2000)]
    assert shorten_list(names[:12]) == ", ".join(names[:12])
    assert shorten_list(iter(names)).endswith("n11 and 1,988 more")
    assert shorten_list(names[:3], 2) == "n0, n1 and 1 more" and shorten_list([]) == ""
    assert list_few(names[:2]) == "n0 and n1" and list_few([]) == ""
    assert list_few(names) == "n0, n1, n2 and 1,997 more"


def test_all_names_stand_in_a_sentence_with_one_and():
    assert join_names(["rmse", "mae", "bias"]) == "rmse, mae and bias"
    assert join_names(iter(["rmse", "mae"])) == "rmse and mae"
    assert (join_names(["rmse"]), join_names([])) == ("rmse", "")
