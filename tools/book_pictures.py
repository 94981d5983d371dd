"""The pictures of docs/book.md, drawn from the library's own numbers.

    python tools/book_pictures.py           writes docs/pictures/*.svg
    python tools/book_pictures.py --check   exit code 1 where a file differs from what would be drawn

Each picture is one SVG file without scripts and without anything from elsewhere. It follows the reader's light or dark screen.
Nothing in it is drawn by chance: the intervals come from a generator with a fixed seed.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from markupsafe import Markup

from discreet.charts.shapes import WIDTH, Bar, Curve, curves, rows
from discreet.charts.svg import element, number, picture
from discreet.families.shared.estimate.public_random import generator
from discreet.privacy.budget import Budget
from discreet.privacy.explanation import belief, explain
from discreet.privacy.laws import DiscreteLaplaceLaw
from discreet.releases import plan
from discreet.report.disclosure.meaning import density_figure, ratio_figure
from discreet.schema import Schema
from discreet.theory.median import least_epsilon
from discreet.theory.textbook import laplace_accuracy, randomised_response_std

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "pictures"
STYLE = (
    "svg{font:13px system-ui,sans-serif;background:#fff}text{fill:#56616d}"
    ".grid,.frame{stroke:#dcd9d1;fill:none}.base{stroke:#56616d;fill:none}"
    ".curve{fill:none;stroke-width:2.2;stroke-linejoin:round}.bar{fill:#5b9db5}.whisker{stroke:#16323e;stroke-width:1.2;fill:none}"
    ".c1{stroke:#1a6580}.c2{stroke:#a84a24}.c3{stroke:#6b5fa8;stroke-dasharray:5 4}.hover{fill:transparent}"
    ".missed{stroke:#a84a24;stroke-width:2.4;fill:none}"
    "@media(prefers-color-scheme:dark){svg{background:#14181d}text{fill:#c4ccd4}.grid,.frame{stroke:#333c46}.base{stroke:#a3adb8}"
    ".bar{fill:#3f8299}.whisker{stroke:#e8f3f7}.c1{stroke:#7cc6df}.c2,.missed{stroke:#e39067}.c3{stroke:#aca2e6}}"
)
PRIORS = (("1%", 0.01, "c3"), ("10%", 0.1, "c2"), ("50%", 0.5, "c1"))
AGES = Schema.loads('dataset = "people"\n[columns.age]\nkind = "integer"\nrange = [0, 99]\n')
PEOPLE_BY_SEX = Schema.loads(
    'dataset = "people"\n[columns.age]\nkind = "integer"\nrange = [0, 99]\n[columns.sex]\nkind = "category"\nvalues = ["f", "m"]\n'
)
PEOPLE = [round(10 ** (2 + place / 40)) for place in range(121)]
RELEASES, TRUTH = 60, 100


def standing_alone(drawn: Markup, legend: Sequence[tuple[str, str]] = ()) -> str:
    """A picture of a page as a file of its own: with a name space, a style, and its legend above it."""
    head, _, rest = str(drawn).partition(">")
    inside, _, _ = rest.rpartition("</svg>")
    keys, x = [], 64.0
    for style, label in legend:
        keys.append(element("path", d=f"M{number(x)} -12h22", class_=f"curve {style}"))
        keys.append(element("text", label, x=x + 30, y=-8))
        x += 50 + 7.2 * len(label)
    opened = head.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1)
    if legend:
        height = float(opened.partition('viewBox="0 0 ')[2].split()[1].rstrip('"'))
        opened = opened.replace(
            f'viewBox="0 0 {number(WIDTH)} {number(height)}"',
            f'viewBox="0 -24 {number(WIDTH)} {number(height + 24)}"',
        )
    return f"{opened}><style>{STYLE}</style>{inside}{Markup('').join(keys)}</svg>\n"


def beliefs() -> str:
    """What someone can believe afterwards, by epsilon, for three beliefs before."""
    steps = [place / 20 for place in range(101)]
    return standing_alone(
        curves(
            "beliefs",
            "Beliefs after a release",
            "Three curves that rise from the belief before to certainty as epsilon grows from 0 to 5.",
            [Curve(name, style, [(e, belief(prior, e).most) for e in steps]) for name, prior, style in PRIORS],
            across="epsilon",
            up="belief afterwards, at most",
        ),
        [(style, f"belief before: {name}") for name, _, style in PRIORS],
    )  # fmt: skip


def densities() -> str:
    """The chances of a noisy count with and without one person."""
    drawn = density_figure(explain(Budget(epsilon=1)))
    return standing_alone(drawn.picture, drawn.legend)


def log_ratio() -> str:
    """The logarithm of their ratio, between minus epsilon and epsilon."""
    drawn = ratio_figure(explain(Budget(epsilon=1)))
    return standing_alone(drawn.picture)


def questions() -> str:
    """What a question's error becomes when a budget is shared by many, beside a release of all ranges."""
    shares = range(1, 101)
    live = [
        (many, float(DiscreteLaplaceLaw(scale=Fraction(many)).half_width("0.95")))
        for many in shares
    ]
    planned = plan(AGES, budget=Budget(epsilon=1), workload=["intervals(age)"], rows=10_000)
    once = float(planned.rows()[0]["half_width"] or planned.rows()[0]["expected"])
    return standing_alone(
        curves(
            "questions",
            "Error of a question by the number of questions",
            "A straight line that rises with the number of live questions, and a level line for a release.",
            [Curve("live", "c1", live), Curve("release", "c3", [(1, once), (100, once)])],
            across="questions that share epsilon 1",
            up="off by, in rows (95%)",
        ),
        [("c1", "each asked live"), ("c3", "all ranges of age, released once")],
    )


def models() -> str:
    """The error of a share with a curator, and where each person answers alone."""
    central = [
        (math.log10(n), math.log10(laplace_accuracy(scale=1, beta=0.05) / n)) for n in PEOPLE
    ]
    alone = [
        (math.log10(n), math.log10(1.96 * randomised_response_std(n, epsilon=1))) for n in PEOPLE
    ]
    return standing_alone(
        curves(
            "models",
            "Error of a share in the two models",
            "Two falling lines; the one of the curator falls twice as steeply.",
            [Curve("alone", "c2", alone), Curve("curator", "c1", central)],
            across="people, as a power of ten",
            up="error of a share, as a power of ten",
        ),
        [("c2", "each person answers alone"), ("c1", "a curator adds noise once")],
    )


def intervals() -> str:
    """The 95% intervals of many releases of one table, and the count that they are about."""
    law = DiscreteLaplaceLaw(scale=Fraction(2))
    half, source = law.half_width("0.95"), generator(4)
    stop = 1 - math.exp(-0.5)
    noisy = TRUTH + source.geometric(stop, RELEASES) - source.geometric(stop, RELEASES)
    left, top, bottom = 64.0, 16.0, 196.0

    def height(count: float) -> float:
        return top + (TRUTH + 20 - count) * (bottom - top) / 40

    held, missed = "", ""
    for place, value in enumerate(noisy.tolist()):
        x = left + (place + 0.5) * (WIDTH - 16 - left) / RELEASES
        ends = height(value + half), height(value - half)
        drawn = f"M{number(x)} {number(ends[0])}V{number(ends[1])}"
        if abs(value - TRUTH) <= half:
            held += drawn
        else:
            missed += drawn
    return standing_alone(
        picture(
            "intervals",
            f"The intervals of {RELEASES} releases",
            f"{RELEASES} upright lines, nearly all of which cross the level of the true count, {TRUTH}.",
            WIDTH,
            bottom + 36,
            *(
                element("text", f"{count}", x=left - 10, y=height(count) + 4, text_anchor="end")
                for count in (TRUTH - 20, TRUTH - 10, TRUTH, TRUTH + 10, TRUTH + 20)
            ),
            element("path", d=f"M{number(left)} {number(height(TRUTH))}H{number(WIDTH - 16)}", class_="base"),
            element("path", d=held or "M0 0", class_="whisker"),
            element("path", d=missed or "M0 0", class_="missed"),
            element("text", f"{RELEASES} releases of one table, epsilon 1/2; thick: the interval misses the true count",
                    x=left, y=bottom + 28),
        )
    )  # fmt: skip


def small_groups() -> str:
    """By how many percent a count of few people is off."""
    found = explain(Budget(epsilon=1))
    bars = [
        Bar(f"{size:,} people", "", 100 * error, 100 * error, 100 * error)
        for size, error in found.relative_errors
    ]
    return standing_alone(
        rows("groups", "A count at epsilon 1 is off by up to so many percent", bars)
    )


def budgets() -> str:
    """What an epsilon buys: the error of a cell of age by sex, as the plan states it."""
    steps = [0.1 * 1.12**place for place in range(41)]
    planned = []
    for step in steps:
        (row,) = plan(PEOPLE_BY_SEX, budget=Budget(epsilon=f"{step:.4f}"), workload=["marginals(age, sex)"]).rows()  # fmt: skip
        planned.append((step, float(row["half_width"])))
    return standing_alone(
        curves(
            "budgets",
            "Error of a cell by epsilon",
            "A curve that falls steeply up to epsilon 1 and hardly beyond.",
            [Curve("cell", "c1", planned)],
            across="epsilon",
            up="off by, in people (95%)",
        ),
        [("c1", "one count of an age and a sex")],
    )


def units() -> str:
    """What a belief of 10% becomes where a row is protected and a person has several."""
    bars = []
    for many in (1, 2, 4, 8, 16):
        after = 100 * belief(0.1, many * 0.5).most
        bars.append(Bar(f"{many} row{'s' * (many > 1)} a person", "", after, after, after))
    return standing_alone(
        rows(
            "units", "A belief of 10% becomes so many percent, at most, at epsilon 1/2 a row", bars
        )
    )


def declared() -> str:
    """What a private median costs on a finite domain: more, the more values there are; over the reals, no epsilon is enough."""
    bits = range(1, 65)
    return standing_alone(
        curves(
            "declared",
            "The least epsilon of a useful median",
            "A line that rises with the number of bits of a value, without end.",
            [Curve("median", "c1", [(b, least_epsilon(2**b, 100, success=0.5)) for b in bits])],
            across="bits of a value; the reals have no end of them",
            up="least epsilon, 100 rows",
        )
    )


def not_promised() -> str:
    """What others learn of a smoker from a study, with the smoker's row and without it."""
    after = 100 * belief(0.3, 0.2).most
    bars = [
        Bar("before the study", "", 10.0, 10.0, 10.0),
        Bar("after, you not in it", "", 30.0, 30.0, 30.0),
        Bar("after, you in it, at most", "", after, after, after),
    ]
    return standing_alone(
        rows("promised", "What others believe of a smoker's risk, in percent, at epsilon 0.2", bars)
    )


def encryption() -> str:
    """How much of a yes or no about one person can be read, in bits."""

    def bits(epsilon: float) -> float:
        told = math.exp(epsilon) / (1 + math.exp(epsilon))
        return 1 + told * math.log2(told) + (1 - told) * math.log2(1 - told)

    found = [
        ("encrypted, without key", 0.0),
        ("encrypted, with the key", 1.0),
        ("released, epsilon 0.1", bits(0.1)),
        ("released, epsilon 1", bits(1)),
        ("released, epsilon 3", bits(3)),
    ]
    bars = [Bar(label, "", round(value, 3), value, value) for label, value in found]
    return standing_alone(
        rows("encryption", "How much of a yes or no about you can be read, in bits, at most", bars)
    )


PICTURES = {
    "beliefs": beliefs,
    "budgets": budgets,
    "units": units,
    "declared": declared,
    "not-promised": not_promised,
    "encryption": encryption,
    "densities": densities,
    "log-ratio": log_ratio,
    "questions": questions,
    "models": models,
    "intervals": intervals,
    "small-groups": small_groups,
}


def main(arguments: Sequence[str]) -> int:
    same = True
    for name, draw in PICTURES.items():
        place, text = FOLDER / f"{name}.svg", draw()
        if "--check" in arguments:
            same &= place.is_file() and place.read_text(encoding="utf-8") == text
        else:
            FOLDER.mkdir(exist_ok=True)
            place.write_text(text, encoding="utf-8")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
