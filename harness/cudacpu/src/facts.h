// What the runtime tells a judge, and the ends of the process that it brings about itself.
#pragma once

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#include <string>

#include "cudacpu/judge.h"
#include "cudacpu/types.h"

// Nothing that lies in these headers can be reached from a program, which could silence what watches it.
#pragma GCC visibility push(hidden)
namespace cudacpu {
// Null while nobody watches.
cudacpu_facts* facts();

enum class Access : uint32_t { read = 1, write = 2 };

// Where an access went wrong.
struct Violation {
    Access access;
    int buffer;
    int64_t offset;
    uint64_t size, extent;
    const char* name;  // of a variable, or null
};
// Keeps the first of a call. `code` is an address in the code that did it, or null.
void record_violation(const Violation& violation, const void* code);

// Counts, and keeps the sentence if there is room and no sentence with the same two places has been kept.
void record_undefined(const void* code, const void* other, const std::string& sentence);

// printf into a string.
std::string formatted(const char* format, ...) __attribute__((format(printf, 1, 2)));

// An address inside a call, from its return address, at which the next line may begin.
inline const void* before(const void* return_address) { return static_cast<const char*>(return_address) - 1; }

// " at @0x1234" for an address in the program's code, "" elsewhere.
std::string place(const void* code);
// " $0x1234" for an address in the program's data.
std::string variable(const void* address);
// "(1, 0, 0)"
std::string triple(uint3 index);
// "kernel 'k', block (0, 0, 0)" of the running block.
std::string running_block();

// An error that ends the process: prints it, records it, aborts.
[[noreturn]] void fatal(const char* format, ...) __attribute__((format(printf, 1, 2)));

// Fills thread, block, kernel, in_kernel from the running thread and `where` from the code's address.
void record_place(cudacpu_facts* facts, const void* code);

// The kernel that runs, null: none.
void record_running(const char* kernel);

void install_fault_handlers();
// The signal by which a judge asks where the process is, and what hands it to every OS thread that may know.
constexpr int kQuestion = SIGUSR2;
void ask_os_threads();
// Faults on this OS thread are handled on a stack of their own from now on.
void use_alternate_stack();

// What a call's judge asked for; the defaults hold for a program without a judge.
struct Orders {
    uint64_t seed = 0;
    int poison = -1;  // -1: leave memory as it is
};
Orders& orders();
}  // namespace cudacpu
#pragma GCC visibility pop
