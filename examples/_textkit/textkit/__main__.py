"""The command line: reads standard input, writes standard output."""

import sys

from textkit import slug, table, words, wrap


def main(args, text):
    command, options = args[0], args[1:]
    if command == "count":
        return "\n".join(f"{n} {word}" for word, n in words.top(text, 3))
    if command == "wrap":
        width = int(options[0]) if options else 72
        return "\n".join(wrap.wrap(text, width))
    if command == "slug":
        return slug.slug(text)
    if command == "table":
        return table.render([line.split(",") for line in text.splitlines()])
    raise SystemExit(f"textkit: there is no command {command!r}")


if __name__ == "__main__":
    print(main(sys.argv[1:], sys.stdin.read()))
