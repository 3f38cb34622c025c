"""What the name of a column says: the truth, a prediction, a probability, and of which class."""

from collections.abc import Sequence
from dataclasses import dataclass

from activetest.nouns.canonical import make_canonical
from activetest.pool.foreign_words import find_words

# Words that any name of the truth may have, and those that tell only where all others fit them.
_TRUTH = {
    *("label", "labels", "target", "targets", "truth", "groundtruth", "gt", "actual", "actuals"),
    *("true", "ytrue", "ytest"),
}
_PERHAPS = {
    *("gold", "golden", "expected", "observed", "outcome", "outcomes", "reference", "references"),
    *("annotation", "annotated", "human", "correct", "real", "ist"),
}
_COMPANY = {
    *("y", "is", "was", "the", "test", "value", "values", "class", "classes", "answer", "answers"),
    *("output", "outputs", "standard", "category", "name", "result", "response", "flag", "ist"),
}
# Of one class of an item, whoever says it.
_CLASSES = {"class", "category", "intent", "sentiment", "emotion", "topic", "diagnosis", "species"}
_RIGHT = {"correct", "incorrect", "right", "wrong"}
_PREDICTED = {
    *("pred", "preds", "predicted", "prediction", "predictions", "predict", "ypred", "yhat"),
    *("inferred", "forecast", "forecasted"),
}
# What a model says, where its name stands before it.
_OF_MODELS = {"label", "class", "output", "answer", "score", "probability", "proba", "prob"}
# Words of probabilities, and of numbers that may be some or not.
_SURE = {
    *("prob", "probs", "proba", "probas", "probability", "probabilities", "likelihood", "softmax"),
    *("pr", "yprob", "yproba"),
}
_UNSURE = {"score", "scores", "confidence", "conf", "yscore"}
_LOGITS = {"logit", "logits", "logprob", "logprobs"}
# Words beside them that name no class.
_NO_CLASS = {
    *("y", "model", "models", "class", "output", "outputs", "raw", "calibrated", "final", "value"),
    *("the", "of", "estimated", "mean", "avg", "average", "is", "for", "test", "hat"),
    *("target", "label", "max", "top"),
}
_IDS = {"id", "uuid", "guid", "key", "nr"}


@dataclass(frozen=True)
class Probability:
    """What the name of a column of probabilities, scores or logits says.

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


def is_truth(name: str) -> bool:
    """Whether a column may hold the true answers, or say whether the model's is right.

    >>> [is_truth(name) for name in ("y_true", "actual", "is_correct", "label")]
    [True, True, True, True]
    >>> [is_truth(name) for name in ("predicted_label", "gold_member", "reference_number")]
    [False, False, False]
    """
    words = split_words(name)
    if is_right_or_wrong(name):
        return True
    if is_prediction(name) or read_probability(name):
        return False
    if words in (["y"], ["y", "test"]) or not _TRUTH.isdisjoint(words) or words[-1:] == ["real"]:
        return True
    return not _PERHAPS.isdisjoint(words) and {*words} <= _PERHAPS | _COMPANY


def is_right_or_wrong(name: str) -> bool:
    """Whether a column says of each item whether the model's answer is right."""
    words = {*split_words(name)}
    return not _RIGHT.isdisjoint(words) and _RIGHT | _COMPANY | _PREDICTED | {"model"} > words


def is_outcome(name: str, outputs: Sequence[str]) -> bool:
    """Whether a column is called as the class that the one column of outputs is a probability of.

    >>> is_outcome("is_fraud", ["fraud_score"]), is_outcome("fraud_team", ["fraud_score"])
    (True, False)
    """
    found = read_probability(outputs[0]) if len(outputs) == 1 else None
    words = [word for word in split_words(found.class_name if found else "") if word != "not"]
    rest = [word for word in split_words(name) if word not in _COMPANY]
    return bool(words) and rest in (words, [*words[:-1], f"{words[-1]}ed"])


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
    return words[:1] == ["model"] and not _OF_MODELS.isdisjoint(words[1:])


def is_bare_prediction(name: str) -> bool:
    """Whether it is a prediction, and no more is said of it: of the model, not of one of several.

    >>> is_bare_prediction("predicted_label"), is_bare_prediction("pred_gpt")
    (True, False)
    """
    rest = {*split_words(name)} - _PREDICTED
    return is_prediction(name) and rest <= _COMPANY | _OF_MODELS | {"model", "hat"}


def read_probability(name: str) -> Probability | None:
    """What the name of a column of probabilities says; None of any other name.

    >>> read_probability("churn_probability").class_name, read_probability("p_fraud").class_name
    ('churn', 'fraud')
    >>> read_probability("y_pred_proba"), read_probability("phone")
    (Probability(pattern='y_pred_proba', class_name='', sure=True, logit=False), None)
    """
    name = make_canonical(name)
    found = find_words(name)
    words = [word for word, _, _ in found]
    if words[:1] == ["p"] and len(words) > 1:
        words[0] = "prob"
    kinds = (_LOGITS, _SURE, _UNSURE)
    places = [place for place, word in enumerate(words) if any(word in kind for kind in kinds)]
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
