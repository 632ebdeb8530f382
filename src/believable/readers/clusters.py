"""Columns that look as if their rows belonged together, where nobody said so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from believable.errors import InputError
from believable.readers.columns import Columns, plain_name

if TYPE_CHECKING:
    from believable.readers.table import Table

_THINGS = (
    *("query", "patient", "subject", "person", "user", "customer", "client", "account", "household", "session"),
    *("visit", "question", "document", "image", "group", "cluster"),
)
CLUSTER_NAMES = (*_THINGS, *(f"{thing}_id" for thing in _THINGS), "qid", "uid", "pid")


def telling_names(names: Sequence[str], taken: Columns) -> tuple[str, ...]:
    """The columns that are called as clusters are, and were taken as nothing else.

    Known are query, patient, subject, person, user, customer, client, account, household, session, visit, question,
    document, image, group and cluster, each also with _id at its end, and qid, uid and pid.
    """
    return tuple(name for name in names if plain_name(name) in CLUSTER_NAMES and name not in taken.names)


def clusters_ignored(table: Table, taken: Columns) -> list[str]:
    """A sentence on each column with such a name whose values repeat, where no clusters were named."""
    if taken.group is not None:
        return []
    notes = []
    for name in telling_names(table.names, taken):
        try:
            column = table.read([name])[name].drop_nulls()
        except InputError:  # it is not wanted, so what is wrong with it is nobody's concern
            continue
        n, distinct = len(column), column.n_unique()
        if 1 < distinct < n:
            notes.append(
                f"column {name} repeats ({distinct:,} values in {n:,} rows): if its rows belong together, pass "
                f"group={name!r}; the intervals here take rows as independent"
            )
    return notes
