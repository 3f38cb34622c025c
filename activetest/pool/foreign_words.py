"""Words of column names in other European languages, and the English words that they stand for."""

import re
import unicodedata

# {English: words without accents, each with the endings that it may have}.
_WORDS = {
    "prediction": "vorhersage/n prognose/n prevision/s/e/i previsao prediccion predizione predicao "
    "voorspelling/en prognoza przewidywanie predykcja prediktion prediksjon forudsigelse "
    "forutsigelse ennuste",
    "predicted": "vorhergesagt/e/er/es prognostiziert/e/er/es predit/e/s/es/o/a prevu/e/s "
    "predich/o/a predett/o/a previst/o/a voorspeld/e przewidywan/y/a/e predikterad/e forudsagt/e",
    "probability": "wahrscheinlichkeit/en probabilite/s probabilidad/e/es probabilita kans/en "
    "waarschijnlijkheid prawdopodobienstwo sannolikhet sandsynlighed sannsynlighet "
    "todennakoisyys",
    "confidence": "konfidenz/en confiance confianza confidenza confianca vertrouwen zekerheid "
    "pewnosc konfidens",
    "score": "punktzahl puntuacion puntaje punteggio pontuacao",
    "actual": "tatsachlich/e/er/es tatsaechlich/e/er/es wirklich/e/er/es reelle/s reale/s reali "
    "werkelijk/e rzeczywist/y/a/e faktisk/a/t verklig/a/t todellinen",
    "true": "wahr/e/er/es echt/e/er/es vrai/e vero verdader/o/a verdadeir/o/a waar prawdziw/y/a/e",
    "truth": "wahrheit verite verdad verita verdade waarheid prawda sanning sandhed sannhet facit "
    "fasit",
    "label": "etikett/en/er etiquette/s etiqueta/s etichett/a/e rotulo/s etykieta etiket",
    "target": "ziel zielvariable zielgrosse cible/s objetivo obiettivo alvo doel",
    "expected": "soll erwartet/e/er/es attendu/e esperad/o/a attes/o/a verwacht/e oczekiwan/y/a/e",
    "observed": "beobachtet/e/er/es observe/e observad/o/a osservat/o/a waargenomen "
    "obserwowan/y/a/e",
    "reference": "referenz referencia riferimento referentie referens",
    "correct": "korrekt/e richtig/e correcte correct/o/a corrett/o/a corret/o/a juist "
    "poprawn/y/a/e riktig/t rigtig/t",
    "wrong": "falsch/e faux fausse incorrect/o/a errat/o/a errad/o/a onjuist fout",
    "class": "klasse/n classe/s classi clase/s klas klasa klass luokka",
    "category": "kategorie/n categorie/s categoria/s kategoria kategori",
    "value": "wert/e valeur/s valor/e/i/es waarde wartosc varde vaerdi verdi",
    "answer": "antwort/en reponse/s respuesta/s rispost/a/e resposta/s antwoord odpowiedz svar",
    "result": "ergebnis/se resultat/s resultado/s risultat/o/i resultaat wynik",
    "model": "modell modele modelo modello",
    "id": "kennung schlussel identifiant/s identificador identificativo identificatore "
    "identifikator identyfikator tunniste",
    "nr": "nummer numero",
    # In English it tells only where all other words fit it, or behind them.
    "real": "reel/s",
}
_ENGLISH = {
    stem + ending: english
    for english, words in _WORDS.items()
    for stem, *endings in (word.split("/") for word in words.split())
    for ending in ("", *endings)
}
# Names that SAS Enterprise Miner gives, and how those of SPSS Modeler begin.
_PROGRAMS = {
    "em_classification": "prediction",
    "em_prediction": "prediction",
    "em_classtarget": "truth",
    "em_eventprobability": "probability",
    "em_probability": "confidence",
}
_SPSS = re.compile(r"\$([A-Z]+)-(?=.)")
# Of two words that are written as one, the second.
_COMPOUND = re.compile(
    r"(.{3,}?)s?(kennung|klasse|nummer|prognose|vorhersage|wahrscheinlichkeit|wert)"
)
# Letters that have no accent of their own to lose.
_PLAIN = str.maketrans("łŁøØđĐßıæÆœŒ", "lLoOdDsiaAoO")
# camelCase, digits and everything that is no letter part words.
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_]+")
# Articles and the like, between such a word and the next.
_ARTICLES = re.compile("d[aeiou]?|del|della|der|des|die|das|l[ae]?|les|von|van|vom|a[fv]|een")


def find_words(name: str) -> list[tuple[str, int, int]]:
    """(word in English and lower case, where it begins, where it ends) of the words in a name.

    >>> find_words("Fehlerwahrscheinlichkeit"), find_words("trueLabel")
    ([('fehler', 0, 6), ('probability', 6, 24)], [('true', 0, 4), ('label', 4, 9)])
    >>> find_words("probabilité de la fraude")
    [('probability', 0, 11), ('fraude', 18, 24)]
    """
    if known := _PROGRAMS.get(name.casefold()):
        return [(known, 0, len(name))]
    found, foreign, spss = [], False, _SPSS.match(name)
    if spss:
        # The predicted class, as $L-, or how sure that is, as $LP- and $RC-.
        sure = re.fullmatch(r"\w+[CP]", spss.group(1))
        found.append(("confidence" if sure else "pred", 0, spss.end()))
    matches = list(_WORD.finditer(drop_accents(name), spss.end() if spss else 0))
    for match in matches:
        word, start = match.group().lower(), match.start()
        if foreign and _ARTICLES.fullmatch(word) and match is not matches[-1]:
            continue
        parts = None if word in _ENGLISH else _COMPOUND.fullmatch(word)
        if parts:
            first = parts.group(1)
            found.append((_ENGLISH.get(first, first), start, start + len(first)))
            word, start = parts.group(2), start + parts.start(2)
        foreign = word in _ENGLISH
        found.append((_ENGLISH.get(word, word), start, match.end()))
    return found


def drop_accents(name: str) -> str:
    """The name with as many letters, those of the Latin alphabet without accents."""
    plain = (unicodedata.normalize("NFD", letter)[0] for letter in name)
    kept = (new if new.isascii() else old for new, old in zip(plain, name, strict=True))
    return "".join(kept).translate(_PLAIN)
