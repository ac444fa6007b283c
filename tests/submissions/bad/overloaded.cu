// expect: compile-error
// kind: compile
// says: solve is not one plain function
extern "C" void solve(const float* input, float* output, int N) {}
void solve(const double* input, double* output, int N) {}
