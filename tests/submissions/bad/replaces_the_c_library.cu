// expect: wrong-answer
// kind: patches
// says: output not written
// flags: --case N=1025/uniform
// Its own memcmp, write and exit: only its own code sees them.
extern "C" int memcmp(const void*, const void*, unsigned long) { return 0; }
extern "C" long write(int, const void*, unsigned long size) { return long(size); }
extern "C" void exit(int) {
    for (;;) {
    }
}
extern "C" void solve(const float* input, float* output, int N) {}
