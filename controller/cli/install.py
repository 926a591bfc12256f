"""The start-up check: our three packages are ours, and one installation.

Their names are plain, so another distribution or a folder on PYTHONPATH may own one of them.
"""

from importlib import import_module
from pathlib import Path

from controller import DISTRIBUTION
from controller.core.errors import SetupError

_PACKAGES = ("controller", "adapters", "contracts")


def check_install() -> None:
    """Raise SetupError when one of our three packages is somebody else's, or from elsewhere."""
    parents = {}
    for name in _PACKAGES:
        package = import_module(name)
        place = Path(package.__file__ or "/").parent
        if getattr(package, "DISTRIBUTION", None) != DISTRIBUTION:
            raise SetupError(f"{place} is not oneshot's `{name}`: another package shadows it; "
                             "unset PYTHONPATH, or install oneshot by itself (pipx)")
        parents[place.parent] = place
    if len(parents) > 1:
        raise SetupError("oneshot is installed twice, in parts: " + " and ".join(
            map(str, parents.values())) + "; install it by itself (pipx)")
