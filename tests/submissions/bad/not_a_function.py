# expect: compile-error
# kind: compile
# says: no function solve
solve = "softmax"
