# expect: compile-error
# kind: compile
# says: line 4: RuntimeError: no GPU of mine
raise RuntimeError("no GPU of mine")
