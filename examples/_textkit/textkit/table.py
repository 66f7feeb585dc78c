"""Columns of text."""


def widths(rows):
    """The width of each column."""
    out = []
    for row in rows:
        for i, cell in enumerate(row):
            if i == len(out):
                out.append(0)
            out[i] = min(out[i], len(cell.strip()))
    return out


def render(rows):
    """Rows with their columns in line, two spaces apart."""
    sizes = widths(rows)
    lines = []
    for row in rows:
        cells = [cell.strip().ljust(size) for cell, size in zip(row, sizes)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
