"""`python -m harness`."""

import signal
import sys

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # until `main` answers Ctrl-C, it ends the process without a word

if not sys.flags.safe_path:
    # Python looks for modules in the working directory first. Submissions lie there, and one may be called json.py.
    sys.path.append(sys.path.pop(0))

from harness.cli import main

if __name__ == "__main__":
    main()
