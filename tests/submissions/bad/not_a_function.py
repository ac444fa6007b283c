# kind: compile
# expect: compile-error
# says: no function solve
solve = "softmax"
