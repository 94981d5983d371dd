"""About 50,000 people who never lived, with the correlations that make questions interesting.

Education rises with birth year, income with education, hours and the capital; children and
pensioners work no hours; some incomes and some schooling are unknown.
"""

from __future__ import annotations

import csv
from datetime import date
from importlib.resources import files
from pathlib import Path

import numpy as np
import numpy.typing as npt

from discreet.families.shared.estimate.public_random import generator as public_generator

PEOPLE = 50_000
SEED = 20_240_101
TODAY = date(2025, 1, 1)

SEXES = ("F", "M", "X")
REGIONS = ("Capital", "Coast", "East", "Hills", "Île-Verte", "North", "South", "West")
EDUCATIONS = ("none", "primary", "secondary", "vocational", "bachelor", "master", "doctorate")
COLUMNS = ("born", "age", "sex", "region", "education", "hours", "income", "smoker")

Values = npt.NDArray[np.generic]


def make_people(count: int = PEOPLE, *, seed: int = SEED) -> dict[str, Values]:
    """The table by columns, the same on every machine. A null is -1 in `hours` and `education`, NaN in `income`."""
    generator = public_generator(seed)
    ages = np.arange(100)
    pyramid = np.where(ages < 55, 1.0, np.maximum(1.0 - (ages - 55) / 45, 0.02))
    age = generator.choice(ages, size=count, p=pyramid / pyramid.sum())
    sex = generator.choice(3, size=count, p=(0.503, 0.491, 0.006))
    region = generator.choice(8, size=count, p=(0.24, 0.16, 0.11, 0.06, 0.03, 0.15, 0.14, 0.11))

    # A hidden inclination moves schooling and income together, beyond what the columns explain.
    inclination = generator.normal(size=count)
    rise = (60 - age) / 40 + np.where(region == 0, 0.5, 0.0) + 1.1 * inclination
    level = np.digitize(rise, (-1.9, -1.0, 0.3, 0.9, 1.7, 3.0))
    reachable = np.digitize(age, (6, 12, 16, 18, 21, 25))
    education = np.minimum(level, reachable)
    education = np.where(generator.random(count) < 0.012, -1, education)

    working = (age >= 16) & (age < 68) & (generator.random(count) < 0.52 + 0.06 * level)
    typical = np.where(sex == 0, 33.0, 38.5) + generator.normal(scale=8.0, size=count)
    hours = np.where(working, np.clip(np.rint(typical), 1, 80), -1).astype(np.int64)

    earned = 9.35 + 0.17 * level + 0.018 * np.maximum(hours, 0) + np.where(region == 0, 0.15, 0.0)
    income = np.exp(earned + 0.12 * inclination + generator.normal(scale=0.35, size=count))
    income = np.where(age < 16, np.nan, np.rint(np.minimum(income, 400_000.0)))
    income = np.where(generator.random(count) < 0.04, np.nan, income)

    smoker = generator.random(count) < np.where(age < 15, 0.0, 0.27 - 0.022 * level)
    birthday = generator.integers(1, 366, size=count)
    days = np.rint(age * 365.2425).astype(np.int64) + birthday
    born = np.datetime64(TODAY) - days.astype("timedelta64[D]")
    return {
        "born": born,
        "age": age,
        "sex": sex,
        "region": region,
        "education": education,
        "hours": hours,
        "income": income,
        "smoker": smoker,
    }


def write_csv(path: Path, people: dict[str, Values]) -> None:
    """The table as text, nulls as empty fields."""
    fields = (
        people["born"].astype(str).tolist(),
        people["age"].tolist(),
        [SEXES[code] for code in people["sex"].tolist()],
        [REGIONS[code] for code in people["region"].tolist()],
        ["" if code < 0 else EDUCATIONS[code] for code in people["education"].tolist()],
        ["" if hours < 0 else hours for hours in people["hours"].tolist()],
        ["" if income != income else int(income) for income in people["income"].tolist()],
        ["true" if smokes else "false" for smokes in people["smoker"].tolist()],
    )
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(zip(*fields, strict=True))


def schema_text() -> str:
    """The table's public facts, in TOML."""
    return files("discreet.demo").joinpath("people.toml").read_text(encoding="utf-8")
