"""How many values the cache has made again for a made-up reader: prints JSON.

The misses are counted here, by what the cache asks to be made, and not by the
cache: a number that the code under test counts itself is easily improved.
"""

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
        yield draw % 7 if n % 4 else 7 + draw % 400


def main():
    made = []

    def make(key):
        made.append(key)
        return str(key)

    cache = Cache(SIZE)
    for key in lookups():
        if cache.get(key, make) != str(key):
            sys.exit(f"the cache returned a wrong value for {key}")
    print(json.dumps({"misses": len(made)}))


main()
