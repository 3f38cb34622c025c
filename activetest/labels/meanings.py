"""The class that a word means: ok and legit are no fraud, failed is no pass. Never by order.

Words stand in pairs of opposites. A word is only read within a pair that both classes, or their
opposites in words for true and false, belong to; where two readings are possible, there is none.
"""

import unicodedata
from collections.abc import Collection, Mapping
from typing import NamedTuple

_TRUE = "true t yes y 1 ja oui si sim wahr vrai verdadero vero verdadeiro tak ano да 是 はい 예"
_FALSE = "false f no n 0 nein non nao falsch faux falso nee nej nie ne нет 否 いいえ 아니요"
_NOT = ("not", "non", "no", "kein", "keine", "nicht", "pas", "niet", "ikke", "inte", "не")
_UP, _DOWN = "👍 ✓ ✔ ✅ ☑", "👎 ✗ ✘ ❌ ☒ ✖"
_FINE = "ok okay legit legitimate genuine normal clean benign valid fine"

_NEUTRAL = frozenset(["neutral", "neu", "neutre"])


def _split(text: str) -> tuple[str, ...]:
    """The words and pictures of a text, in lower case and without accents; 1.0 is 1."""
    letters = unicodedata.normalize("NFKD", text.casefold().strip())
    if letters in ("0.0", "1.0"):
        return (letters[0],)
    kinds = ((letter, unicodedata.category(letter)) for letter in letters)
    kept = "".join(
        letter if letter.isalnum() or kind == "So" else " "
        for letter, kind in kinds
        # Accents, and the colour of an emoji.
        if kind not in ("Mn", "Sk", "Cf")
    )
    return tuple(kept.split())


class _Pair(NamedTuple):
    """Words for something and for its opposite, and what 1 and true mean of it.

    plain  1 is the first; not known where either could be
    """

    first: frozenset[str]
    second: frozenset[str]
    plain: bool


def _pair(first: str, second: str, *, plain: bool = True) -> _Pair:
    ours, others = (
        frozenset("".join(_split(word)) for word in each.split()) for each in (first, second)
    )
    return _Pair(ours, others, plain)


_TRUTH = _pair(_TRUE, _FALSE)
_PAIRS = (
    _TRUTH,
    _pair("positive pos positiv positif positivo", "negative neg negativ negatif negativo"),
    _pair(
        f"pass passed passes success successful succeeded ok okay correct right accurate richtig "
        f"korrekt correcto corretto correto bestanden {_UP}",
        f"fail failed fails failure failing unsuccessful incorrect wrong inaccurate falsch error "
        f"inkorrekt incorrecto errato incorreto durchgefallen {_DOWN}",
    ),
    _pair(f"good gut bon bueno {_UP}", f"bad poor schlecht mauvais malo {_DOWN}", plain=False),
    _pair("fraud fraudulent fraudster scam chargeback betrug fraude", _FINE),
    _pair("spam junk spammy", f"ham {_FINE}"),
    _pair("toxic abusive offensive hateful", f"inoffensive {_FINE}"),
    _pair("unsafe harmful dangerous", "safe harmless", plain=False),
    _pair("anomaly anomalous outlier attack malicious malware", f"inlier {_FINE}"),
    _pair("churn churned", "stayed stay retained"),
    _pair("relevant", "irrelevant"),
    _pair("duplicate dup", "unique distinct"),
    _pair("accept accepted approve approved", "reject rejected denied declined", plain=False),
)


def read_meanings(labels: Collection[str], classes: Collection[str]) -> dict[str, str]:
    """{label: class} of the labels that mean a class by their words; none where it is not clear.

    >>> read_meanings(["OK", "legit", "Fraud", "chargeback"], ["fraud", "ok"])
    {'OK': 'ok', 'legit': 'ok', 'Fraud': 'fraud', 'chargeback': 'fraud'}
    >>> read_meanings(["fail", "pass"], ["0", "1"]), read_meanings(["good", "bad"], ["0", "1"])
    ({'fail': '0', 'pass': '1'}, {})
    """
    if len(classes) != 2:
        return _read_synonyms(labels, classes)
    pairs = (*_PAIRS, *_list_negations([*labels, *classes]))
    found = [_read_pair(labels, classes, pair) for pair in pairs]
    most = max(map(len, found))
    best = [meant for meant in found if len(meant) == most]
    # Where another pair has more of the words, they are about something else.
    apart = any(len(_read_sides(labels, pair)) > most for pair in pairs)
    return best[0] if most and not apart and all(meant == best[0] for meant in best) else {}


def _read_pair(labels: Collection[str], classes: Collection[str], pair: _Pair) -> dict[str, str]:
    """{label: class} where the classes are the two sides of a pair, or true and false for it."""
    own, truth = (_read_sides(classes, each) for each in (pair, _TRUTH))
    given, plain = (_read_sides(labels, each) for each in (pair, _TRUTH))
    if len(own) == 2 and len(set(own.values())) == 2:
        names = {side: name for name, side in own.items()}
        # True and false tell something by themselves only where both are there.
        given |= plain if pair.plain and set(plain.values()) == {True, False} else {}
    elif len(truth) == 2 and len(set(truth.values())) == 2 and pair.plain:
        names = {side: name for name, side in truth.items()}
        given = given | plain if set(given.values()) == {True, False} else {}
    else:
        return {}
    # Letters are words for true and false where all labels are such words.
    letters = any(len(label) == 1 and label.isalpha() for label in given)
    return (
        {}
        if letters and len(given) < len(labels)
        else {label: names[side] for label, side in given.items()}
    )


def _read_synonyms(labels: Collection[str], classes: Collection[str]) -> dict[str, str]:
    """{label: class} of labels that share a list of words with one class alone."""
    lists = [words for pair in _PAIRS[1:] for words in (pair.first, pair.second)] + [_NEUTRAL]
    found = {}
    for label in labels:
        word = "".join(_split(label))
        alike = {
            name
            for words in lists
            if word in words
            for name in classes
            if "".join(_split(name)) in words
        }
        if len(alike) == 1:
            found[label] = alike.pop()
    return found


def _read_sides(words: Collection[str], pair: _Pair) -> dict[str, bool]:
    """{word: whether it is the first of the pair} of the words that are one of the two."""
    found = {}
    for word in words:
        bare, turned = _strip_negation(_split(word))
        if bare in pair.first | pair.second and (bare in pair.first) != (bare in pair.second):
            found[word] = (bare in pair.first) != turned
    return found


def _list_negations(words: Collection[str]) -> list[_Pair]:
    """Pairs of a word and itself with a not before it, where both are among the words."""
    split = {_split(word) for word in words}
    single = {parts[-1] for parts in split if len(parts) == 2 and parts[0] in _NOT}
    return [_pair(word, "") for word in sorted(single) if (word,) in split]


def _strip_negation(parts: tuple[str, ...]) -> tuple[str, bool]:
    """A word and whether a not stands before it."""
    if len(parts) > 1 and parts[0] in _NOT:
        return "".join(parts[1:]), True
    return "".join(parts), False


def describe_counts(counts: Mapping[str, int], most: int) -> str:
    """Labels with their counts, the most frequent first: 'OK' (12), 'legit' (3) and 2 more.

    >>> describe_counts({"legit": 3, "OK": 12}, 5)
    "'OK' (12), 'legit' (3)"
    """
    named = sorted(counts, key=lambda label: (-counts[label], label))
    more = f" and {len(named) - most:,} more" if len(named) > most else ""
    return ", ".join(f"{label!r} ({counts[label]:,})" for label in named[:most]) + more
