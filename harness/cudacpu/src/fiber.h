// Fibers: stacks of their own, and the switch from one to another on the same OS thread.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <memory>
#include <vector>

#pragma GCC visibility push(hidden)
namespace cudacpu {
struct Fiber {
    void* context = nullptr;  // of a fiber that does not run: its stack pointer (where there is assembly)
    char* low =
        nullptr;  // lowest byte of the stack, above its guard page; null for the OS thread's own stack
};

void switch_fiber(Fiber* from, Fiber* to);
bool overflowed(const Fiber* fiber);
bool on_stack(const Fiber* fiber, uintptr_t address);
bool in_guard(const Fiber* fiber, uintptr_t address);

// Stacks are made when first needed and live as long as the OS thread that uses them.
class FiberPool {
  public:
    explicit FiberPool(void (*entry)()) : entry_(entry) {}
    ~FiberPool();
    FiberPool(const FiberPool&) = delete;
    FiberPool& operator=(const FiberPool&) = delete;

    Fiber* take() {
        if (free_.empty()) grow();
        Fiber* fiber = free_.back();
        free_.pop_back();
        return fiber;
    }
    void give_back(Fiber* fiber) { free_.push_back(fiber); }
    void reset();  // all are free again, whatever they were doing

  private:
    void grow();
    void prepare_slab(size_t slab);

    void (*entry_)();  // never returns
    std::vector<Fiber*> free_;
    std::vector<std::unique_ptr<Fiber[]>> fibers_;
    std::vector<void*> slabs_;
};
}  // namespace cudacpu
#pragma GCC visibility pop
