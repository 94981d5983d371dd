"""Files as earlier versions of the format had them."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from discreet.artifacts.files import release_from_members, release_members, widened


def in_first_format(members: Mapping[str, bytes]) -> dict[str, bytes]:
    """Its whole numbers have eight bytes; besides, it is as the second."""
    second = in_second_format(members)
    manifest = {**json.loads(second.pop("manifest.json")), "version": 1}
    wide = {
        name: npy(widened(np.load(io.BytesIO(data), allow_pickle=False)))
        for name, data in second.items()
    }
    return {"manifest.json": json.dumps(manifest).encode(), **wide}


def in_second_format(members: Mapping[str, bytes]) -> dict[str, bytes]:
    """It lists the nodes of each level of a tree."""
    return release_members(release_from_members(members), version=2)


def npy(array: np.ndarray[Any, Any]) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()
