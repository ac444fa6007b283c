# kind: compile
# expect: compile-error
# says: no function solve
def softmax(input, output, N):
    pass
