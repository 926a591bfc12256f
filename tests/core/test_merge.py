"""⊕ is RFC 7396, and its laws hold for any state and any patch."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.core.canonical import JsonObject, JsonValue, canonical
from controller.core.merge import merge

scalars = st.none() | st.booleans() | st.integers(-99, 99) | st.text(max_size=4)
values: st.SearchStrategy[Any] = st.recursive(
    scalars, lambda below: st.lists(below, max_size=3) | st.dictionaries(
        st.sampled_from("abcde"), below, max_size=4), max_leaves=12)
objects: st.SearchStrategy[Any] = st.dictionaries(st.sampled_from("abcde"), values, max_size=5)


def without_null(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return {key: without_null(below) for key, below in value.items() if below is not None}
    return value


@pytest.mark.parametrize(("state", "patch", "result"), [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ({"a": "b"}, {"a": {"c": 1}}, {"a": {"c": 1}}),
], ids=str)
def test_the_examples_of_rfc_7396_appendix_a(
        state: JsonObject, patch: JsonObject, result: JsonObject) -> None:
    assert merge(state, patch) == result


@given(objects)
def test_the_empty_patch_is_the_identity(state: JsonObject) -> None:
    assert merge(state, {}) == state


@given(objects, objects)
def test_a_patch_laid_twice_is_a_patch_laid_once(state: JsonObject, patch: JsonObject) -> None:
    once = merge(state, patch)

    assert merge(once, patch) == once


@given(objects, st.sampled_from("abcde"))
def test_null_deletes_its_key_and_no_other(state: JsonObject, key: str) -> None:
    assert merge(state, {key: None}) == {k: v for k, v in state.items() if k != key}


@given(objects, objects)
def test_a_nested_merge_never_drops_a_sibling(state: JsonObject, patch: JsonObject) -> None:
    def check(before: JsonValue, laid: JsonValue, after: JsonValue) -> None:
        if isinstance(before, dict) and isinstance(laid, dict):
            assert isinstance(after, dict)
            for key in before.keys() - laid.keys():
                assert after[key] == before[key]
            for key in before.keys() & laid.keys():
                if laid[key] is not None:
                    check(before[key], laid[key], after[key])

    check(state, patch, merge(state, patch))


@given(objects, objects)
def test_no_null_of_a_patch_reaches_an_object_of_the_state(
        state: JsonObject, patch: JsonObject) -> None:
    clean = without_null(state)
    assert isinstance(clean, dict)

    assert without_null(merge(clean, patch)) == merge(clean, patch)


@given(objects, objects)
def test_neither_argument_is_changed(state: JsonObject, patch: JsonObject) -> None:
    before = canonical(state), canonical(patch)

    merge(state, patch)

    assert (canonical(state), canonical(patch)) == before


@given(objects, objects)
def test_what_the_patch_does_not_touch_is_not_copied(state: JsonObject, patch: JsonObject) -> None:
    merged = merge(state, patch)

    assert all(merged[key] is state[key] for key in state.keys() - patch.keys())
