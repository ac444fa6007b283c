# kind: compile
# expect: compile-error
# says: called exit\(0\)
import sys

sys.exit(0)
