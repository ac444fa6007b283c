// expect: compile-error
// kind: compile
// says: no function solve
extern "C" void solve(const float* input, float* output, int N);
