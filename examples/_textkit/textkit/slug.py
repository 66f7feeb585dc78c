"""Names for addresses."""


def slug(title):
    """A title as lower-case letters and digits with single hyphens between words."""
    out = ""
    for char in title.lower():
        if char.isalnum():
            out += char
        elif out or not out.endswith("-"):
            out += "-"
    return out.strip("-")


def unique(title, taken):
    """A slug that is not taken yet: with -2, -3 and so on where need be."""
    base = slug(title)
    name, n = base, 1
    while name in taken:
        n += 1
        name = f"{base}-{n}"
    return name
