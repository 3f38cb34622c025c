"""The meaning of a column's name: the truth, a prediction, a probability, and of which class."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile

from activetest.nouns.canonical import make_canonical
from activetest.pool.foreign_words import find_words

# Words that any name of the truth may have, and those that tell only where all others fit them.
_TRUTH = {
    *("label", "labels", "target", "targets", "truth", "groundtruth", "gt", "actual", "actuals"),
    *("true", "ytrue", "ytest"),
}
_PERHAPS = {
    *("gold", "golden", "expected", "observed", "outcome", "outcomes", "reference", "references"),
    *("annotation", "annotated", "human", "correct", "real", "ist", "obs"),
    *("ref", "consensus", "adjudicated", "majority"),
}
_COMPANY = {
    *("y", "is", "was", "the", "test", "value", "values", "class", "classes", "answer", "answers"),
    *("output", "outputs", "standard", "category", "name", "result", "response", "flag", "ist"),
    *("rating", "grade", "judgement", "judgment", "vote", "final"),
}
# Of one class of an item, whoever says it.
_CLASSES = {"class", "category", "intent", "sentiment", "emotion", "topic", "diagnosis", "species"}
_RIGHT = {"correct", "incorrect", "right", "wrong", "match", "exact"}
# Of how far off a model is: always, and where all other words fit.
_RESIDUALS, _ERRORS = {"residual", "residuals", "resid"}, {"error", "errors", "err"}
_OF_ERRORS = {"abs", "absolute", "squared", "sq", "relative", "percentage", "model", "y"}
_PREDICTED = {
    *("pred", "preds", "predicted", "prediction", "predictions", "predict", "ypred", "yhat"),
    *("inferred", "forecast", "forecasted"),
}
# Words for outputs of a model, where its name stands before them.
_OF_MODELS = {"label", "class", "output", "answer", "score", "probability", "proba", "prob"}
_OF_ALL = {"model", "hat", "scored", "labels"}
# Words of probabilities, and of numbers that may be some or not.
_SURE = {
    *("prob", "probs", "proba", "probas", "probability", "probabilities", "likelihood", "softmax"),
    *("pr", "yprob", "yproba"),
}
_UNSURE = {"score", "scores", "confidence", "confidences", "conf", "yscore"}
_LOGITS = {"logit", "logits", "logprob", "logprobs"}
# Words beside them that name no class.
_NO_CLASS = {
    *("y", "model", "models", "class", "output", "outputs", "raw", "calibrated", "final", "value"),
    *("the", "of", "estimated", "mean", "avg", "average", "is", "for", "test", "hat"),
    *("target", "label", "max", "top", "scored"),
}
_IDS = {"id", "uuid", "guid", "key", "nr"}
# Of columns that number the rows.
_INDEX = {"row", "rows", "rowid", "rownum", "rowindex", "index", "idx", "inst", "line", "unnamed"}
_NUMBERS = {"id", "nr", "number", "num", "name", "names", "of", "level", "index"}


@dataclass(frozen=True)
class Probability:
    """The meaning of the name of a column of probabilities, scores or logits.

    pattern  the name without its class: columns that share it belong together
    class_name  empty where none is named
    sure     whether the name says probability, and not score
    logit    whether it says logit
    """

    pattern: str
    class_name: str
    sure: bool
    logit: bool


def split_words(name: str) -> list[str]:
    """The words of a name in lower case, in English where that is known.

    >>> split_words("trueLabel"), split_words("P(not_fraud)"), split_words("classe réelle")
    (['true', 'label'], ['p', 'not', 'fraud'], ['class', 'actual'])
    """
    return [word for word, _, _ in find_words(make_canonical(name))]


def is_id(name: str) -> bool:
    """Whether a column is called as columns of ids are.

    >>> [is_id(name) for name in ("customer_id", "ItemId", "UUID", "Kundennummer", "grid", "idea")]
    [True, True, True, True, False, False]
    """
    return not _IDS.isdisjoint(split_words(name)[-1:])


def is_index(name: str) -> bool:
    """Whether a column is called as those that number the rows are.

    >>> [is_index(name) for name in ("Unnamed: 0", "__index_level_0__", "rowIndex", "price_index")]
    [True, True, True, False]
    """
    words = {word for word in split_words(name) if not word.isdecimal()}
    return not _INDEX.isdisjoint(words) and words <= _INDEX | _NUMBERS


def is_truth(name: str) -> bool:
    """Whether a column may hold the true answers, or say whether the model's is right.

    >>> [is_truth(name) for name in ("y_true", "actual", "is_correct", "label")]
    [True, True, True, True]
    >>> [is_truth(name) for name in ("predicted_label", "gold_member", "reference_number")]
    [False, False, False]
    """
    words = split_words(name)
    scored_by_people = words[:1] in (["human"], ["gold"]) and {*words[1:]} <= _UNSURE
    if is_right_or_wrong(name) or scored_by_people:
        return True
    if is_prediction(name) or read_probability(name):
        return False
    if words in (["y"], ["y", "test"], ["class"]) or words[-1:] == ["real"]:
        return True
    if not _TRUTH.isdisjoint(words):
        return True
    return not _PERHAPS.isdisjoint(words) and {*words} <= _PERHAPS | _COMPANY


def is_right_or_wrong(name: str) -> bool:
    """Whether a column says of each item whether the model's answer is right, or how far off.

    >>> [is_right_or_wrong(name) for name in ("is_correct", ".resid", "abs_error", "error_count")]
    [True, True, True, False]
    """
    words = {*split_words(name)}
    if not _RESIDUALS.isdisjoint(words):
        return True
    if not _ERRORS.isdisjoint(words):
        return words <= _ERRORS | _OF_ERRORS | _PREDICTED
    return not _RIGHT.isdisjoint(words) and _RIGHT | _COMPANY | _PREDICTED | {"model"} > words


def is_outcome(name: str, outputs: Sequence[str]) -> bool:
    """Whether a column is called as what these predict, or are the probabilities of.

    >>> is_outcome("is_fraud", ["fraud_score"]), is_outcome("fraud_team", ["fraud_score"])
    (True, False)
    >>> is_outcome("price", ["Prediction (price)"]), is_outcome("BAD", ["P_BAD0", "P_BAD1"])
    (True, True)
    """
    # SAS calls the truth of BAD F_BAD, too.
    rest = [word for word in split_words(name.removeprefix("F_")) if word not in _COMPANY]
    return bool(rest) and rest in _find_targets(tuple(outputs))


@lru_cache(maxsize=8)
def _find_targets(outputs: tuple[str, ...]) -> list[list[str]]:
    """The words of names that the truth may have, as outputs are called after it."""
    found = [each for output in outputs if (each := read_probability(output))]
    # SAS calls the predicted class of BAD I_BAD.
    targets = [
        [word for word in split_words(output) if word not in _PREDICTED | _COMPANY | {"i"}]
        for output in outputs
        if is_prediction(output) or output.startswith("I_")
    ]
    if len(found) == 1:
        words = [word for word in split_words(found[0].class_name) if word != "not"]
        targets += [words, words[:-1] if words[-1:] == ["1"] else []]
        targets += [[*words[:-1], f"{word}ed"] for word in words[-1:]]
    elif found:
        # Of P_BAD0 and P_BAD1, or P(target=no) and P(target=yes), what is before the classes.
        targets.append(split_words(find_common(each.class_name for each in found)))
    return targets


def restates_outcome(name: str, outputs: Sequence[str]) -> bool:
    """Whether a column says what outputs say or how far off they are, by SAS's I_, U_ and R_."""
    return name[:2] in ("I_", "U_", "R_") and is_outcome(name[2:], outputs)


def find_common(names: Iterable[str]) -> str:
    """The letters that all of the names begin with.

    >>> find_common(["target=no", "target=yes"])
    'target='
    """
    names = list(names)
    pairs = takewhile(lambda pair: pair[0] == pair[1], zip(min(names), max(names), strict=False))
    return "".join(letter for letter, _ in pairs)


def may_name_classes(name: str) -> bool:
    """Whether a column may hold one class of each item: a predicted, a true or just some class.

    >>> [may_name_classes(name) for name in ("predicted_label", "intent", "is_correct", "country")]
    [True, True, False, False]
    """
    if is_right_or_wrong(name):
        return False
    return is_bare_prediction(name) or is_truth(name) or not _CLASSES.isdisjoint(split_words(name))


def is_prediction(name: str) -> bool:
    """Whether a column holds what a model predicts, and no probability of it.

    >>> [is_prediction(name) for name in ("pred_label", "yhat", "model_output", "label")]
    [True, True, True, False]
    """
    words = split_words(name)
    if not (_SURE | _LOGITS).isdisjoint(words) or not _UNSURE.isdisjoint(words):
        return False
    if not _PREDICTED.isdisjoint(words) or words == ["y", "hat"]:
        return True
    # So does Azure, of labels.
    scored = words[:1] == ["scored"] and not {"label", "labels"}.isdisjoint(words)
    return scored or (words[:1] == ["model"] and not _OF_MODELS.isdisjoint(words[1:]))


def may_be_output(name: str) -> bool:
    """Whether it is a prediction, or the probability of one.

    >>> may_be_output("yhat"), may_be_output("fraud_score"), may_be_output("age")
    (True, True, False)
    """
    return is_prediction(name) or read_probability(name) is not None


def is_bare_prediction(name: str) -> bool:
    """Whether it is a prediction, and no more is said of it: of the model, not of one of several.

    >>> is_bare_prediction("predicted_label"), is_bare_prediction("pred_gpt")
    (True, False)
    """
    rest = {*split_words(name)} - _PREDICTED
    return is_prediction(name) and rest <= _COMPANY | _OF_MODELS | _OF_ALL


def read_probability(name: str) -> Probability | None:
    """The meaning of the name of a column of probabilities; None of any other name.

    >>> read_probability("churn_probability").class_name, read_probability("p_fraud").class_name
    ('churn', 'fraud')
    >>> read_probability("y_pred_proba"), read_probability("phone")
    (Probability(pattern='y_pred_proba', class_name='', sure=True, logit=False), None)
    """
    return _read_class(name, _LOGITS | _SURE | _UNSURE)


def read_predicted(name: str) -> Probability | None:
    """The same of a column that is called a prediction: that of a class may be its probability.

    >>> read_predicted(".pred_yes").class_name, read_predicted("prob_yes")
    ('yes', None)
    """
    return _read_class(name, _PREDICTED) if is_prediction(name) else None


def _read_class(name: str, kinds: Collection[str]) -> Probability | None:
    """The meaning of a name besides the words of these kinds; None without any of them."""
    name = make_canonical(name)
    found = find_words(name)
    words = [word for word, _, _ in found]
    if words[:1] == ["p"] and len(words) > 1:
        words[0] = "prob"
    places = [place for place, word in enumerate(words) if word in kinds]
    if not places:
        return None
    logit = not _LOGITS.isdisjoint(words)
    sure = not _SURE.isdisjoint(words)
    idle = _NO_CLASS | _PREDICTED | _LOGITS | _SURE | _UNSURE
    telling = [place for place, word in enumerate(words) if word not in idle]
    # Of prob_not_fraud the class is all that follows; of fraud_score all that stands before.
    after = [place for place in telling if place > places[-1]]
    chosen = after or [place for place in telling if place < places[0]]
    if not chosen:
        return Probability(name, "", sure, logit)
    _, start, _ = found[places[-1] + 1 if after else chosen[0]]
    _, _, stop = found[-1 if after else chosen[-1]]
    # Signs that are no letters belong to the class, but for the bracket around it.
    named = name[start:] if after else name[start:stop]
    if after and name[found[places[-1]][2] : start].strip().endswith("("):
        named = named.removesuffix(")")
    return Probability(name[:start] + "\0" + name[start + len(named) :], named.strip(), sure, logit)
