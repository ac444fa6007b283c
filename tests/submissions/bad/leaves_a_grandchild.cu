// expect: wrong-answer
// kind: descriptors
// says: output not written
// flags: --case N=1025/uniform
// Leaves a process behind whose parent has gone, in a session of its own.
#include <sys/wait.h>
#include <unistd.h>
extern "C" void solve(const float* input, float* output, int N) {
    static bool done = false;
    if (done) return;
    done = true;
    pid_t child = fork();
    if (child == 0) {
        setsid();
        if (fork() == 0) {
            for (;;) pause();
        }
        _exit(0);
    }
    waitpid(child, nullptr, 0);
}
