// expect: runtime-error
// kind: files
// says: SIGABRT
// flags: --case N=1025/uniform
// A log that grows and grows (here it begins far out, so that it takes no room).
#include <cstdlib>
#include <fstream>
#include <string>
extern "C" void solve(const float* input, float* output, int N) {
    const char* directory = getenv("TMPDIR");
    std::ofstream log(std::string(directory ? directory : "/tmp") + "/log");
    log.exceptions(std::ios::failbit | std::ios::badbit);
    log.seekp(1ll << 40);
    log << "it goes on" << std::flush;
}
