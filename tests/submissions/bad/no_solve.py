# expect: compile-error
# kind: compile
# says: no function solve
def softmax(input, output, N):
    pass
