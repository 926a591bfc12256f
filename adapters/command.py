"""Any program as a model: the prompt on its standard input, one JSON object on its output.

Exit 0: the output is the answer, a transition in the merge dialect (the schema is the file that
ONESHOT_SCHEMA names). 69: unreachable, 75: busy, 77: not allowed, 78: asked wrongly; anything else:
nobody can tell (sysexits.h).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from adapters.child import Child, base_environment
from adapters.dialect import answered, merge_schema
from controller.core.canonical import canonical
from controller.core.miss import AuthFailed, Broken, Miss, Overloaded, Unreachable, Why
from controller.core.records import Prompt, Reply, Usage

_EXITS: dict[int, Why] = {69: Unreachable(), 75: Overloaded(), 77: AuthFailed(), 78: Broken()}


@dataclass(frozen=True, slots=True)
class Command:
    """A program of the user's as a model. It finds PATH, an empty HOME and `variables`."""

    child: Child
    args: Sequence[str]
    path: str
    variables: Mapping[str, str]

    @property
    def name(self) -> str:
        return f"command:{self.child.binary.rpartition('/')[2]}"

    def propose(self, prompt: Prompt) -> Reply | Miss:
        schema = self.child.file("schema.json", canonical(merge_schema(prompt.schema)).decode())
        env = {**base_environment(self.path, self.child.home), **self.variables,
               "ONESHOT_SCHEMA": str(schema)}
        said = self.child.call(self.args, env, prompt.text)
        if cut := said.cut():
            return cut
        if said.result.exit == 0:
            return answered(said.stdout, Usage())
        why = _EXITS.get(said.result.exit or 0)
        if why is None:
            return said.lost()
        return Miss(why, said.stderr.strip()[-500:] or f"exit {said.result.exit}")
