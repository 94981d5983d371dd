"""Tables that are wrong in every way that tables are, each full of canaries."""

from __future__ import annotations

import gzip

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from tests.harness.leaks import HEADER, MARK, canary_rows, write_csv

ROWS = canary_rows()


class Sulking:
    """A value that cannot be printed, and says why."""

    def __str__(self):
        raise RuntimeError(f"{MARK} does not print")

    __repr__ = __float__ = __int__ = __str__


def corrupt(path, step=37):
    data = bytearray(path.read_bytes())
    for spot in range(8, len(data) * 2 // 3, step):
        data[spot] ^= 0x5A
    path.write_bytes(bytes(data))
    return path


def bad_tables(folder):
    """(name, source): each wrong in its own way, each full of canaries."""
    rows, frame = ROWS[-40:], pd.DataFrame(ROWS[-40:], columns=list(HEADER))
    text = write_csv(rows, folder / "good.csv").read_text(encoding="utf-8")

    def file(name, content):
        path = folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return name, str(path)

    yield file("empty.csv", "")
    yield file("header.csv", text.splitlines()[0] + "\n")
    yield file("no-header.csv", text.split("\n", 1)[1])
    yield file("ragged.csv", text + f"{MARK}\n{MARK},{MARK}\n" + f"{MARK}," * 40 + "\n")
    yield file("open-quote.csv", text + f'"{MARK},1,2\n{MARK},3\n')
    yield file("utf-16.csv", text.encode("utf-16"))
    yield file("latin-1.csv", (text + f"é{MARK}ü,ß\n").encode("latin-1"))
    yield file("half-utf-8.csv", text.encode() + b"\xff\xfe\xc3" + MARK.encode() + b"\n")
    yield file("nul.csv", text.encode() + b"\x00" + MARK.encode() + b"\x00,\x00\n")
    yield file("long.csv", text + MARK * 300_000 + "\n")
    yield file("semicolons.csv", text.replace(",", ";"))
    yield file("missing-columns.csv", "\n".join(",".join(row[:3]) for row in (HEADER, *rows)))
    yield file("twice.csv", text.replace("person,name", "city,CITY", 1))
    yield file("cut.csv.gz", gzip.compress(text.encode())[:-40])
    yield file("not.parquet", f"PAR1{MARK}" * 50)
    yield file("not.duckdb", f"{MARK}" * 500)
    yield file("strange.xyz", MARK)
    yield "absent", str(folder / "absent.csv")
    good = folder / "good.parquet"
    pq.write_table(pa.Table.from_pandas(frame), good, compression="none", use_dictionary=False)
    yield "good.parquet", str(good)
    yield "cut.parquet", file("cut.parquet", good.read_bytes()[:-200])[1]
    big = pa.Table.from_pandas(pd.DataFrame(ROWS, columns=list(HEADER)))
    for step in (37, 1009):
        pq.write_table(
            big, folder / f"corrupt{step}.parquet", compression="none", use_dictionary=False
        )
        yield f"corrupt{step}.parquet", str(corrupt(folder / f"corrupt{step}.parquet", step))
    pq.write_table(big, folder / "packed.parquet", compression="snappy")
    yield "packed.parquet", str(corrupt(folder / "packed.parquet"))
    numbers = frame.assign(age=[float("nan"), float("inf")] * 20, pay=[1e308] * 40)
    pq.write_table(pa.Table.from_pandas(numbers), folder / "numbers.parquet")
    yield "numbers.parquet", str(folder / "numbers.parquet")
    yield "objects", frame.assign(age=[Sulking(), MARK] * 20)
    yield (
        "mixed",
        frame.assign(age=[1, MARK] * 20, pay=[None, {MARK: [MARK]}] * 20, ok=[b"\xff", MARK] * 20),
    )
    yield "index", frame.set_index("city")
    yield "no table", {"age": [MARK]}
    yield "nested", pa.table({name: [[MARK]] for name in HEADER})
