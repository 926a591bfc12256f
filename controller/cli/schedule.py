"""`oneshot install`: forms for whoever starts oneshot when you don't: systemd, cron, CI systems."""

import shlex
import sys
from pathlib import Path

import click

from controller.cli.show import talk
from controller.settings import checkout_root, from_environment

_SYSTEMD = """\
# ~/.config/systemd/user/{unit}.service
#   systemctl --user daemon-reload && systemctl --user start {unit}
#   loginctl enable-linger     # so that it goes on when you log out
[Unit]
Description=oneshot in {root}
StartLimitIntervalSec=0

[Service]
Type=notify
NotifyAccess=main
WatchdogSec=10min
WorkingDirectory={plain}
Environment=PATH={path}
# Keys, one NAME=value a line, in a file that only you can read:
EnvironmentFile=-%h/.config/oneshot.env
ExecStart={command} -C {root} resume --or-start
# 75: no model answered, so later; the others wait for you
Restart=on-failure
RestartSec=10min
RestartForceExitStatus=75
RestartPreventExitStatus=2 4 5 6 8 9 11
SuccessExitStatus=3 8 143
TimeoutStartSec=infinity
KillMode=mixed
TimeoutStopSec=60

[Install]
WantedBy=default.target
"""

_TIMER = """\

# ~/.config/systemd/user/{unit}.timer, to begin it each night
[Timer]
OnCalendar=*-*-* 22:00
Persistent=true

[Install]
WantedBy=timers.target
"""

_CRON = """\
# crontab -e: every half hour of the night. A second one finds the first at work, and ends (10).
PATH={path}
*/30 22-23,0-6 * * * {command} -C {root} resume --or-start -q --ok-exit 3,8,10,75 >>{log} 2>&1
"""

_GITHUB = """\
# .github/workflows/oneshot.yml: a person starts it; `oneshot import run.bundle` goes on with it.
name: oneshot
on: workflow_dispatch
permissions: {{contents: read}}
concurrency: oneshot
jobs:
  run:
    runs-on: ubuntu-latest
    timeout-minutes: 350
    steps:
      - uses: actions/checkout@v4
        with: {{fetch-depth: 0}}
      - uses: actions/setup-python@v5
        with: {{python-version: "3.12"}}
      - run: sudo apt-get install -y bubblewrap && pipx install oneshot-controller
      - run: oneshot run --max-time 5h --on-approval park --ok-exit 3,8
        env:
          ANTHROPIC_API_KEY: ${{{{ secrets.ANTHROPIC_API_KEY }}}}
      - run: oneshot export run.bundle
        if: always()
      - uses: actions/upload-artifact@v4
        if: always()
        with: {{name: run, path: run.bundle}}
"""

_GITLAB = """\
# .gitlab-ci.yml
oneshot:
  image: python:3.12
  rules: [{{if: $CI_PIPELINE_SOURCE == "schedule"}}]
  timeout: 6h
  script:
    - apt-get update && apt-get install -y bubblewrap && pip install oneshot-controller
    - oneshot run --max-time 5h --on-approval park --ok-exit 3,8
  after_script: [oneshot export run.bundle]
  artifacts: {{when: always, paths: [run.bundle]}}
"""

FORMS = {"systemd": _SYSTEMD + _TIMER, "cron": _CRON, "github": _GITHUB, "gitlab": _GITLAB}
"""Where it can be installed -> the form, to be filled in."""


@click.command("install")
@click.argument("where", type=click.Choice(sorted(FORMS)))
@click.pass_obj
def command(folder: Path, where: str) -> None:
    """Print what lets WHERE start and resume runs of this repository. Nothing is written.

    Paths are absolute, since schedulers know little of yours. A run must have a limit in
    config.yaml, or it does not begin.
    """
    settings, root = from_environment(), checkout_root(folder.absolute())
    found = settings.find("oneshot")
    program = shlex.quote(found) if found else shlex.join(
        [sys.executable, "-P", "-c", "from controller.cli import main; main()"])
    click.echo(FORMS[where].format(
        root=shlex.quote(str(root)), plain=str(root).replace("%", "%%"), path=settings.path,
        command=program,
        unit=f"oneshot-{root.name}", log=shlex.quote(str(root / ".agent-runtime/cron.log"))),
        nl=False)
    talk(f"note: nothing was written; the form above is for {where}")
