"""The command line: verbs and flags. What a verb does lies in other modules, imported when it runs."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from harness import __version__
from harness.errors import UsageError


def _judging_flags(function: Callable) -> Callable:
    """The flags of every verb that judges."""
    flags = [
        click.option("--problem", metavar="NAME", help="Judge for this problem, whatever the file names."),
        click.option("--backend", type=click.Choice(["auto", "gpu", "cpu"]), default="auto", show_default=True),
        click.option("--seed", type=click.IntRange(0, 2**32 - 1), help="Replay a run: its seed."),
        click.option("--timeout", metavar="S", type=click.FloatRange(min=0, min_open=True),
                     help="Seconds a call may take.  [default: 10, the first call 70]"),
        click.option("--strict", is_flag=True, help="Special cases and flags decide too."),
        click.option("--case", metavar="NAME", help="Only this case."),
        click.option("--large", is_flag=True, help="Also cases up to N near 2^31 (GPU only)."),
        click.option("--json", "json_path", metavar="PATH", type=click.Path(path_type=Path), help="Write results."),
    ]  # fmt: skip
    for flag in reversed(flags):
        function = flag(function)
    return function


_FILES = click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")


@click.group(invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="harness")
@_judging_flags
@click.pass_context
def cli(context: click.Context, **flags: Any) -> None:
    """Judge LeetGPU-style solve files, CUDA C++ and Triton, on a GPU or with none.

    Without a verb: judge and time every solve in cuda/ and triton_solutions/. Exit status: 0 all accepted, 1 some not,
    2 wrong usage or the judge's own error.
    """
    if context.invoked_subcommand is None:
        from harness.submission import bundled_submissions

        submissions = bundled_submissions()
        if flags["problem"]:
            submissions = [s for s in submissions if s.problem.name == flags["problem"]]
            if not submissions:
                raise UsageError(f"no bundled solve is for the problem {flags['problem']!r}")
        _judge(submissions, with_timing=True, **flags)


@cli.command()
@_FILES
@_judging_flags
def submit(files: tuple[Path, ...], **flags: Any) -> None:
    """Judge files and time those that are accepted."""
    _judge_files(files, with_timing=True, **flags)


@cli.command()
@_FILES
@_judging_flags
def check(files: tuple[Path, ...], **flags: Any) -> None:
    """Judge files without timing them."""
    _judge_files(files, with_timing=False, **flags)


@cli.command()
@click.argument("name", required=False)
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, help="The seed whose random sizes are listed.")
def problems(name: str | None, seed: int) -> None:
    """List the problems, or the cases of one."""
    from harness.problems import PROBLEMS, find_problem
    from harness.signature import c_declaration

    if name:
        for case in find_problem(name).cases(seed):
            click.echo(f"{case.name}  [{case.group}]")
        return
    for problem in PROBLEMS.values():
        click.echo(f"{problem.name}: {problem.summary}\n    {c_declaration(problem.parameters)}")


def _judge_files(files: tuple[Path, ...], *, with_timing: bool, **flags: Any) -> None:
    from harness.submission import read_submissions

    submissions = [s for path in files for s in read_submissions(path, flags["problem"])]
    _judge(submissions, with_timing=with_timing, **flags)


def _judge(
    submissions: list[Any],
    *,
    with_timing: bool,
    problem: str | None,
    backend: str,
    seed: int | None,
    timeout: float | None,
    strict: bool,
    case: str | None,
    large: bool,
    json_path: Path | None,
) -> None:
    from harness import report, rows, timing
    from harness.backend import choose, machine
    from harness.judge import Options, Session, internal_error, judge, select_cases
    from harness.progress import Progress

    chosen = choose(backend, needs_nvcc=any(s.language == "cuda" for s in submissions))
    if large and chosen.name != "gpu":
        raise UsageError("--large needs a GPU: leave it out on the CPU backend")
    options = Options(secrets.randbelow(2**32) if seed is None else seed, timeout, strict, case, large)
    for submission in submissions:
        select_cases(submission.problem, options)  # an unknown --case is said before anything is built
    json_file = report.open_json(json_path) if json_path else None
    click.echo(f"backend {chosen.name} ({chosen.reason}), seed {options.seed}", err=True)

    judged = []
    missing_tool = ""
    needs_torch = with_timing or chosen.name == "gpu" or any(s.language == "python" for s in submissions)
    with Session(chosen, options, needs_torch) as session, Progress() as progress:
        for submission in submissions:
            progress.start(str(submission.path))
            try:
                row = judge(submission, session, progress.cases)
            except UsageError as error:
                if len(submissions) == 1:
                    raise
                # A missing compiler stops the .cu files, not the others.
                missing_tool = str(error)
                row = internal_error(submission, session, error, rows.NOT_RUN)
            except Exception as error:  # the judge's own fault, in the one place that reports it
                row = internal_error(submission, session, error, rows.INTERNAL_ERROR)
            progress.finish(row)
            judged.append((row, submission))
        results = [row for row, _ in judged]
        if with_timing:
            results = timing.time_rows(judged, session, progress)
    description = machine(chosen)
    report.print_rows(results, description)
    if json_file:
        report.write_json(json_file, results, description)
    if missing_tool:
        raise UsageError(missing_tool)
    verdicts = {row.verdict for row in results if not row.label}
    if rows.INTERNAL_ERROR in verdicts:
        sys.exit(2)
    sys.exit(0 if verdicts == {rows.ACCEPTED} else 1)


def main() -> None:
    """Runs the command line; errors of usage become one sentence on stderr and status 2."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError):  # replaced by something that is no text stream
            stream.reconfigure(errors="surrogateescape")
    try:
        cli.main(standalone_mode=False)
    except UsageError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    except click.ClickException as error:
        print(f"error: {' '.join(error.format_message().split())} (python -m harness --help)", file=sys.stderr)
        sys.exit(2)
    except (click.Abort, KeyboardInterrupt):
        print("interrupted: nothing of this run was kept", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(1)
