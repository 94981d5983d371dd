"""One Spark session: queries run in threads of their own, so that each can be cancelled and none speaks.

The session may be its user's: no setting of it is changed. Tables are given to it as temporary views with
names that nobody else has, which are dropped at the end. Noise is never Spark's matter: a task that is run
again counts the same rows again.

Spark's messages quote rows, so none is passed on: an error's class alone chooses the sentence, and the
original is dropped.
"""

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark import InheritableThread
from sqlglot import exp

from discreet.engines.protocol import Progress
from discreet.engines.spark.dialect import DIALECT, place_of_texts
from discreet.engines.spark.writing import used
from discreet.engines.sql import keys
from discreet.engines.sql import syntax as s
from discreet.engines.sql.expressions import Compiler
from discreet.engines.sql.syntax import Sql
from discreet.errors import EngineFailed
from discreet.queries.tallies import FoundKeys

T = TypeVar("T")
_STANDS = "What was charged stays charged."
_POLL_SECONDS = 0.2
_CANCEL_SECONDS = 30
_MOST_CAUSES = 5
_CANCELLED = ("SPARK_JOB_CANCELLED", "OPERATION_CANCELED")
_LOST = ("ConnectionRefusedError", "Py4JNetworkError", "SparkConnectGrpcException", "EOFError")


class Session:
    """A session of Spark, classic or Connect.

    Thread safe: queries run side by side. In a forked child it refuses to work.
    """

    def __init__(self, spark: Any, progress: Progress | None = None) -> None:
        self.spark = spark
        self.is_remote = type(spark).__module__.startswith("pyspark.sql.connect")
        self.prefix = f"discreet_{uuid.uuid4().hex}"
        self._progress = None if self.is_remote else progress
        self._owner = os.getpid()
        self._numbers = count(1)
        self._views: list[str] = []
        self._closed = False

    def given(self, frame: Any, name: str | None = None) -> Sql:
        """A data frame as a table that queries can name."""
        view = name or f"{self.prefix}_{next(self._numbers)}"
        self._work(lambda: frame.createOrReplaceTempView(view))
        self._views.append(view)
        return exp.table_(view)

    def named(self, query: Sql) -> Sql:
        """A query as a table that others can name; each of them runs it anew."""
        text = DIALECT.render(query)
        return self.given(self._work(lambda: self.spark.sql(text)))

    def listed(self, name: str, texts: Sequence[str]) -> None:
        """A table of texts and their places, for a join. Of Arrow, for lists would need a Python of Spark's own."""
        places: list[tuple[str, int]] = []
        for place, text in enumerate(texts):
            places.append((text.encode("utf-8", "replace").decode(), place))
        given = dict(reversed(places))  # the first of two that are alike
        columns = {"value": pa.array(given, pa.string()), "place": pa.array(given.values())}
        self.given(self._work(lambda: self.spark.createDataFrame(pa.table(columns))), name)

    def plan(self, query: Sql) -> None:
        """Lets Spark read a query that is not run."""
        text = DIALECT.render(query)
        self._work(lambda: self.spark.sql(text).schema)

    def rows(self, query: Sql) -> list[tuple[Any, ...]]:
        """For few rows, texts, and integers beyond 64 bits."""
        text = DIALECT.render(query)
        found: list[Any] = self._work(lambda: self.spark.sql(text).collect())
        return [tuple(row) for row in found]

    def arrays(
        self, query: Sql, *, beside: Mapping[str, Mapping[str, NDArray[Any]]] | None = None
    ) -> list[NDArray[np.generic]]:
        """The columns of a result of integers without nulls; `beside` are tables in memory, by name."""
        text = _with_tables(beside or {}) + DIALECT.render(query)
        table = self._work(lambda: self.spark.sql(text).toArrow())
        return [_array(column) for column in table.columns]

    @contextmanager
    def lookup(self, found: FoundKeys, compiler: Compiler) -> Iterator[Sql]:
        """The place of a row's key among the found ones; null where it is none of them."""
        if not found.texts:
            yield s.cast(s.null(), "BIGINT")
            return
        texts = [keys.spelled(key) for key in found.texts]
        joined = keys.joined_text(found, compiler)
        yield used(joined, lambda text: place_of_texts(texts, text))

    def close(self) -> None:
        """Drops what was given to the session; later queries are refused."""
        if os.getpid() != self._owner:
            return
        self._closed = True  # or already, by Ctrl-C
        while self._views:
            with suppress(Exception):  # the session may be stopped, and its views with it
                self.spark.catalog.dropTempView(self._views.pop())

    def _work(self, job: Callable[[], T]) -> T:
        if os.getpid() != self._owner:
            raise EngineFailed(
                "The engine was opened before this process was forked, and works only in the process that opened it. Open another one here."
            )
        if self._closed:
            raise EngineFailed("The engine is closed. Open it again.")
        group = f"{self.prefix}_{next(self._numbers)}"
        done = threading.Event()
        results: list[T] = []
        failures: list[EngineFailed] = []

        def work() -> None:
            try:
                self._begin(group)
                results.append(job())
            except BaseException as error:  # else the thread would print it
                failures.append(self._sentence(error))
            finally:
                done.set()

        thread = InheritableThread(target=work, session=self.spark)
        thread.daemon = True
        try:
            thread.start()
        except Exception as error:  # the session is stopped
            failures.append(self._sentence(error))
            done.set()
        try:
            while not done.wait(_POLL_SECONDS if self._progress else None):
                self._report(group)
        except BaseException:  # Ctrl-C
            self._closed = True
            self._cancel(group, done)
            raise
        if failures:
            raise failures[0]
        return results[0]

    def _begin(self, group: str) -> None:
        if self.is_remote:
            self.spark.addTag(group)
        else:
            self.spark.sparkContext.setJobGroup(group, "discreet", interruptOnCancel=True)

    def _cancel(self, group: str, done: threading.Event) -> None:
        """Again and again: a query may start one job after the other."""
        for _ in range(_CANCEL_SECONDS * 5):
            with suppress(Exception):
                if self.is_remote:
                    self.spark.interruptTag(group)
                else:
                    self.spark.sparkContext.cancelJobGroup(group)
            if done.wait(0.2):
                return

    def _report(self, group: str) -> None:
        """The share of tasks that are done, of the stages that are known so far."""
        with suppress(Exception):
            tracker = self.spark.sparkContext.statusTracker()
            jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
            stages = [tracker.getStageInfo(one) for job in jobs if job for one in job.stageIds]
            tasks = sum(stage.numTasks for stage in stages if stage)
            finished = sum(stage.numCompletedTasks for stage in stages if stage)
            if tasks and self._progress:
                self._progress(min(1, finished / tasks))

    def _sentence(self, error: BaseException) -> EngineFailed:
        """The message for an error: chosen by its class, never from its text."""
        if self._is_stopped() or any(one.__name__ in _LOST for one in type(error).__mro__):
            return EngineFailed(
                f"The Spark session was stopped, or the connection to it was lost. {_STANDS} Run it again "
                "in a new session."
            )
        condition = _condition(error)
        if condition.startswith(_CANCELLED):
            return EngineFailed(f"Somebody cancelled Spark's job. {_STANDS}")
        return EngineFailed(
            f"Spark stopped ({condition or type(error).__name__}). Its own message is not shown, because it "
            f"may quote a row. {_STANDS}"
        )

    def _is_stopped(self) -> bool:
        try:
            if self.is_remote:
                return bool(self.spark.is_stopped)
            return bool(self.spark._jsc.sc().isStopped())
        except Exception:  # the Java process is gone
            return True


def _condition(error: Any) -> str:
    """Spark's name for a class of errors, without what it fills in; "" where it has none."""
    with suppress(Exception):
        return str(error.getCondition() or "")
    cause: Any = getattr(error, "java_exception", None)
    for _ in range(_MOST_CAUSES):
        with suppress(Exception):
            if found := cause.getCondition():
                return str(found)
        with suppress(Exception):
            cause = cause.getCause()
    return ""


def _with_tables(tables: Mapping[str, Mapping[str, NDArray[Any]]]) -> str:
    """WITH, for tables of integers that a query is joined with."""
    made = []
    for name, columns in tables.items():
        lists = []
        for one in columns.values():
            type_ = "BIGINT" if one.dtype == np.int64 else "DECIMAL(20, 0)"
            lists.append(
                f"CAST(split('{','.join(map(str, one.tolist()))}', ',') AS ARRAY<{type_}>)"
            )
        names = ", ".join(columns)
        made.append(f"{name} AS (SELECT inline(arrays_zip({', '.join(lists)})) AS ({names}))")
    return f"WITH {', '.join(made)} " if made else ""


def _array(column: Any) -> NDArray[np.generic]:
    """64-bit integers; decimals are not negative, and may take all 64 bits."""
    if str(column.type).startswith("decimal"):
        return np.array([int(one) for one in column.to_pylist()], dtype=np.uint64)
    found: NDArray[np.generic] = column.to_numpy()
    return found.astype(np.int64)
