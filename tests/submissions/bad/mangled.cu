// expect: compile-error
// kind: compile
// says: mangled: add extern "C"
// solve is there, but C++ has mangled its name.
void solve(const float* input, float* output, int N) {}
