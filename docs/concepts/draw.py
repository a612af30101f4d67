"""Draws the pictures of docs/concepts.

    python docs/concepts/draw.py [FOLDER]
"""

import sys
from math import cos, pi, sin
from pathlib import Path

INK, PALE, LINE = "#24313f", "#eef2f6", "#8899aa"
FOLDER = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
LABELS = ["#4c78a8", "#f58518", "#54a24b", "#b279a2", "#e45756"]


class Picture:
    """An SVG on white paper, so that it can be read on dark pages as well."""

    def __init__(self, width, height):
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            f'font-family="Roboto, Helvetica, Arial, sans-serif" font-size="14">',
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
            f'<path d="M0 0L8 4L0 8z" fill="{INK}"/></marker></defs>',
            f'<rect width="{width}" height="{height}" rx="8" fill="white"/>',
        ]

    def box(self, x, y, width, height, fill=PALE, stroke=LINE):
        self.parts.append(f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="3" fill="{fill}" stroke="{stroke}"/>')

    def line(self, a, b, arrow=False, colour=LINE, width=1.5):
        tip = ' marker-end="url(#tip)"' if arrow else ""
        self.parts.append(
            f'<line x1="{a[0]:.4g}" y1="{a[1]:.4g}" x2="{b[0]:.4g}" y2="{b[1]:.4g}" stroke="{INK if arrow else colour}" '
            f'stroke-width="{width}"{tip}/>'
        )

    def node(self, at, text="", radius=13, fill=PALE):
        self.parts.append(f'<circle cx="{at[0]:.4g}" cy="{at[1]:.4g}" r="{radius}" fill="{fill}" stroke="{INK}"/>')
        if text:
            self.text(at[0], at[1] + 5, text)

    def text(self, x, y, text, anchor="middle", size=14, weight="normal"):
        self.parts.append(
            f'<text x="{x:.4g}" y="{y:.4g}" text-anchor="{anchor}" font-size="{size}" font-weight="{weight}" fill="{INK}">{text}</text>'
        )

    def save(self, name):
        FOLDER.mkdir(exist_ok=True)
        path = FOLDER / f"{name}.svg"
        path.write_text("\n".join([*self.parts, "</svg>", ""]), encoding="utf-8")


def circle(count, x, y, radius):
    angles = [2 * pi * place / count - pi / 2 for place in range(count)]
    return [(x + radius * cos(angle), y + radius * sin(angle)) for angle in angles]


def overlay():
    """Three overlays of eight clients."""
    picture = Picture(640, 250)
    ring = [(node, (node + 1) % 8) for node in range(8)]
    chords = [(0, 4), (1, 6), (2, 5), (3, 7)]
    complete = [(a, b) for a in range(8) for b in range(a)]
    kinds = [("ring", ring, "λ = 0.80"), ("3-regular", ring + chords, "λ = 0.50"), ("complete", complete, "λ = 0")]
    for place, (name, edges, says) in enumerate(kinds):
        nodes = circle(8, 110 + 210 * place, 110, 80)
        for a, b in edges:
            picture.line(nodes[a], nodes[b])
        for number, at in enumerate(nodes):
            picture.node(at, str(number))
        picture.text(110 + 210 * place, 222, name, weight="bold")
        picture.text(110 + 210 * place, 241, says, size=13)
    picture.save("overlay")


def stack():
    """The models of all clients as the rows of one array."""
    picture = Picture(640, 230)
    layers = [("layer 1", 220), ("layer 2", 130), ("out", 60)]
    for row in range(4):
        y = 55 + 34 * row
        name = ["client 0", "client 1", "…", "client R − 1"][row]
        picture.text(150, y + 18, name, anchor="end")
        x = 165
        for number, (layer, width) in enumerate(layers):
            picture.box(x, y, width, 26, fill=["#c9d8ea", "#fddcb8", "#c9e2c7"][number])
            if row == 0:
                picture.text(x + width / 2, 44, layer, size=13)
            x += width
    picture.text(370, 20, "P parameters", weight="bold")
    picture.text(370, 212, "one array [R, P]: every operation is one pass over all rows", size=13)
    picture.save("stack")


def mixing():
    """A row of the product with the mixing matrix."""
    picture = Picture(640, 240)
    nodes = [(90, 120), (250, 50), (250, 120), (250, 190)]
    for at, weight in zip(nodes[1:], ["¼", "¼", "¼"]):
        picture.line((at[0] - 15, at[1]), (nodes[0][0] + 15, nodes[0][1] + (at[1] - 120) / 12), arrow=True)
        picture.text((at[0] + nodes[0][0]) / 2 + 8, (at[1] + 120) / 2 - 8, weight)
    for at, name in zip(nodes, "i123"):
        picture.node(at, name if name == "i" else f"j{name}", radius=16)
    picture.text(52, 125, "¼")
    picture.text(175, 228, "client i hears three neighbours", size=13)
    picture.text(480, 70, "w_i ← Σ_j W_ij w_j", size=19, weight="bold")
    for number, line in enumerate(["W_ij > 0 only where i and j are neighbours", "each row of W sums to one", "λ: how much disagreement", "one mixing leaves"]):
        picture.text(480, 108 + 22 * number, line, size=13)
    picture.save("mixing")


def a_round():
    """What a round of D-SGD consists of."""
    picture = Picture(640, 190)
    steps = [
        ("local steps", "each client trains", "on its own examples"),
        ("messages", "models go to the", "neighbours, counted"),
        ("mixing", "each client averages", "what it heard"),
        ("evaluation", "the models are judged", "on test examples"),
    ]
    for place, (name, *says) in enumerate(steps):
        x = 20 + 155 * place
        picture.box(x, 40, 135, 90)
        picture.text(x + 67, 64, name, weight="bold")
        for number, line in enumerate(says):
            picture.text(x + 67, 90 + 18 * number, line, size=12)
        if place < 3:
            picture.line((x + 135, 85), (x + 154, 85), arrow=True)
    picture.line((552, 130), (552, 160))
    picture.line((552, 160), (87, 160))
    picture.line((87, 160), (87, 131), arrow=True)
    picture.text(320, 178, "next round", size=13)
    picture.save("round")


def partition():
    """Who holds how many examples of which label."""
    picture = Picture(640, 230)
    kinds = [
        ("iid", [[6, 6, 6, 6, 6]] * 4),
        ("dirichlet, α = 0.3", [[17, 1, 9, 0, 3], [2, 19, 0, 7, 5], [5, 3, 1, 20, 2], [4, 6, 16, 1, 12]]),
        ("one_label", [[30, 0, 0, 0, 0], [0, 30, 0, 0, 0], [0, 0, 30, 0, 0], [0, 0, 0, 30, 0]]),
    ]
    for place, (name, clients) in enumerate(kinds):
        left = 30 + 205 * place
        for client, counts in enumerate(clients):
            x, y = left + 42 * client, 180
            for label, count in enumerate(counts):
                if count:
                    y -= 3.4 * count
                    picture.box(x, y, 32, 3.4 * count, fill=LABELS[label], stroke="white")
            picture.text(x + 16, 197, str(client), size=12)
        picture.text(left + 79, 219, name, weight="bold")
    picture.text(320, 20, "examples of each client, coloured by label", size=13)
    picture.save("partition")


if __name__ == "__main__":
    for draw in (overlay, stack, mixing, a_round, partition):
        draw()
