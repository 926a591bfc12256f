"""⊕, the merge of a patch into a state: JSON Merge Patch, RFC 7396."""

from controller.core.canonical import JsonObject, JsonValue


def merge(state: JsonObject, patch: JsonObject) -> JsonObject:
    """Lay `patch` over `state` and return a new object (the ⊕ of the design).

    Objects merge key by key; null deletes the key; anything else replaces what was there.
    Neither argument is changed, and the result shares no object or list with them.

    The empty patch is the identity:

    >>> merge({"a": {"b": 1}}, {})
    {'a': {'b': 1}}

    A patch laid twice is a patch laid once:

    >>> patch = {"a": {"b": 2, "c": None}}
    >>> once = merge({"a": {"b": 1, "c": 1}}, patch)
    >>> merge(once, patch) == once
    True

    Null deletes, and a nested merge never drops a sibling:

    >>> merge({"a": {"b": 1, "c": 2}, "d": 3}, {"a": {"b": None}})
    {'a': {'c': 2}, 'd': 3}

    A list replaces a list whole (which is why the state keeps maps):

    >>> merge({"a": [1, 2]}, {"a": [3]})
    {'a': [3]}
    """
    merged: JsonObject = {key: _copy(value) for key, value in state.items()}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict):
            below = merged.get(key)
            merged[key] = merge(below if isinstance(below, dict) else {}, value)
        else:
            merged[key] = _copy(value)
    return merged


def _copy(value: JsonValue) -> JsonValue:
    match value:
        case dict():
            return {key: _copy(below) for key, below in value.items()}
        case list():
            return [_copy(item) for item in value]
        case _:
            return value
