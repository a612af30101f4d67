"""Lines over two logarithmic axes as an SVG file."""

import math
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 360, 250  # of a panel's axes
LEFT, TOP, BELOW, BETWEEN = 70, 40, 110, 70
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#777777")


@dataclass(frozen=True)
class Panel:
    """A title, and points (x, y) of each line by its name."""

    title: str
    lines: dict


def figure(panels, across, up, caption):
    """The panels side by side, with the same axes; `across` and `up` say what the axes have."""
    points = [point for panel in panels for line in panel.lines.values() for point in line]
    x_axis = sorted({x for x, _ in points})
    low = math.floor(math.log10(min(y for _, y in points)))
    high = math.ceil(math.log10(max(y for _, y in points)))
    width = LEFT + len(panels) * (WIDTH + BETWEEN)
    height = TOP + HEIGHT + BELOW
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="13">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for index, panel in enumerate(panels):
        parts.append(f'<g transform="translate({LEFT + index * (WIDTH + BETWEEN)} {TOP})">')
        parts += axes(panel.title, x_axis, (low, high), across, up)
        for (name, line), colour in zip(panel.lines.items(), COLOURS, strict=False):
            parts += drawn(name, line, colour, x_axis, (low, high))
        parts.append("</g>")
    for index, name in enumerate(panels[0].lines):
        at = LEFT + 135 * index
        parts.append(f'<path d="M{at} {height - 42}h24" stroke="{COLOURS[index]}" stroke-width="2.5"/>')
        parts.append(text(at + 30, height - 38, name))
    parts.append(text(LEFT, height - 12, caption, fill="#555"))
    return "\n".join([*parts, "</svg>", ""])


def text(x, y, words, **attributes):
    more = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in attributes.items())
    return f'<text x="{x:g}" y="{y:g}"{more}>{escape(words)}</text>'


def right(x, x_axis):
    low, high = math.log10(x_axis[0]), math.log10(x_axis[-1])
    return WIDTH * (math.log10(x) - low) / (high - low or 1)


def down(y, powers):
    low, high = powers
    return HEIGHT * (high - math.log10(y)) / (high - low)


def axes(title, x_axis, powers, across, up):
    parts = [
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#333"/>',
        text(WIDTH / 2, -14, title, text_anchor="middle", font_weight="bold"),
        text(WIDTH / 2, HEIGHT + 42, across, text_anchor="middle"),
        text(-HEIGHT / 2, -48, up, text_anchor="middle", transform="rotate(-90)"),
    ]
    for power in range(powers[0], powers[1] + 1):
        y = down(10.0**power, powers)
        parts.append(f'<path d="M0 {y:g}h{WIDTH}" stroke="#ddd"/>')
        parts.append(text(-8, y + 4, f"{10.0**power:g}", text_anchor="end"))
    for x in x_axis:
        parts.append(f'<path d="M{right(x, x_axis):g} {HEIGHT}v5" stroke="#333"/>')
        parts.append(text(right(x, x_axis), HEIGHT + 20, f"{x:g}", text_anchor="middle"))
    return parts


def drawn(name, line, colour, x_axis, powers):
    places = [(right(x, x_axis), down(y, powers)) for x, y in line]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    dots = [
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"><title>{escape(name)}</title></circle>'
        for x, y in places
    ]
    return [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>', *dots]
