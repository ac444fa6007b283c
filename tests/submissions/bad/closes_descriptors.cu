// expect: runtime-error
// kind: descriptors
// says: private pipe
// flags: --case N=1025/uniform
#include <unistd.h>
extern "C" void solve(const float* input, float* output, int N) {
    for (int descriptor = 3; descriptor < 1024; ++descriptor) close(descriptor);
}
