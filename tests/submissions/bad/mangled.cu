// kind: compile
// expect: compile-error
// says: mangled: add extern "C"
// solve is there, but C++ has mangled its name.
void solve(const float* input, float* output, int N) {}
