// expect: time-limit-exceeded
// kind: endless
// flags: --timeout 1
// Waits for what only itself could do.
#include <condition_variable>
#include <mutex>
extern "C" void solve(const float* input, float* output, int N) {
    std::mutex mutex;
    std::condition_variable condition;
    std::unique_lock<std::mutex> lock(mutex);
    condition.wait(lock, [] { return false; });
}
