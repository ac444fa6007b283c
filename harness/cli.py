"""The command line: verbs and flags. What a verb does lies in other modules, imported when it runs."""

from __future__ import annotations

import codecs
import errno
import math
import os
import re
import secrets
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import click
from click.core import ParameterSource

from harness import __version__
from harness.errors import UsageError


def _load_challenge(context: click.Context, parameter: click.Parameter, value: str | None) -> Any:
    """The problem of --challenge; None without the flag."""
    if value is None:
        return None
    if context.params.get("problem") is not None:
        raise UsageError("--problem and --challenge both say what to judge for: leave one out")
    from harness.challenge import find_directory, load_challenge

    return load_challenge(find_directory(value, context.meta.get("challenges")))


def _remember_root(context: click.Context, parameter: click.Parameter, value: Path | None) -> None:
    context.meta["challenges"] = value


def _finite(context: click.Context, parameter: click.Parameter, value: float | None) -> float | None:
    if value is not None and not math.isfinite(value):
        raise click.BadParameter(f"{value} is no number of seconds")
    return value


_CHALLENGE = click.option(
    "--challenge", metavar="DIR", callback=_load_challenge, help="The challenge in this directory, as the problem."
)
_CHALLENGES = click.option(
    "--challenges",
    metavar="ROOT",
    type=click.Path(path_type=Path),
    is_eager=True,
    expose_value=False,
    callback=_remember_root,
    help="A checkout of challenges: --challenge may be a name or a number in it.",
)


def _judging_flags(function: Callable) -> Callable:
    """The flags of every verb that judges."""
    flags = [
        click.option("--problem", metavar="NAME", is_eager=True,
                     help="Judge for this problem, whatever the file names."),
        _CHALLENGE,
        _CHALLENGES,
        click.option("--backend", type=click.Choice(["auto", "gpu", "cpu"]), default="auto", show_default=True),
        click.option("--seed", metavar="S", type=click.IntRange(0, 2**32 - 1), help="Replay a run: its seed."),
        click.option("--timeout", metavar="S", type=click.FloatRange(min=0, min_open=True), callback=_finite,
                     help="Seconds a call may take.  [default: 10, the first call 70]"),
        click.option("--strict", is_flag=True, help="Special cases and flags decide too."),
        click.option("--case", metavar="NAME", help="Only this case."),
        click.option("--races", is_flag=True, help="Look for data races, too (.cu on the CPU backend)."),
        click.option("--large", is_flag=True, help="Also cases up to N near 2^31 (GPU only)."),
        click.option("--json", "json_path", metavar="PATH", type=click.Path(path_type=Path), help="Write results."),
    ]  # fmt: skip
    for flag in reversed(flags):
        function = flag(function)
    return function


_FILES = click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")


_RAY_ADDRESS = re.compile(r"local|auto|(ray://)?[\w.\[\]-]+:\d+")


class _WithRay(click.Command):
    """A verb with --ray [ADDRESS]: what follows the flag is an address only if it looks like one, else a file."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        for place, word in enumerate(args):
            following = args[place + 1] if place + 1 < len(args) else ""
            if word == "--ray" and not _RAY_ADDRESS.fullmatch(following):
                args[place] = "--ray=local"
        return super().parse_args(context, args)


def _many_files(function: Callable) -> Callable:
    """The arguments and flags of the verbs that judge many files at once."""
    flags = [
        click.argument("files", nargs=-1, type=click.Path(path_type=Path), metavar="[FILE...]"),
        click.option("--folder", "folders", metavar="DIR", multiple=True, type=click.Path(path_type=Path),
                     help="All .cu and .py files below it."),
        click.option("--gpus", metavar="I,J", help="Judge on these GPUs.  [default: all of the first one's model]"),
        click.option("--resume", is_flag=True, help="Go on with the run in the --json file, or on the board."),
        click.option("--ray", "ray_address", metavar="[ADDRESS]",
                     help="Judge on the Ray cluster at ADDRESS, or, without one, on a Ray of this machine."),
    ]  # fmt: skip
    for flag in reversed(flags):
        function = flag(function)
    return function


_DB = click.option("--db", metavar="PATH", type=click.Path(path_type=Path), help="The board's file.")
_SHRINK = click.option("--shrink", is_flag=True, help="Look for a smaller failing case, for up to 10 s a file.")
_SANITIZE = click.option(
    "--sanitize", is_flag=True, help="One more call under compute-sanitizer: reads past the end, races (GPU only)."
)
_HOT = click.option("--hot", is_flag=True, help="With the L2 as the call before left it (bench: beside a cold one).")


def _sizes(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[tuple[int, ...], ...] | None:
    if value is None:
        return None
    try:
        shapes = tuple(tuple(map(int, word.split("x"))) for word in value.replace("_", "").lower().split(","))
    except ValueError:
        raise click.BadParameter(f"{value!r} is no list of sizes such as 1024,500000 or 4096x1024") from None
    if any(not 1 <= size < 2**31 for shape in shapes for size in shape):
        raise click.BadParameter("sizes lie between 1 and 2,147,483,647")
    return shapes


_SIZES = click.option(
    "--sizes", metavar="N,...|ROWSxCOLS,...", callback=_sizes, help="Sizes to time, not the problem's own."
)


@click.group(invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="harness")
@_judging_flags
@click.pass_context
def cli(context: click.Context, **flags: Any) -> None:
    """Judge LeetGPU-style solve files, CUDA C++ and Triton, on a GPU or with none.

    Without a verb: judge and time every solve in cuda/ and triton_solutions/. Exit status: 0 all accepted, 1 some not,
    2 wrong usage or the judge's own error.
    """
    if context.invoked_subcommand is not None:
        for parameter in context.command.params:
            if context.get_parameter_source(str(parameter.name)) is ParameterSource.COMMANDLINE:
                verb = context.invoked_subcommand
                raise UsageError(f"{parameter.opts[0]} before {verb} does nothing: write it after {verb}")
    else:
        if flags["challenge"] or context.meta.get("challenges"):
            raise UsageError("--challenge needs files to judge: python -m harness submit FILE --challenge DIR")
        from harness.submission import bundled_submissions
        from harness.timing import Plan

        submissions = bundled_submissions()
        if flags["problem"] is not None:
            submissions = [s for s in submissions if s.problem.name == flags["problem"]]
            if not submissions:
                raise UsageError(f"no bundled solve is for the problem {flags['problem']!r}")
        _judge(submissions, plan=Plan(), **flags)


@cli.command(cls=_WithRay)
@_many_files
@_DB
@_SHRINK
@_judging_flags
def submit(files: tuple[Path, ...], folders: tuple[Path, ...], db: Path | None, shrink: bool, **flags: Any) -> None:
    """Judge files, time what is accepted, and enter it on the board."""
    from harness import board
    from harness.timing import Plan

    if db and flags["case"]:
        raise UsageError("--case judges one case, which is no verdict for the board: leave out --case or --db")
    path = None if flags["case"] else db or board.default_path()
    _judge(_read_many(files, folders, flags), plan=Plan(), db=path, shrink=shrink, **flags)


@cli.command(cls=_WithRay)
@_many_files
@_SHRINK
@_SANITIZE
@_judging_flags
def check(files: tuple[Path, ...], folders: tuple[Path, ...], shrink: bool, sanitize: bool, **flags: Any) -> None:
    """Judge files without timing them."""
    _judge(_read_many(files, folders, flags), shrink=shrink, sanitize=sanitize, **flags)


@cli.command(cls=_WithRay)
@_many_files
@_SIZES
@_HOT
@click.option("--anatomy", is_flag=True, help="Show what one call consists of (GPU only).")
@click.option(
    "--against", metavar="FILE|torch", default="torch", show_default=True, help="What times are multiples of."
)
@_judging_flags
def bench(
    files: tuple[Path, ...],
    folders: tuple[Path, ...],
    sizes: tuple[tuple[int, ...], ...] | None,
    hot: bool,
    anatomy: bool,
    against: str,
    **flags: Any,
) -> None:
    """Judge files, then time them in turns, at several sizes."""
    from harness.timing import MOST_GENERATIONS, Plan

    submissions = _read_many(files, folders, flags)
    bases = [] if against == "torch" else _read((Path(against),), flags)
    for name in {submission.problem.name for submission in submissions if bases}:
        if name not in [base.problem.name for base in bases]:
            raise UsageError(
                f"--against {against} is no solve of {name}: --problem NAME names one problem for all files"
            )
    _judge(submissions, plan=Plan(sizes, hot, anatomy, bases[0] if bases else None, MOST_GENERATIONS), **flags)


@cli.command()
@click.argument("a", type=click.Path(path_type=Path))
@click.argument("b", type=click.Path(path_type=Path))
@_SIZES
@_HOT
@_judging_flags
def compare(a: Path, b: Path, sizes: tuple[tuple[int, ...], ...] | None, hot: bool, **flags: Any) -> None:
    """Judge two files, then time them in pairs: is A the faster one?"""
    from harness.timing import MOST_GENERATIONS, Plan

    pair = _read((a,), flags)[:1] + _read((b,), flags)[:1]
    if pair[0].problem is not pair[1].problem:
        raise UsageError(f"{a} and {b} solve different problems: --problem NAME names one for both")
    _judge(pair, plan=Plan(sizes, hot, generations=MOST_GENERATIONS), duel=True, **flags)


@cli.command()
@_FILES
@_SIZES
@click.option("--problem", metavar="NAME", is_eager=True, help="Take the files as solves of this problem.")
@_CHALLENGE
@_CHALLENGES
@click.option(
    "--seed", metavar="S", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="Of the inputs."
)
@click.option("--json", "json_path", metavar="PATH", type=click.Path(path_type=Path), help="Write results.")
def profile(
    files: tuple[Path, ...],
    sizes: tuple[tuple[int, ...], ...] | None,
    problem: str | None,
    challenge: Any,
    seed: int,
    json_path: Path | None,
) -> None:
    """Count the bytes a call moves through L2 and DRAM (GPU only)."""
    from harness import document, profiling, report, rows
    from harness.backend import choose, machine
    from harness.build import BuildError
    from harness.judge import Options, Session, does_not_fit
    from harness.progress import Progress

    submissions = _read(files, {"problem": problem, "challenge": challenge})
    chosen = choose("auto", needs_nvcc=any(s.language == "cuda" for s in submissions))
    if chosen.name != "gpu":
        raise UsageError(f"profile needs a GPU: {chosen.reason}")
    ncu = profiling.find_ncu()
    work = [(s, case) for s in submissions for case in s.problem.timing_cases(sizes, chosen.name)]
    for submission, case in work:
        too_large = does_not_fit(submission.problem, case, chosen)
        if too_large:
            raise UsageError(f"--sizes {_as_typed(submission.problem, case)} {too_large}: name smaller sizes")
    _claim("--json", json_path)
    profiles, failures = [], []
    with Session(chosen, Options(seed), needs_torch=False) as session, Progress() as progress:
        for submission, case in work:
            size = rows.size_text(submission.problem.shape(case))
            progress.start(f"profiling {submission.path} at {size}")
            try:
                profiles.append(profiling.profile(submission, case, session, ncu))
            except (profiling.ProfileError, BuildError) as error:
                failures.append(f"{submission.path} at {size}: {error}")
    report.print_profiles(profiles)
    if json_path:
        document.write_whole(json_path, report.run_document([], machine(chosen), profiles=profiles))
    for failure in failures:
        click.echo(f"error: {failure}", err=True)
    sys.exit(1 if failures else 0)


@cli.command()
@_DB
@click.option("--problem", metavar="NAME", help="Only this problem.")
@click.option("--html", metavar="PATH", type=click.Path(path_type=Path), help="Write it as one page, to publish.")
def board(db: Path | None, problem: str | None, html: Path | None) -> None:
    """Show the board: the best of every file, ranked where comparable."""
    from harness import board, report

    if problem:
        from harness.problems import find_problem

        find_problem(problem)
    path = db or board.default_path()
    if not path.exists():
        raise UsageError(
            f"there is no board at {path}: python -m harness submit FILE starts one (or name it with --db)"
        )
    if html:
        from harness.board_page import write_board

        _claim("--html", html, path)
        write_board(board.open_board(path), problem, html)
        click.echo(html)
    else:
        board.print_board(board.open_board(path), problem, report.console())


@cli.command()
@click.argument("files", nargs=-1, type=click.Path(path_type=Path), metavar="[FILE...]")
@click.option("--n", metavar="LOW:HIGH:STEP", help="Sizes of a vector; STEP is added, or x2 and the like multiply.")
@click.option("--cols", metavar="LOW:HIGH:STEP", help="Columns of a matrix, likewise.")
@click.option("--rows", "row_count", metavar="R", type=int, help="Rows of the matrix.")
@click.option("--png", metavar="PATH", type=click.Path(path_type=Path), help="Draw GB/s over size.")
@click.option("--resume", is_flag=True, help="Go on with the sweep in the --json file.")
@_judging_flags
def sweep(
    files: tuple[Path, ...],
    n: str | None,
    cols: str | None,
    row_count: int | None,
    png: Path | None,
    resume: bool,
    **flags: Any,
) -> None:
    """Judge files, time them at many sizes, and explain the cliffs.

    Without files: all bundled solves of the problem.
    """
    if flags.pop("challenge"):
        raise UsageError("a challenge has sizes of its own, which nothing can sweep over: bench times it at those")
    from harness.submission import bundled_submissions

    if files:
        submissions = _read(files, flags)
    else:
        if flags["problem"] is None:
            raise UsageError("--problem NAME says what to sweep, or name the files")
        submissions = [s for s in bundled_submissions() if s.problem.name == flags["problem"]]
    _sweep(submissions, (n, cols, row_count), png, resume, **flags)


@cli.command()
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE.npz")
@click.option("--backend", type=click.Choice(["auto", "gpu", "cpu"]), help="[default: the one it failed on]")
@_SANITIZE
@click.option("--json", "json_path", metavar="PATH", type=click.Path(path_type=Path), help="Write results.")
def replay(file: Path, backend: str | None, sanitize: bool, json_path: Path | None) -> None:
    """Run a failing case alone that check --shrink has kept."""
    from harness import document, report, rows, shrink
    from harness.backend import choose, machine
    from harness.judge import Options, Session

    kept = shrink.load(file)
    if kept.submission.source_hash != kept.about["source_hash"]:
        click.echo(f"{kept.submission.path} has changed since the case was kept", err=True)
    chosen = choose(backend or kept.about["backend"], needs_nvcc=kept.submission.language == "cuda")
    tool = _find_sanitizer(chosen) if sanitize else ""
    _claim("--json", json_path, file)
    trouble = ""
    with Session(
        chosen, Options(seed=0), needs_torch=chosen.name == "gpu" or kept.submission.language == "python"
    ) as s:
        row = shrink.judge_given(kept.submission, [(kept.case, kept.inputs)], s, str(file))
        if tool:
            from harness.sanitizer import sanitize_one

            row, trouble = sanitize_one(row, kept.submission, (kept.case, kept.inputs), s, tool)
    description = machine(chosen)
    report.print_rows([row], description)
    if json_path:
        document.write_whole(json_path, report.run_document([row], description))
    if trouble:
        raise UsageError(trouble)
    sys.exit(0 if row.verdict == rows.ACCEPTED else 1)


@cli.command()
@click.option("--full", is_flag=True, help="The whole corpus and not a sample of every kind.")
@click.option("--backend", type=click.Choice(["auto", "gpu", "cpu"]), default="auto", show_default=True)
@click.option("--seed", metavar="S", type=click.IntRange(0, 2**32 - 1), help="Repeat a run: its seed.")
@click.option("--json", "json_path", metavar="PATH", type=click.Path(path_type=Path), help="Write results.")
def doctor(full: bool, backend: str, seed: int | None, json_path: Path | None) -> None:
    """Try the machine's tools, and what the judge catches.

    The problems are tried on mutants, the judge on a corpus of bad and good submissions.
    """
    from harness import corpus, document, report
    from harness import doctor as examining
    from harness.backend import choose, machine
    from harness.problems import PROBLEMS
    from harness.progress import Progress
    from harness.selftest import self_test

    chosen = choose(backend, needs_nvcc=True)
    seed = secrets.randbelow(2**32) if seed is None else seed
    _claim("--json", json_path)
    click.echo(f"backend {chosen.name} ({chosen.reason}), seed {seed}", err=True)
    with Progress() as progress:
        findings = list(examining.examine_machine(chosen, seed, progress))
        outcomes = []
        for problem in PROBLEMS.values():
            progress.start(f"mutants of {problem.name}")
            outcomes += self_test(problem, seed)
        specimens = corpus.read_corpus()
        tallies = examining.judge_corpus(specimens if full else examining.quick(specimens), chosen.name, seed, progress)
    report.print_examination(findings, outcomes, tallies)
    if not specimens:
        click.echo("the corpus was left out: it comes with the source tree, not with the package", err=True)
    if json_path:
        found = {"machine": findings, "mutants": outcomes, "corpus": tallies}
        document.write_whole(json_path, report.run_document([], machine(chosen), examination=found))
    broken = any(finding.state == examining.BROKEN for finding in findings)
    missed = any(outcome.caught == 0 for outcome in outcomes)
    sys.exit(1 if broken or missed or any(tally.unexpected for tally in tallies) else 0)


@cli.command("report")
@click.argument("run", type=click.Path(path_type=Path), metavar="RUN.json")
@click.option("-o", "target", metavar="FILE.html", type=click.Path(path_type=Path), help="[default: RUN.html]")
@click.option("--png", metavar="FILE.png", type=click.Path(path_type=Path), help="Draw the times, too, or the sweep.")
def report_page(run: Path, target: Path | None, png: Path | None) -> None:
    """Write one self-contained HTML page of a run that --json wrote."""
    from harness.document import read_run
    from harness.page import write_page

    document = read_run(run)
    target = target or run.with_suffix(".html")
    _claim("-o", target, run, png)
    _claim("--png", png, run)
    if png:
        from harness.plots import draw

        draw(document, png)
        click.echo(png)
    write_page(document, run.name, target)
    click.echo(target)


@cli.command()
@click.argument("name", required=False)
@_CHALLENGE
@_CHALLENGES
@click.option(
    "--seed", metavar="S", type=click.IntRange(0, 2**32 - 1), default=0, help="The seed whose random sizes are listed."
)
@click.pass_context
def problems(context: click.Context, name: str | None, challenge: Any, seed: int) -> None:
    """List the problems, or challenges, or the cases of one of them."""
    from harness.problems import PROBLEMS, find_problem
    from harness.signature import c_declaration

    if name and challenge:
        raise UsageError(f"{name} and --challenge both say what to list: leave one out")
    if name:
        _need_challenge(challenge)
    if name or challenge:
        for case in (challenge or find_problem(name)).cases(seed):
            click.echo(f"{case.name}  [{case.group}]")
        return
    if root := context.meta.get("challenges"):
        sys.exit(_list_challenges(root))
    for problem in PROBLEMS.values():
        click.echo(f"{problem.name}: {problem.summary}\n    {c_declaration(problem.parameters)}")


def _list_challenges(root: Path) -> int:
    """Shows every challenge of a checkout; the exit status: 2 if one of them cannot be loaded."""
    from harness.challenge import ChallengeHost, find_all, load_challenge
    from harness.signature import c_declaration

    host, status = ChallengeHost(), 0
    for place in find_all(root):
        try:
            problem = load_challenge(place.directory, host)
        except UsageError as error:
            click.echo(f"error: {error}", err=True)
            status = 2
            continue
        tested = [problem.elements(case.sizes) for case in problem.cases(0)]
        timed = [
            ", ".join(f"{name} = {size:,}" for name, size in problem.shape(case).items())
            for case in problem.timing_cases(None, "gpu")
        ]
        click.echo(
            f"{place.number}  {place.difficulty}  {place.name}: {problem.summary}\n"
            f"    {c_declaration(problem.parameters)}\n"
            f"    {len(tested)} cases, of {min(tested):,} to {max(tested):,} elements; timed at {'; '.join(timed)}"
        )
    return status


@cli.command()
@click.argument("name", required=False)
@_CHALLENGE
@_CHALLENGES
@click.option("--cuda", "language", flag_value="cuda", help="A CUDA C++ file.")
@click.option("--triton", "language", flag_value="triton", help="A Triton file.")
@click.option("-o", "target", metavar="FILE", type=click.Path(path_type=Path), help="[default: NAME.cu or NAME.py]")
def init(name: str | None, challenge: Any, language: str | None, target: Path | None) -> None:
    """Write a file to start from.

    It builds and runs, and its answer is wrong until its kernel is written.
    """
    from harness.problems import find_problem
    from harness.starter import write_starter

    _need_challenge(challenge)
    if bool(name) == bool(challenge):
        raise UsageError("init takes the name of a problem, or --challenge DIR: one of the two")
    if language is None:
        raise UsageError("init takes --cuda or --triton: which language to start in")
    click.echo(write_starter(challenge or find_problem(name), language, target))


def _claim(flag: str, path: Path | None, *others: Path | None) -> None:
    """Until the end of the verb it alone writes to `path`, which is none of the other files."""
    from harness.document import claimed

    if path:
        click.get_current_context().with_resource(claimed(path, flag, [other for other in others if other]))


def _as_typed(problem: Any, case: Any) -> str:
    """A timed size as --sizes takes it."""
    return "x".join(map(str, problem.shape(case).values()))


def _need_challenge(challenge: Any) -> None:
    """Raises UsageError where a checkout is named, and none of the challenges in it."""
    if click.get_current_context().meta.get("challenges") and challenge is None:
        raise UsageError("--challenges ROOT says where challenges lie: add --challenge NAME, or a number, of one in it")


def _read(files: tuple[Path, ...], flags: dict[str, Any]) -> list[Any]:
    from harness.submission import read_submissions

    challenge = flags.get("challenge")
    _need_challenge(challenge)
    return [s for path in files for s in read_submissions(path, flags["problem"], challenge=challenge)]


def _read_many(files: tuple[Path, ...], folders: tuple[Path, ...], flags: dict[str, Any]) -> list[Any]:
    from harness.submission import find_files

    if not files and not folders:
        raise UsageError("there is nothing to judge: name FILE... or --folder DIR")
    return _read(tuple(find_files(files, folders)), flags)


def _allow_races(submissions: list[Any], backend: str) -> None:
    if backend != "cpu":
        raise UsageError("--races needs the CPU backend: add --backend cpu")
    if all(s.language != "cuda" for s in submissions):
        raise UsageError("--races looks at .cu files, and there is none among these")


def _find_sanitizer(chosen: Any) -> str:
    """The program that --sanitize runs calls under."""
    if chosen.name != "gpu":
        raise UsageError("--sanitize needs a GPU: leave it out on the CPU backend, which watches every access anyway")
    from harness.sanitizer import find_sanitizer

    return find_sanitizer()


def _judge(
    submissions: list[Any],
    *,
    problem: str | None,
    challenge: Any,
    backend: str,
    seed: int | None,
    timeout: float | None,
    strict: bool,
    case: str | None,
    races: bool,
    large: bool,
    json_path: Path | None,
    plan: Any = None,
    duel: bool = False,
    db: Path | None = None,
    shrink: bool = False,
    sanitize: bool = False,
    gpus: str | None = None,
    resume: bool = False,
    ray_address: str | None = None,
) -> None:
    """Judges, times if there is a plan, shows, and ends the process with the exit status."""
    from harness import board, document, kept, report, rows, run
    from harness.backend import choose, machine
    from harness.cluster import import_ray
    from harness.judge import Options, does_not_fit, select_cases
    from harness.pool import choose_gpus

    if ray_address:
        if shrink:
            raise UsageError("--shrink keeps its cases where it judges: leave out --ray, or shrink afterwards")
        if sanitize:
            raise UsageError("--sanitize runs compute-sanitizer of this machine: leave out --ray")
        import_ray()
    if gpus is not None:
        choose_gpus(gpus)
    chosen = choose(backend, needs_nvcc=any(s.language == "cuda" for s in submissions))
    if gpus is not None and chosen.name != "gpu":
        raise UsageError(f"--gpus needs the gpu backend, and this run takes cpu ({chosen.reason}): leave it out")
    if large and chosen.name != "gpu":
        raise UsageError("--large needs a GPU: leave it out on the CPU backend")
    if races:
        _allow_races(submissions, chosen.name)
    for flag, is_set in (("--anatomy", plan and plan.anatomy), ("--hot", plan and plan.hot)):
        if is_set and chosen.name != "gpu":
            raise UsageError(f"{flag} needs a GPU: leave it out on the CPU backend")
    is_usual = not (strict or races or large) and timeout is None
    if resume and json_path is None and not (db and is_usual):
        why = "the board does not say how strictly a file was judged" if db else "only submit has a board to go on with"
        raise UsageError(f"--resume needs --json PATH, the file to go on with: {why}")
    saved_head, saved = kept.read_kept(json_path) if resume and json_path else ({}, [])
    if seed is None:
        seed = saved_head.get("seed", secrets.randbelow(2**32))
    tool = _find_sanitizer(chosen) if sanitize else ""
    options = Options(seed, timeout, strict, case, large, races, tool)
    for asked in {id(submission.problem): submission.problem for submission in submissions}.values():
        select_cases(asked, options, chosen.name)  # an unknown --case is said before anything is built
        for timed in asked.timing_cases(plan.sizes, chosen.name) if plan else []:
            too_large = does_not_fit(asked, timed, chosen)
            if too_large:
                raise UsageError(f"--sizes {_as_typed(asked, timed)} {too_large}: name smaller sizes")
    description = machine(chosen)
    head = kept.head(description, options, plan)
    if saved_head:
        kept.check_same(head, saved_head, json_path)
    _claim("--json", json_path, db)
    entries = board.open_board(db) if db else None
    known = kept.take_over(submissions, saved, entries, description, from_board=is_usual) if resume else {}
    named = {os.fspath(submission.path) for submission in submissions}
    if unnamed := [row.file for row in saved if not row.label and row.file not in named]:
        raise UsageError(f"{json_path} is of {unnamed[0]}, too, and would lose it: name it, or another --json")
    keeper = kept.Keeper(json_path, head, entries, description)
    references = {row.problem: row for row in saved if row.label}
    for row, is_on_board in [*known.values(), *((row, True) for row in references.values())]:
        keeper.add(row, is_on_board=is_on_board)
    if resume:
        click.echo(f"{len(known)} of {len(submissions)} are judged already", err=True)
    click.echo(f"backend {chosen.name} ({chosen.reason}), seed {options.seed}", err=True)

    outcome = run.run(
        submissions,
        {place: row for place, (row, _) in known.items()},
        references,
        chosen,
        options,
        keeper,
        plan=plan,
        is_duel=duel,
        shrink=shrink,
        ray_address=ray_address,
    )
    if outcome.clocks:
        description["clocks"] = outcome.clocks
    try:
        report.print_rows(outcome.results, description)
        report.print_duels(outcome.duels)
        for warning in outcome.warnings:
            click.echo(f"warning: {warning}", err=True)
    finally:  # also if nobody reads the table
        if json_path:
            whole = report.run_document(outcome.results, description, duels=outcome.duels, options=head)
            document.write_whole(json_path, whole)
        keeper.drop_journal()
    if outcome.is_interrupted:
        finished = sum(not row.label for row in outcome.results)
        where = " and ".join(filter(None, [f"in {json_path}" if json_path else "", "on the board" if db else ""]))
        goes_on = ", --resume goes on" if "resume" in click.get_current_context().params else ""
        rest = f"they are {where}{goes_on}" if where else "nothing of this run was kept"
        print(f"interrupted: {finished} of {len(submissions)} files are judged; {rest}", file=sys.stderr)
        sys.exit(130)
    if keeper.board_failure or outcome.missing_tool:
        raise UsageError(keeper.board_failure or outcome.missing_tool)
    if outcome.no_duel:
        click.echo(f"error: no duel: {outcome.no_duel}", err=True)
        sys.exit(1)
    verdicts = {row.verdict for row in outcome.results if not row.label}
    if rows.INTERNAL_ERROR in verdicts:
        sys.exit(2)
    sys.exit(0 if verdicts == {rows.ACCEPTED} else 1)


def _sweep(
    submissions: list[Any],
    axis_flags: tuple[str | None, str | None, int | None],
    png: Path | None,
    resume: bool,
    *,
    problem: str | None,
    backend: str,
    seed: int | None,
    timeout: float | None,
    strict: bool,
    case: str | None,
    races: bool,
    large: bool,
    json_path: Path | None,
) -> None:
    """Judges, times point by point, shows, and ends the process with the exit status: that of the verdicts."""
    from harness import document, rows
    from harness import sweep as sweeping
    from harness.backend import choose, machine
    from harness.judge import Options, Session, judge_one, select_cases
    from harness.noise import Monitor
    from harness.problems import find_problem
    from harness.progress import Progress

    names = {submission.problem.name for submission in submissions} or {str(problem)}
    if len(names) > 1:
        raise UsageError(f"the files solve different problems ({', '.join(sorted(names))}): --problem NAME names one")
    asked = find_problem(names.pop())
    if not submissions:
        raise UsageError(f"no bundled solve is for the problem {problem!r}: name files")
    axis = sweeping.read_axis(asked, *axis_flags)
    chosen = choose(backend, needs_nvcc=any(s.language == "cuda" for s in submissions))
    sweeping.check_fits(asked, axis, chosen)
    if large and chosen.name != "gpu":
        raise UsageError("--large needs a GPU: leave it out on the CPU backend")
    if races:
        _allow_races(submissions, chosen.name)
    if resume and json_path is None:
        raise UsageError("--resume needs --json PATH: the file to go on with")
    saved = document.read_run(json_path) if resume else None
    if saved and seed is None:
        seed = sweeping.seed_of(saved, json_path)
    options = Options(secrets.randbelow(2**32) if seed is None else seed, timeout, strict, case, large, races)
    select_cases(asked, options, chosen.name)  # an unknown --case is said before anything is built
    contestants = sweeping.contestants(asked, submissions)
    description = machine(chosen)
    same = sweeping.identity(asked, axis, contestants, description, options)
    if saved:
        sweeping.check_same(saved, same, json_path)
    _claim("--json", json_path, png)
    _claim("--png", png)
    click.echo(f"backend {chosen.name} ({chosen.reason}), seed {options.seed}", err=True)

    def save(current: dict) -> None:
        if json_path:
            document.write_whole(json_path, current)

    monitor = Monitor() if chosen.name == "gpu" else None
    missing_tool = ""
    current = saved
    try:
        with Session(chosen, options, needs_torch=True) as session, Progress() as progress:
            if current is None:
                judged = [judge_one(submission, session, progress) for _, submission in contestants]
                missing_tool = next((one.missing_tool for one in judged if one.missing_tool), "")
                for (name, _), one in zip(contestants, judged, strict=True):
                    progress.finish(replace(one.row, file=name))
                current = sweeping.new_document(same, description, [one.row for one in judged], contestants)
            sweeping.run(current, axis, contestants, session, monitor, progress, save, description["date"])
    except KeyboardInterrupt:
        kept = f"what was measured is in {json_path}, --resume goes on" if json_path and current else ""
        print(f"interrupted: {kept or 'nothing of this run was kept'}", file=sys.stderr)
        sys.exit(130)
    for line in sweeping.lines(current):
        click.echo(line)
    for warning in monitor.warnings() if monitor else []:
        click.echo(f"warning: {warning}", err=True)
    if png:
        from harness.plots import draw_sweep

        draw_sweep(current, png)
    if missing_tool:
        raise UsageError(missing_tool)
    verdicts = {row["verdict"] for row in current["rows"] if not row["label"]}
    if rows.INTERNAL_ERROR in verdicts:
        sys.exit(2)
    sys.exit(0 if verdicts <= {rows.ACCEPTED} else 1)


def _cure(error: click.ClickException) -> str:
    """What to do about words that are no command line."""
    dashed = next((word for word in sys.argv[1:] if word.startswith("-") and Path(word).exists()), None)
    if isinstance(error, click.NoSuchOption) and dashed:
        return f"the file of this name is ./{dashed}"
    context = error.ctx if isinstance(error, click.UsageError) else None
    named = next((word for word in sys.argv[1:] if word.endswith((".cu", ".py"))), None)
    if context and context.parent is None and named:
        return f"python -m harness check {named} judges that file"
    verb = context.info_name if context and context.parent else ""
    return " ".join(filter(None, ["python -m harness", verb, "--help"]))


def _mend_streams() -> None:
    """Makes the standard streams what they should be: open, and able to show any name.

    A file that got the number of a closed one would hold what a compiler prints.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115 (open as long as the process)
    sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115
    codecs.register_error("harness", _as_bytes_or_escaped)
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError):  # replaced by something that is no text stream
            stream.reconfigure(errors="harness")


def _as_bytes_or_escaped(error: UnicodeError) -> tuple[str | bytes, int]:
    """A name that is no text is written as the bytes it is, a letter that the stream's encoding lacks by its number."""
    try:
        return codecs.lookup_error("surrogateescape")(error)
    except UnicodeError:
        return codecs.lookup_error("backslashreplace")(error)


def _why_not_shown() -> str:
    """Why standard output takes nothing any more, or ""; nothing is written to it from here on."""
    try:
        print(flush=True)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the interpreter flushes once more when it ends
        return error.strerror or str(error)
    return ""


class _CtrlC:
    """What Ctrl-C does: it raises KeyboardInterrupt, and whatever a library makes of that, it is remembered."""

    def __init__(self) -> None:
        self.was_pressed = False
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # as of a job in the background
            signal.signal(signal.SIGINT, self._press)

    def _press(self, *_: object) -> None:
        self.was_pressed = True
        raise KeyboardInterrupt


def main() -> None:
    """Runs the command line; errors of usage become one sentence on stderr and status 2."""
    ctrl_c = _CtrlC()
    try:
        _run()
    except KeyboardInterrupt:
        _end("interrupted: nothing of this run was kept", 130)
    except Exception:
        if ctrl_c.was_pressed:  # a module that was being imported says ImportError, say
            _end("interrupted: nothing of this run was kept", 130)
        raise


def _run() -> None:
    _mend_streams()
    try:
        os.getcwd()
    except FileNotFoundError:
        _end("error: the working directory has gone: change to one that is there", 2)
    try:
        cli.main(standalone_mode=False)
        sys.stdout.flush()
    except UsageError as error:
        _end(f"error: {error}", 2)
    except click.ClickException as error:
        _end(f"error: {' '.join(error.format_message().split())} ({_cure(error)})", 2)
    except click.Abort as error:
        if isinstance(error.__cause__, EOFError):
            raise error.__cause__ from None  # click takes the end of any file for a user's at a prompt
        raise KeyboardInterrupt from None
    except BrokenPipeError:
        _why_not_shown()
        sys.exit(1)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG and error.filename is not None:
            _end(f"error: the name {error.filename} is too long for a file: name another one", 2)
        if why := _why_not_shown():
            _end(f"error: standard output cannot be written ({why}): make room, or send it elsewhere", 2)
        raise


def _end(sentence: str, status: int) -> NoReturn:
    print(sentence, file=sys.stderr)
    sys.exit(status)
