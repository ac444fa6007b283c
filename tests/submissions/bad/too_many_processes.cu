// expect: runtime-error
// kind: processes
// says: more than \d+ processes
// flags: --case N=1025/uniform
// Starts processes without end, each in a group of its own.
#include <spawn.h>
extern "C" void solve(const float* input, float* output, int N) {
    char name[] = "sleep", seconds[] = "1000";
    char* arguments[] = {name, seconds, nullptr};
    char* environment[] = {nullptr};
    posix_spawnattr_t own_group;
    posix_spawnattr_init(&own_group);
    posix_spawnattr_setflags(&own_group, POSIX_SPAWN_SETPGROUP);
    for (pid_t child;;) posix_spawn(&child, "/bin/sleep", nullptr, &own_group, arguments, environment);
}
