"""How many of the lookups of a made-up reader the cache answers: prints JSON."""

import json
import sys

sys.path.insert(0, ".")

from textkit.cache import Cache  # noqa: E402

SIZE, LOOKUPS = 8, 4000


def lookups():
    """Keys as readers ask for them: a few over and over, the others now and then."""
    state = 7
    for n in range(LOOKUPS):
        state = (state * 1103515245 + 12345) % (1 << 31)
        draw = state >> 16
        yield draw % 6 if n % 3 else 6 + draw % 400


def main():
    cache = Cache(SIZE)
    for key in lookups():
        if cache.get(key, str) != str(key):
            sys.exit(f"the cache returned a wrong value for {key}")
    print(json.dumps({"hits": cache.hits}))


main()
