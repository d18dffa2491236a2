# SPDX-License-Identifier: GPL-3.0-or-later
"""All that Blender's file holds, as plain values, so that two states can be compared."""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np

_SKIP = {
    "rna_type",
    "bl_rna",
    "is_evaluated",  # follows from where the data is looked at
    "session_uid",
    "original",
    "users",  # compared by name, below
    "depsgraph",
    "preview",
    "asset_data",
    "uv_sculpt",  # reading its brush crashes Blender 4.2
}
# Windows, their layout and brushes say nothing of the scene.
_SKIP_COLLECTIONS = {"window_managers", "workspaces", "screens", "brushes", "palettes", "rna_type"}

_NUMBERS = {"BOOLEAN": np.bool_, "INT": np.int32, "FLOAT": np.float32}
_MANY = {
    "BoolAttributeValue", "Float2AttributeValue", "FloatAttributeValue", "FloatVectorAttributeValue",
    "Int2AttributeValue", "IntAttributeValue", "Keyframe", "MeshEdge", "MeshLoop", "MeshLoopTriangle",
    "MeshNormalValue", "MeshPolygon", "MeshVertex", "ReadOnlyInteger",
}  # fmt: skip
"""Structs of which there are thousands, and that hold no custom properties."""
_OF_ANY_LENGTH = {("MeshPolygon", "vertices")}

_Seen = dict[tuple[int, str], str]
"""Where each struct of a data-block was met first: they refer to each other in circles."""


def snapshot() -> dict[str, Any]:
    """Path -> value of every data-block's properties, custom properties and users."""
    bpy.context.view_layer.update()
    out: dict[str, Any] = {}
    for prop in bpy.data.bl_rna.properties:
        if prop.type != "COLLECTION" or prop.identifier in _SKIP_COLLECTIONS:
            continue
        blocks = list(getattr(bpy.data, prop.identifier))
        out[prop.identifier] = [block.name_full for block in blocks]
        for block in blocks:
            path = f"{prop.identifier}[{block.name_full}]"
            out[f"{path}.users"] = (block.users, block.use_fake_user)
            _struct(block, path, out, {})
    return out


def difference(before: dict[str, Any], after: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """The paths whose values differ."""
    missing = object()
    return {
        key: (before.get(key), after.get(key))
        for key in before.keys() | after.keys()
        if before.get(key, missing) != after.get(key, missing)
    }


def _struct(struct: Any, path: str, out: dict[str, Any], seen: _Seen) -> None:
    identity = (struct.as_pointer(), struct.rna_type.identifier)
    if identity in seen:
        out[path] = f"same as {seen[identity]}"
        return
    seen[identity] = path
    for prop in struct.bl_rna.properties:
        name = prop.identifier
        if name in _SKIP:
            continue
        try:
            value = getattr(struct, name)
        except (AttributeError, RuntimeError, TypeError):
            continue  # some properties can only be read in an editor
        at = f"{path}.{name}"
        if prop.type == "COLLECTION":
            items = list(value)
            out[f"{at}.length"] = len(items)
            # Slots may be empty.
            if items and items[0] is not None and items[0].rna_type.identifier in _MANY:
                _many(value, items, at, out)
                continue
            for i, item in enumerate(items):
                _value(item, f"{at}[{i}]", out, seen)
        else:
            _value(value, at, out, seen)
    _custom(struct, path, out)


def _many(collection: Any, items: list[Any], at: str, out: dict[str, Any]) -> None:
    """All values of a property at once."""
    kind = items[0].rna_type.identifier
    for prop in items[0].bl_rna.properties:
        name = prop.identifier
        if name in _SKIP:
            continue
        if prop.type in _NUMBERS and (kind, name) not in _OF_ANY_LENGTH:
            numbers = np.empty(len(items) * max(prop.array_length, 1), _NUMBERS[prop.type])
            collection.foreach_get(name, numbers)
            out[f"{at}.{name}"] = numbers.tobytes()
        elif prop.type == "COLLECTION":
            out[f"{at}.{name}"] = [[_numbers(below) for below in getattr(item, name)] for item in items]
        else:
            out[f"{at}.{name}"] = [_plain(getattr(item, name)) for item in items]


def _numbers(struct: Any) -> tuple[Any, ...]:
    return tuple(_plain(getattr(struct, prop.identifier)) for prop in struct.bl_rna.properties if prop.type in _NUMBERS)


def _value(value: Any, at: str, out: dict[str, Any], seen: _Seen) -> None:
    if isinstance(value, bpy.types.ID) and not value.is_embedded_data:
        out[at] = f"{value.rna_type.identifier} {value.name_full}"
    elif isinstance(value, bpy.types.bpy_struct):
        _struct(value, at, out, seen)
    elif hasattr(value, "__len__") and not isinstance(value, (str, bytes, set, frozenset)):
        out[at] = _plain(value)
    else:
        out[at] = value if not isinstance(value, set) else frozenset(value)


def _plain(value: Any) -> Any:
    if hasattr(value, "__len__") and not isinstance(value, (str, bytes)):
        return tuple(_plain(part) for part in value)
    return value


def _custom(struct: Any, path: str, out: dict[str, Any]) -> None:
    try:
        keys = list(struct.keys())
    except (AttributeError, TypeError):
        return
    for key in keys:
        if key not in struct.bl_rna.properties:  # registered properties are compared by their values
            out[f"{path}[{key!r}]"] = repr(struct[key])
