"""The policy: which actions are refused or asked about in a repository, and what commands find.

Read from `.agent-contract/policy.yaml` by `controller.project`; no model writes it.
"""

import re
import sys
from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import cast

from controller.core.action import Command
from controller.core.canonical import JsonObject, JsonValue, digest
from controller.core.glob import matches

RUNNERS = (
    "conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini",
    "tox.toml", "noxfile.py", "setup.cfg", "setup.py", "pyproject.toml", "sitecustomize.py",
    "usercustomize.py", "*.pth", "*.dist-info", "*.egg-info", "*.pyc", "__pycache__",
    "package.json", ".npmrc", ".yarnrc*", "jest.config.*", "jest.setup.*", "vitest.config.*",
    "vite.config.*", "babel.config.*", ".mocharc.*", "playwright.config.*", "cypress.config.*",
    "karma.conf.*", "Cargo.toml", ".cargo/**", "build.rs", "go.mod", "go.work", "pom.xml",
    "build.gradle*", "settings.gradle*", "Rakefile", "Makefile", "GNUmakefile", "justfile",
    "Taskfile.y*ml", "Gemfile", "composer.json", "gradlew", "mvnw", "gradle/wrapper/**",
    ".coveragerc", ".pnpmfile.cjs", "bunfig.toml", "deno.json*", "webpack.config.*",
    "rollup.config.*", "eslint.config.*", ".eslintrc*", "postcss.config.*", ".gitattributes",
    ".gitmodules", ".github/**", ".gitlab-ci.yml", ".circleci/**", "Jenkinsfile", ".travis.yml",
    "azure-pipelines.yml", "bitbucket-pipelines.yml", ".buildkite/**", ".drone.yml", ".woodpecker*",
    "appveyor.yml", "Dockerfile*", "docker-compose*.y*ml", "compose.y*ml", "Vagrantfile",
    "CMakeLists.txt", "meson.build", ".justfile", ".bazelrc", "WORKSPACE*", "BUILD.bazel", ".rspec",
    ".appveyor.yml", "cloudbuild.y*ml", "pdm.toml", "hatch.toml", "uv.toml", ".mise.toml",
    "mypy.ini", ".mypy.ini", "ruff.toml", ".ruff.toml", ".flake8", ".pylintrc",
    "pyrightconfig.json", "tsconfig*.json", "biome.json*", ".golangci.y*ml", "clippy.toml",
    ".rubocop.yml", ".mvn/**", "gradle.properties", "buildSrc/**", "junit-platform.properties",
    "phpunit.xml*", ".config/nextest.toml", "rust-toolchain*", ".yarn/**", ".pnp.*", ".nycrc*",
    ".taprc", "ava.config.*", ".babelrc*", ".swcrc", "vitest.workspace.*", "jasmine.json",
    "wdio.conf.*", "nx.json", "turbo.json", "*.cmake", "CMakePresets.json", "mix.exs", "build.sbt",
    "Directory.Build.*", "*.csproj", ".runsettings", "Package.swift", "BUILD", "*.bzl",
    "MODULE.bazel", "dodo.py", "behave.ini", "nose2.cfg", "unittest.cfg", "pixi.toml", "Pipfile",
    ".simplecov", "*.rake", "*.mk", ".bundle/**", "Makefile.PL", "configure", "build.xml", ".env",
    "pyvenv.cfg", ".proverc",
)
"""Files that decide how tests are run, or what a checkout holds: always protected, new ones too."""

LOCKS = (
    "*.lock", "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "bun.lockb", "go.sum",
    "go.work.sum", "gradle.lockfile", "Package.resolved", "requirements*.txt", "constraints*.txt",
    ".tool-versions", "mise.toml", ".python-version", ".node-version", ".nvmrc",
)
"""Files that decide what is installed."""

STEERING = (
    "AGENTS*.md", "AGENT.md", "SKILL.md", "WARP.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md",
    ".cursor/**", ".cursorrules", ".windsurf/**", ".windsurfrules", ".clinerules/**", ".claude/**",
    ".codex/**", ".gemini/**", ".aider*", ".mcp.json", ".mcp/**", ".agents/**", ".opencode/**",
    "opencode.json*", ".kiro/**", ".amazonq/**", ".junie/**", ".continue/**", ".roo/**",
    ".roomodes", "CODEOWNERS", ".gitignore", ".githooks/**", ".husky/**", ".pre-commit-config.yaml",
    "lefthook.y*ml", ".lintstagedrc*", ".vscode/**", ".idea/**", ".devcontainer/**",
    ".devcontainer.json", ".envrc", ".editorconfig", ".exrc", ".nvimrc", ".dir-locals.el",
    ".zed/**", "*.code-workspace", "CONVENTIONS.md", ".pre-commit-hooks.yaml", ".gitconfig",
    "adr/**", "decisions/**", ".bashrc", ".profile", ".vimrc", "*.sublime-project",
)
"""Files that run, or steer a model or an editor, where somebody checks the branch out."""

SENSITIVE = tuple((f"**/{name}" if "/" in name else name).casefold()
                  for name in (*RUNNERS, *LOCKS, *STEERING))
"""All of them, in any folder and in any case: many systems make no difference."""

ANYWHERE = "*"
"""The host that stands for all of them."""

SETUP = "$ONESHOT_ENV"
"""How a policy names the folder that set-up commands install into."""


_RUN_BY = frozenset({
    "pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments", "exceptiongroup", "tomli",
    "coverage", "xdist", "execnet", "hypothesis", "nose2", "mypy", "ruff", "pkg_resources",
    "setuptools"})
"""Modules that test runners and checkers import, beside Python's own."""

_SEARCHED = re.compile(r"(?:(?:src|lib|python|tests?|__tests__)/)?([A-Za-z_]\w*)(?:\.pyi?|/.*)")


def _shadowing(path: str) -> bool:
    """Whether a new file would be imported in the place of a module of Python's, or of a runner's:
    where Python looks before it looks among its own.
    """
    hit = _SEARCHED.fullmatch(path)
    return bool(hit) and path.endswith((".py", ".pyi", ".so")) and (
        hit[1] in sys.stdlib_module_names or hit[1] in _RUN_BY)  # type: ignore[index]  # a hit


LOGS, ISSUE = "logs", "issue"
"""What comes from a forge and is text from outside, unless the user vouches for it."""


def _beside(path: str, base: Collection[str]) -> bool:
    """Whether a new file among the tests would change what the others are: the file that makes
    their folder a package, a module that takes the place of the product's or of a test.
    """
    folder, _, name = path.rpartition("/")
    stem = name.partition(".")[0]
    if name.startswith("__init__."):
        return True
    if f"{folder}.py" in base:
        return True
    return not looks_like_test(path) and any(
        other.rpartition("/")[2].partition(".")[0] == stem or f"/{stem}/" in f"/{other}"
        for other in base if other.endswith(_MODULES))


def looks_like_test(path: str) -> bool:
    """Whether a file is called as tests are, in most languages."""
    return bool(_TEST.search(path.rpartition("/")[2]))


_TEST = re.compile(r"^test_|_test\.|\.(?:test|spec)\.|_spec\.rb$|Tests?\.(?:java|kt|cs)$")
_MODULES = (".py", ".js", ".mjs", ".cjs", ".ts")


@dataclass(frozen=True, slots=True)
class Setup:
    """The user's own commands that install what a project needs, once for each content of the
    `sources`. They find those `variables` of his and no others of them. Seconds for each.
    """

    commands: tuple[Command, ...]
    sources: tuple[str, ...] = ()
    timeout: int = 1800
    variables: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Environment:
    """What the commands of a run find: folders before PATH, variables, what is mounted read-only,
    the names of the user's own variables that are passed on, and how it is set up.
    """

    path: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    mounts: tuple[str, ...] = ()
    passed: tuple[str, ...] = ()
    setup: Setup | None = None


@dataclass(frozen=True, slots=True)
class Reach:
    """What a command may reach beyond its worktree, granted by the user: hosts (`name` or
    `name:port`), files and folders to write, the names of variables of his.
    """

    hosts: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class External:
    """A command that changes something outside the worktree, and the probe that tells whether it
    has: exit 0: it happened, 3: it did not, anything else: nobody can tell. Both have the `reach`.
    """

    command: Command
    probe: Command | None = None
    reach: Reach = Reach()


@dataclass(frozen=True, slots=True)
class Networked:
    """What a `run` that asks for the network may reach, and the lines that need nobody's word."""

    hosts: tuple[str, ...] = ()
    pre_granted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Probe:
    """A read-only question of the user's: a command in a clean export of the base, or a GET of an
    address. Its result is the first line of what comes back, good for `fresh` seconds.
    """

    name: str
    command: Command | None = None
    address: str = ""
    fresh: int = 300
    reach: Reach = Reach()


@dataclass(frozen=True, slots=True)
class Policy:
    """Which actions are refused or asked about, whatever the contract says."""

    protected_paths: tuple[str, ...] = ()
    shadows: frozenset[str] = frozenset()  # files that would be run in place of a check's
    forbidden_commands: tuple[str, ...] = ()
    confirm_commands: tuple[str, ...] = ()
    timeout: int = 300
    max_timeout: int = 1800
    idle: int = 300
    output_bytes: int = 8 * 1024 * 1024
    processes: int = 512
    data_bytes: int = 4 * 1024**3
    file_bytes: int = 1024**3
    environment: Environment = Environment()
    external: tuple[External, ...] = ()
    network: Networked = Networked()
    granted: frozenset[str] = frozenset()  # kinds of delivery that need nobody's word
    trusted: frozenset[str] = frozenset()  # LOGS, ISSUE: what the forge says and the user vouches
    # for
    probes: tuple[Probe, ...] = ()

    def listed(self, command: Command) -> External | None:
        """The external command that this command line is, word for word, if it is one: as a line
        for the shell or as its list of arguments.
        """
        lines = {str(command), str(command).strip()}
        return next((item for item in self.external if str(item.command) in lines), None)

    @property
    def mark(self) -> str:
        """A digest of what decides how a check is made: what is protected, what commands find, how
        long they may take. Evidence that was got under another is stale.
        """
        return digest({
            "protected": list[JsonValue](self.protected_paths),
            "shadows": list[JsonValue](sorted(self.shadows)),
            "environment": cast("JsonObject", asdict(self.environment)),  # texts and numbers
            "probes": [cast("JsonObject", asdict(probe)) for probe in self.probes],
            "limits": [self.timeout, self.max_timeout, self.idle, self.output_bytes,
                       self.processes, self.data_bytes, self.file_bytes]})[:16]

    def protects(self, path: str, base: Collection[str]) -> bool:
        """Whether a person must agree to a change of this file, where the base has those files.

        A new test is welcome; a changed one is not, nor is a new file that would be run in the
        place of what a check names, or of what a test imports.
        """
        new = path not in base
        return (matches(path.casefold(), SENSITIVE) or path in self.shadows
                or (new and _shadowing(path))
                or (new and matches(path, self.protected_paths) and _beside(path, base))
                or (not new and (matches(path, self.protected_paths) or looks_like_test(path))))
