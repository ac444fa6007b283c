"""Judges every challenge of a checkout with its own reference, and its cases with mutants: a table.

    python tests/challenges_report.py CHECKOUT [NAME or NUMBER ...]

`accepted` is the verdict on a PyTorch solve that calls the reference, on the CPU backend; `caught` are the kinds of
mutants (see harness/selftest.py) that fail in a case at least, of those that differ from the right answer in one;
`weak` names the others, with a * where the rule that knows the size of the answer sees them.
"""

import sys
import time
from collections import Counter
from pathlib import Path

from harness import rows
from harness.backend import Backend
from harness.challenge import ChallengeHost, find_all, find_directory, load_challenge
from harness.errors import UsageError
from harness.judge import Options, Session, judge
from harness.selftest import self_test
from harness.submission import Submission

SEED = 1


def report(directory, session, host):
    """The cells of one challenge's line: loaded, cases, verdict, flags, caught, weak."""
    try:
        problem = load_challenge(directory, host)
        row = judge(Submission(problem.reference_solve, problem), session, lambda total: lambda: None)
        outcomes = self_test(problem, SEED)
    except UsageError as error:
        return ["no", "", str(error), "", "", ""]
    accepted = sum(case.verdict == rows.ACCEPTED for case in row.cases)
    weak = [f"{o.mutant}{'*' if o.flagged else ''}" for o in outcomes if not o.caught]
    verdict = row.verdict if row.verdict == rows.ACCEPTED else f"{row.verdict}: {row.message}"
    caught = f"{len(outcomes) - len(weak)}/{len(outcomes)}"
    flags = ",".join(row.flags)
    return ["yes", f"{accepted}/{len(row.cases)}", verdict, flags, caught, ", ".join(weak)]


def main():
    root, *wanted = sys.argv[1:]
    chosen = {find_directory(name, Path(root)) for name in wanted}
    places = [place for place in find_all(Path(root)) if not chosen or place.directory in chosen]
    counts, started = Counter(), time.monotonic()
    print("challenge | difficulty | loaded | cases | verdict | flags | caught | weak | s")
    with Session(Backend("cpu", "asked for", None), Options(SEED), needs_torch=True) as session:
        host = ChallengeHost()
        for place in places:
            begun = time.monotonic()
            cells = report(place.directory, session, host)
            seconds = f"{time.monotonic() - begun:.1f}"
            print(" | ".join([place.directory.name, place.difficulty, *cells, seconds]), flush=True)
            counts["loaded"] += cells[0] == "yes"
            counts["accepted"] += cells[2] == rows.ACCEPTED
            counts["flagged"] += bool(cells[3])
            counts["all mutants caught"] += bool(cells[4]) and not cells[5]
            counts["weak"] += bool(cells[5])
        host.close()
    summary = ", ".join(f"{count} {name}" for name, count in counts.items())
    print(f"{len(places)} challenges: {summary}; {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
