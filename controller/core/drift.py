"""What a run builds on and somebody else has changed: each kind has a name and a rule."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from controller.core.canonical import JsonObject
from controller.core.config import ADOPT, STOP, DriftConfig
from controller.core.observation import bounded

_SHOWN = 4000  # bytes of what is told of one


@dataclass(frozen=True, slots=True)
class Drift:
    """Something that is another now than the state says. `kind` is worktree, base, remote,
    protection, issue or ci; `news`: it is only told, whatever the rule.
    """

    kind: str
    text: str
    news: bool = False

    def __str__(self) -> str:
        return bounded(f"Drift ({self.kind}): {self.text}", _SHOWN)


def due(found: Iterable[Drift], rules: DriftConfig) -> JsonObject | None:
    """The step of the controller's own that drift calls for: to ask a person, or to stand still."""
    chosen = asdict(rules)
    serious = [item for item in found if not item.news and chosen.get(item.kind, ADOPT) != ADOPT]
    if not serious:
        return None
    said = "; ".join(map(str, serious))
    if any(chosen[item.kind] == STOP for item in serious):
        return {"kind": "halt", "reason": bounded(said, 1000)}
    return {"kind": "ask", "question": bounded(f"{said}\nIs the run to go on as it is? Say what "
                                               "has changed for it.", _SHOWN)}
