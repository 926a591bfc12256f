"""The first state and the first observation: where the model stands before it has done anything."""

from collections import Counter

from controller.core.canonical import JsonObject
from controller.core.facts import Facts
from controller.core.head import Spent
from controller.core.migrations import VERSION, version_of
from controller.core.observation import bounded, quoted
from controller.core.projection import as_state, budget, standing
from controller.core.records import Evidence, Finding
from controller.core.review import intent, reverse_check
from controller.core.rules import MODEL, Rules, properties

_TOP = 60  # entries of the repository's top that are listed

_TOOLCHAINS = {
    "pyproject.toml": "Python", "setup.py": "Python", "requirements.txt": "Python",
    "package.json": "Node.js", "Cargo.toml": "Rust", "go.mod": "Go", "pom.xml": "Java (Maven)",
    "build.gradle": "Java (Gradle)", "CMakeLists.txt": "CMake", "Makefile": "make",
    "Gemfile": "Ruby", "composer.json": "PHP", "mix.exs": "Elixir",
}


def first_state(rules: Rules, facts: Facts, baseline: tuple[Evidence, ...]) -> JsonObject:
    """Σ at version 0: the model's fields empty, the controller's as the authorities say."""
    empty: JsonObject = {name: [] if prop.get("type") == "array" else {}
                         for name, prop in properties(rules.state_schema).items()
                         if prop.get("x-owner") == MODEL}
    wanted = {criterion.id for criterion in rules.contract.success_criteria}
    own = properties(rules.state_schema)
    criteria: JsonObject = {
        item.subject: {**standing(item, 0, dict(own)), "baseline": item.finding.value}
        for item in baseline if item.subject in wanted}
    made: JsonObject = {
        **empty, "source_authority": as_state(facts.source, dict(own)), "criteria": criteria,
        "recent": [], "confirmations": {}, "budget": budget(Spent(), rules), "waiting": {},
        "intent": intent(rules.contract, facts.now), "stale": {}, "desired": {},
        "evicted": {}, "delivery": {"production_authority_executed": False}, "hosted_ci": {},
        "issue": {}, "probes": {}, VERSION: version_of(rules.state_schema)}
    made["proof"] = reverse_check(rules, made, facts)
    return {name: value for name, value in made.items() if name in own}


def first_observation(facts: Facts, baseline: tuple[Evidence, ...],
                      test_command: str | None) -> str:
    """O₀: the baseline of every criterion with its output, the top of the tree, the toolchain."""
    return bounded("\n\n".join(filter(None, (
        "This is the first step. Nothing has been done yet.",
        "Before any change, the checks say:\n" + "\n".join(map(_check, baseline)),
        "The repository:\n" + _top(facts.base_paths),
        _toolchain(facts.base_paths, test_command),
    ))))


def _check(item: Evidence) -> str:
    vacuous = " (holds already, so by itself it proves nothing)" * (
        item.finding is Finding.VERIFIED)
    return f"- {item.subject}: {item.finding.value}{vacuous}\n{item.source}: {item.detail}"


def _top(paths: frozenset[str]) -> str:
    counts = Counter(path.split("/", 1)[0] + "/" * ("/" in path) for path in paths)
    lines = [f"  {quoted(name)}" + (f" ({count} files)" if name.endswith("/") else "")
             for name, count in sorted(counts.items())]
    rest = [f"  … and {len(lines) - _TOP} more"] if len(lines) > _TOP else []
    return "\n".join([*lines[:_TOP], *rest])


def _toolchain(paths: frozenset[str], test_command: str | None) -> str:
    found = sorted({name for file, name in _TOOLCHAINS.items() if file in paths})
    said = [f"It looks like: {', '.join(found)}."] if found else []
    return " ".join(said + ([f"Tests run with: {test_command}"] if test_command else []))


