// expect: compile-error
// kind: compile
// says: no_such_header.h
#include "no_such_header.h"
extern "C" void solve(const float* input, float* output, int N) {}
