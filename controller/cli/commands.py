"""The registry of commands: name -> module and line of help. Modules load when used."""

from importlib import import_module

import click

COMMANDS: dict[str, tuple[str, str, str]] = {
    "init": ("Daily", "init", "Write .agent-contract/, with what this repository shows."),
    "validate": ("Daily", "validate", "Check the contract, policy and config, with line numbers."),
    "plan": ("Daily", "plan", "Make one proposal and judge it; do nothing."),
    "run": ("Daily", "run", "Start a run and step until it is proved done or must stop."),
    "resume": ("Daily", "resume", "Conclude what a crash left open, then go on."),
    "status": ("Daily", "status", "Show where a run stands and what to do next."),
    "report": ("Daily", "report", "Write the report page of a run."),
    "say": ("Steer", "say", "Tell a run something; its next step sees it once."),
    "intent": ("Steer", "intent", "Show or change what a run is for."),
    "approvals": ("Steer", "approvals", "List what waits for you; show what you would agree to."),
    "approve": ("Steer", "approve", "Allow what waits for a person."),
    "deny": ("Steer", "deny", "Decline what waits for a person."),
    "answer": ("Steer", "answer", "Answer a question of the model's."),
    "decide": ("Steer", "decide", "Say whether an action of unknown outcome happened."),
    "watch": ("Steer", "watch", "Follow a run that goes on in another process."),
    "pause": ("Steer", "pause", "Let a run stand still after this step; its process stays."),
    "stop": ("Steer", "stop", "Let the controller of a run end after this step."),
    "abort": ("Steer", "abort", "End a run for good."),
    "rollback": ("Time", "rollback", "Go back to what a run was after an earlier step."),
    "fork": ("Time", "fork", "Start a new run from an earlier step of another."),
    "diff": ("Time", "diff", "Show what changed between two steps, in state and worktree."),
    "blame": ("Time", "blame", "Show which step last set a path of the state."),
    "export": ("Time", "export", "Write a run into one file, to go on with elsewhere."),
    "import": ("Time", "import_run", "Go on with a run that was exported elsewhere."),
    "migrate": ("Time", "migrate", "Bring a run's state to another version of its schema."),
    "why": ("Inspect", "why", "Show the evidence for each criterion: present, stale, missing."),
    "log": ("Inspect", "log", "List every step, refusal and answer of a run."),
    "show": ("Inspect", "show_step", "Show one step: prompt, reply, gates, action, evidence."),
    "verify-audit": ("Inspect", "verify_audit", "Check that the audit trail of a run is whole."),
    "cost": ("Inspect", "cost", "Show what a run has sent and spent, step by step."),
    "models": ("Inspect", "models", "List the model interfaces of this machine."),
    "doctor": ("Inspect", "doctor", "Look at what this machine offers and lacks."),
    "install": ("Inspect", "schedule", "Print a form for systemd, cron or a CI system."),
    "demo": ("Inspect", "demo", "Watch a scripted run, a kill -9 and a resume. No key needed."),
}
"""Command -> its group in the help, its module in this package, its line of help."""


class Commands(click.Group):
    """The commands of COMMANDS, imported one at a time."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every command, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, imported now; None for an unknown one."""
        if cmd_name not in COMMANDS:
            return super().get_command(ctx, cmd_name)
        module = import_module(f"controller.cli.{COMMANDS[cmd_name][1]}")
        found: click.Command = module.command
        return found

    def resolve_command(self, ctx: click.Context, args: list[str],
                        ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click's, with a guess for a mistyped name."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from controller.core.pointer import nearest

            ctx.fail(f"no command {args[0]!r}{nearest(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context,
                        formatter: click.HelpFormatter) -> None:
        """The help by group, without importing a command."""
        for group in dict.fromkeys(group for group, _, _ in COMMANDS.values()):
            with formatter.section(group):
                formatter.write_dl([(name, line) for name, (of, _, line) in COMMANDS.items()
                                    if of == group])
        with formatter.section("Exit codes"):
            from controller.core.errors import EXIT_CODES

            formatter.write_dl([(str(code), text) for code, text in EXIT_CODES.items()])
