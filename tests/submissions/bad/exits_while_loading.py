# expect: compile-error
# kind: compile
# says: called exit\(0\)
import sys

sys.exit(0)
