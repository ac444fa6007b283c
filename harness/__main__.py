"""`python -m harness`."""

import sys

if not sys.flags.safe_path:
    # Python looks for modules in the working directory first. Submissions lie there, and one may be called json.py.
    sys.path.append(sys.path.pop(0))

from harness.cli import main

if __name__ == "__main__":
    main()
