"""What is installed is what was meant to be: three packages, whole, and nothing else."""

import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from controller.process import capture

ROOT = Path(__file__).parents[2]
LIST = Path(__file__).parent / "wheel.txt"
ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/nonexistent", "LC_ALL": "C.UTF-8"}


def run(*argv: str, cwd: Path, timeout: float = 300) -> str:
    said = capture(argv, cwd=cwd, env=ENV, timeout=timeout)
    assert said.exit == 0, said.stdout.decode() + said.stderr.decode()
    return said.stdout.decode()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from what Git tracks, by way of the sdist."""
    folder = tmp_path_factory.mktemp("dist")
    source = folder / "source"
    source.mkdir()
    files = run("git", "-c", f"safe.directory={ROOT}", "ls-files", "-z", "--cached", "--others",
                "--exclude-standard", cwd=ROOT)
    for name in filter(None, files.split("\0")):
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(source),
        cwd=folder)
    return folder


def test_the_wheel_holds_what_its_list_says(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        found = sorted(name for name in archive.namelist() if ".dist-info/" not in name)

    assert found == LIST.read_text().splitlines(), (
        "a file came or went: if that was meant, write the new list to tests/packaging/wheel.txt")
    assert {name.split("/")[0] for name in found} == {"controller", "adapters", "contracts"}
    assert not [name for name in found if name.endswith("__main__.py")]


def test_the_sdist_can_be_tested(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}

    assert {"scripts/test", "tests/conftest.py", "LICENSE", "README.md", "pyproject.toml"} <= names


def test_the_wheel_works_in_an_empty_environment(built: Path, tmp_path: Path) -> None:
    (wheel,) = built.glob("*.whl")
    run(sys.executable, "-m", "venv", str(tmp_path / "venv"), cwd=tmp_path)
    python = str(tmp_path / "venv/bin/python")
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel),
        cwd=tmp_path)

    version = run(str(tmp_path / "venv/bin/oneshot"), "--version", cwd=tmp_path)
    found = run(python, "-I", "-c", "import controller, adapters, contracts; "
                "print({c.__file__.split('/venv/')[1].split('/site-packages/')[1] for c in "
                "(controller, adapters, contracts)})", cwd=tmp_path)

    assert version == "oneshot, version 0.1.0\n"
    assert "controller/__init__.py" in found
    run("git", "init", "-q", cwd=tmp_path)
    run(str(tmp_path / "venv/bin/oneshot"), "init", "--goal", "Try it.", cwd=tmp_path)
    assert "is valid" in run(str(tmp_path / "venv/bin/oneshot"), "validate", cwd=tmp_path)
