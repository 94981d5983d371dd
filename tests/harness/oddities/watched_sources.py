"""Sources that tell when they are touched, and sources whose own steps fail on a row.

A lazy table is a program of somebody else: it may fail on a row, and then its message quotes the row. No
engine can make it total. What must hold: nothing of it runs before the first verb, and when it fails, one
fixed sentence is said, the same whatever the row holds, with nothing behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from polars.exceptions import PanicException

from discreet.engines import open_engine
from discreet.errors import BadSource, DiscreetError, EngineFailed
from discreet.schema import Schema
from tests.harness.oddities.values import CANARY, NAMES, ROWS

STOPS = (Exception, PanicException)
"""What a reading can stop with; a panic of Polars is no `Exception`."""
OWN_STEPS = (
    "polars step in Python",
    "polars failing cast",
    "polars step that panics",
    "arrow reader that fails midway",
    "arrow dataset of a damaged file",
)
"""Sources that may fail while they are read, by steps that are not ours."""
Maker = Callable[[list[str], list[int]], Any]
"""A source of some texts, one of which its steps may fail on; it notes each time that it is touched."""


def source_findings(folder: Path, schema: Schema) -> Iterator[str]:
    """What is wrong with how watched sources are read."""
    for name, made in watched_sources(folder).items():
        for row in ("7", CANARY, f"{CANARY}-2"):
            touched: list[int] = []
            source = made([row] + ["1"] * (ROWS - 1), touched)
            yield from _findings(name, source, schema, touched, name in OWN_STEPS)


def _findings(
    name: str, source: Any, schema: Schema, touched: list[int], may_fail: bool
) -> Iterator[str]:
    try:
        engine = open_engine(source, schema, threads=1)
    except STOPS as error:
        yield from _said(f"{name}, opened", error, BadSource)
        if touched:
            yield f"{name}: touched before the first verb"
        return
    with engine:
        if touched:
            yield f"{name}: touched before the first verb"
        for _ in range(2):
            try:
                engine.marginals([("category",)])
            except STOPS as error:
                yield from _said(f"{name}, read", error, EngineFailed)
                if not may_fail:
                    yield f"{name}: a row stopped a verb"


def _said(name: str, error: BaseException, wanted: type[DiscreetError]) -> Iterator[str]:
    if not isinstance(error, wanted):
        yield f"{name}: {type(error).__name__}, where {wanted.__name__} is expected"
    behind: BaseException | None = error
    while behind is not None:
        if CANARY in f"{behind!r} {behind.args}" or not isinstance(behind, DiscreetError):
            yield f"{name}: what is said, or stands behind it, is not of our own making"
            return
        behind = behind.__cause__ or behind.__context__


class Touched:
    """A Python object that notes when it is compared, hashed, counted or spelled."""

    def __init__(self, text: str, touched: list[int]) -> None:
        self._text, self._touched = text, touched

    def _note(self, *_: object) -> Any:
        self._touched.append(1)
        if CANARY in self._text:
            raise ValueError(self._text)
        return self._text

    __str__ = __repr__ = __hash__ = __eq__ = __ne__ = __float__ = __int__ = _note


def watched_sources(folder: Path) -> dict[str, Maker]:
    """What makes each source, by name; files of theirs go into `folder`."""
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    import pyarrow.dataset as ds
    import pyarrow.parquet as pq

    def wide(texts: list[str]) -> Any:
        return pa.table(dict.fromkeys(NAMES, pa.array(texts)))

    def lazy(texts: list[str]) -> Any:
        return pl.DataFrame(wide(texts)).lazy()

    def python_step(texts: list[str], touched: list[int]) -> Any:
        def step(frame: Any) -> Any:
            touched.append(1)
            if CANARY in texts[0]:
                raise ValueError(texts[0])
            return frame

        return lazy(texts).map_batches(step, schema=None)

    def failing_cast(texts: list[str], touched: list[int]) -> Any:
        return lazy(texts).with_columns(pl.col("category").cast(pl.Int64))

    def panics(texts: list[str], touched: list[int]) -> Any:
        far = pl.lit(2**62, dtype=pl.Int64).cast(pl.Datetime("ms")).dt.strftime("%Y")
        return lazy(texts).with_columns((far + pl.col("category")).alias("category"))

    def unresolved(texts: list[str], touched: list[int]) -> Any:
        return lazy(texts).select(pl.col(texts[0]))

    def batches(texts: list[str], touched: list[int]) -> Any:
        def made() -> Iterator[Any]:
            touched.append(1)
            yield from wide(texts).to_batches()
            if CANARY in texts[0]:
                raise ValueError(texts[0])

        return pa.RecordBatchReader.from_batches(wide(texts).schema, made())

    def damaged(texts: list[str], touched: list[int]) -> Any:
        path = folder / "damaged.parquet"
        pq.write_table(wide(texts), path, compression="none", use_dictionary=False)
        data = bytearray(path.read_bytes())
        start = 4 if CANARY in texts[0] else len(data)
        data[start : start + 60] = b"\x5a" * len(data[start : start + 60])
        path.write_bytes(bytes(data))
        return ds.dataset(str(path))

    def of_texts(texts: list[str], touched: list[int]) -> Any:
        path = folder / "dataset.csv"
        ones = ["1"] * 90_000  # more than the block that types are guessed from
        lines = [",".join(NAMES), *(",".join([text] * len(NAMES)) for text in ones + texts)]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return ds.dataset(str(path), format="csv")

    def cast_between_files(texts: list[str], touched: list[int]) -> Any:
        pq.write_table(wide(texts), folder / "texts.parquet")
        files = [str(folder / "texts.parquet")]
        return ds.dataset(files, schema=pa.schema([(name, pa.int64()) for name in NAMES]))

    def objects(texts: list[str], touched: list[int]) -> Any:
        made = [Touched(text, touched) for text in texts]
        frame = pd.DataFrame({name: pd.Series(made, dtype=object) for name in NAMES})
        touched.clear()  # what pandas itself did
        return frame

    return {
        "polars step in Python": python_step,
        "polars failing cast": failing_cast,
        "polars step that panics": panics,
        "polars unresolved": unresolved,
        "arrow reader that fails midway": batches,
        "arrow dataset of a damaged file": damaged,
        "arrow dataset of text files": of_texts,
        "arrow dataset cast between files": cast_between_files,
        "pandas objects": objects,
    }
