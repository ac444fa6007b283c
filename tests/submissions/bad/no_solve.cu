// expect: compile-error
// kind: compile
// says: no function solve
extern "C" void softmax(const float* input, float* output, int N) {}
