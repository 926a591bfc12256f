"""Looks up what a pointer of the model's leads to: artifacts in the record, lines in trees."""

from collections.abc import Callable
from dataclasses import dataclass

from controller.core.errors import WorldError
from controller.core.sourced import InArtifact, InFile, InStep, Pointer
from controller.repo import Repo


@dataclass(frozen=True, slots=True)
class Lookup:
    """Whether something stands where a pointer leads. `artifact`: the bytes under a digest."""

    repo: Repo
    artifact: Callable[[str], bytes | None]

    def resolves(self, place: Pointer, tree: str) -> bool:
        """Whether it leads to something; a line without a tree is looked for in `tree`."""
        match place:
            case InArtifact(digest):
                return self.artifact(digest) is not None
            case InFile(path, line, named):
                try:
                    content = self.repo.file(named or tree, path)
                except WorldError:
                    return False  # no such tree
                return content is not None and 1 <= line <= len(content.splitlines())
            case InStep():
                return True  # the gate knows which steps there were
