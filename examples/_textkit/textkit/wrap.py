"""Breaking text into lines."""


def wrap(text, width):
    """Lines of at most width characters, broken at spaces; longer words stay whole."""
    lines, line = [], ""
    for word in text.split():
        if not line:
            line = word
        elif len(line) + len(word) <= width:
            line += " " + word
        else:
            lines.append(line)
            line = word
    if line:
        lines.append(line)
    return lines


def longest(lines):
    """The length of the longest line, 0 for none."""
    most = 0
    for line in lines:
        if len(line) > most:
            most = len(line)
    return most
