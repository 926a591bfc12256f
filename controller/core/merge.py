"""⊕, the merge of a patch into a state: JSON Merge Patch, RFC 7396."""

from controller.core.canonical import JsonObject, entries


def merge(state: JsonObject, patch: JsonObject) -> JsonObject:
    """Lay `patch` over `state` and return a new object (the ⊕ of the design).

    Objects merge key by key; null deletes the key; anything else replaces what was there.
    Neither argument is changed. What the patch does not touch is shared with the state, not copied.

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
    merged = dict(state)
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict):
            merged[key] = merge(entries(merged.get(key)), value)
        else:
            merged[key] = value
    return merged
