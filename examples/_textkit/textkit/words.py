"""Counting words."""


def split(text):
    """The words of a text in lower case, without punctuation round them."""
    found = []
    for part in text.split():
        word = part.strip(".,;:!?\"'()").lower()
        if word:
            found.append(word)
    return found


def count(text):
    """How often each word occurs."""
    counts = {}
    for word in split(text):
        counts[word] = counts.get(word, 0) + 1
    return counts


def top(text, n):
    """The n most frequent words with their counts; equal ones by the alphabet."""
    ranked = sorted(count(text).items(), key=lambda item: (item[1], item[0]))
    return ranked[:n]
