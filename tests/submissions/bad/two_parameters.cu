// expect: compile-error
// kind: compile
// says: another number of parameters
// N is missing.
extern "C" void solve(const float* input, float* output) {}
