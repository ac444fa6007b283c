// Meetings of a warp's lanes: who waits for whom, and what each lane takes away.
#include <algorithm>

#include "facts.h"
#include "scheduler.h"

namespace cudacpu {
namespace {
// The lane that a shuffle reads, as PTX's shfl.sync defines it. Outside the segment it is the lane itself.
uint32_t source_lane(const Thread& thread) {
    const uint32_t lane = thread.lane();
    const uint32_t segment = ~(thread.width - 1) & (kWarpLanes - 1);
    const uint32_t first = lane & segment, last = first | (~segment & (kWarpLanes - 1));
    const uint32_t operand = thread.operand & (kWarpLanes - 1);
    switch (thread.op) {
        case WarpOp::shuffle:
            return first | (operand & ~segment);
        case WarpOp::shuffle_up:
            return lane >= first + operand ? lane - operand : lane;
        case WarpOp::shuffle_down:
            return lane + operand <= last ? lane + operand : lane;
        default:
            return (lane ^ operand) <= last ? lane ^ operand : lane;
    }
}

uint32_t combine(WarpOp op, uint32_t a, uint32_t b) {
    switch (op) {
        case WarpOp::reduce_add:
            return a + b;
        case WarpOp::reduce_min_signed:
            return static_cast<uint32_t>(std::min(static_cast<int32_t>(a), static_cast<int32_t>(b)));
        case WarpOp::reduce_max_signed:
            return static_cast<uint32_t>(std::max(static_cast<int32_t>(a), static_cast<int32_t>(b)));
        case WarpOp::reduce_min_unsigned:
            return std::min(a, b);
        case WarpOp::reduce_max_unsigned:
            return std::max(a, b);
        case WarpOp::reduce_and:
            return a & b;
        case WarpOp::reduce_or:
            return a | b;
        default:
            return a ^ b;
    }
}

template <class Visit>
void each_lane(uint32_t lanes, Visit visit) {
    for (; lanes != 0; lanes &= lanes - 1) visit(static_cast<uint32_t>(__builtin_ctz(lanes)));
}
}  // namespace

const char* name_of(WarpOp op) {
    switch (op) {
        case WarpOp::sync:
            return "__syncwarp";
        case WarpOp::shuffle:
            return "__shfl_sync";
        case WarpOp::shuffle_up:
            return "__shfl_up_sync";
        case WarpOp::shuffle_down:
            return "__shfl_down_sync";
        case WarpOp::shuffle_xor:
            return "__shfl_xor_sync";
        case WarpOp::all:
            return "__all_sync";
        case WarpOp::any:
            return "__any_sync";
        case WarpOp::ballot:
            return "__ballot_sync";
        case WarpOp::match_any:
            return "__match_any_sync";
        case WarpOp::match_all:
            return "__match_all_sync";
        default:
            return "__reduce_sync";
    }
}

uint64_t Worker::warp_meet(WarpOp op, uint32_t mask, uint64_t value, uint32_t operand, uint32_t width,
                           const void* site) {
    Thread* thread = current;
    Warp& warp = warps_[thread->number / kWarpLanes];
    const uint32_t own = 1u << thread->lane();
    thread->op = op;
    thread->site = site;
    thread->mask = mask;
    thread->value = value;
    thread->operand = operand;
    thread->width = width == 0 || width > kWarpLanes ? kWarpLanes : width;
    if ((mask & own) == 0) {
        record_undefined(site, nullptr,
                         formatted("%s: lane %u of warp %u calls %s with mask 0x%08x, which leaves it out%s",
                                   running_block().c_str(), thread->lane(), thread->number / kWarpLanes,
                                   name_of(op), mask, place(before(site)).c_str()));
        answer(thread - thread->lane(), own);
        return thread->value;
    }
    size_t position = 0;
    while (position < warp.meetings.size() && warp.meetings[position].mask != mask) ++position;
    if (position == warp.meetings.size()) warp.meetings.push_back({mask, 0});
    warp.meetings[position].arrived |= own;
    if (complete(warp, warp.meetings[position])) {
        finish_meeting(warp, position);
    } else {
        park(Wait::warp);
    }
    return thread->value;
}

bool Worker::complete(const Warp& warp, const Meeting& meeting) {
    return (meeting.mask & warp.alive & ~meeting.arrived) == 0;
}

void Worker::finish_meeting(Warp& warp, size_t position) {
    const uint32_t arrived = warp.meetings[position].arrived;
    warp.meetings.erase(warp.meetings.begin() + static_cast<std::ptrdiff_t>(position));
    const uint32_t number = static_cast<uint32_t>(&warp - warps_.data());
    Thread* first = &threads_[number * kWarpLanes];
    if (clocks_ != nullptr) clocks_->meeting(number, arrived);
    const Thread& one = first[__builtin_ctz(arrived)];
    each_lane(arrived, [&](uint32_t lane) {
        if (!instrumented || first[lane].op == one.op) return;  // an optimiser merges calls, and their lines
        record_undefined(
            one.site, first[lane].site,
            formatted("%s: lanes of warp %u meet in different operations: lane %u in %s%s, lane %u in %s%s",
                      running_block().c_str(), number, one.lane(), name_of(one.op),
                      place(before(one.site)).c_str(), lane, name_of(first[lane].op),
                      place(before(first[lane].site)).c_str()));
    });
    answer(first, arrived);
    each_lane(arrived, [&](uint32_t lane) {
        if (&first[lane] != current) ready_.push(&first[lane]);
    });
}

// Replaces the value that each lane brought by its result.
void Worker::answer(Thread* first, uint32_t arrived) {
    uint64_t brought[kWarpLanes];
    uint32_t holds = 0;
    each_lane(arrived, [&](uint32_t lane) {
        brought[lane] = first[lane].value;
        if (brought[lane] != 0) holds |= 1u << lane;
    });
    each_lane(arrived, [&](uint32_t lane) {
        Thread& thread = first[lane];
        switch (thread.op) {
            case WarpOp::sync:
                break;
            case WarpOp::shuffle:
            case WarpOp::shuffle_up:
            case WarpOp::shuffle_down:
            case WarpOp::shuffle_xor: {
                const uint32_t source = source_lane(thread);
                if ((arrived >> source & 1) != 0) {
                    thread.value = brought[source];
                } else {
                    thread.value =
                        0;  // undefined in CUDA; what an H200 gives, for exited and for masked lanes
                    record_undefined(
                        thread.site, nullptr,
                        formatted(
                            "%s: lane %u of warp %u reads lane %u by %s (mask 0x%08x), which takes no part%s",
                            running_block().c_str(), lane, thread.number / kWarpLanes, source,
                            name_of(thread.op), thread.mask, place(before(thread.site)).c_str()));
                }
                break;
            }
            case WarpOp::all:
                thread.value = holds == arrived;
                break;
            case WarpOp::any:
                thread.value = holds != 0;
                break;
            case WarpOp::ballot:
                thread.value = holds;
                break;
            case WarpOp::match_any:
            case WarpOp::match_all: {
                uint32_t same = 0;
                each_lane(arrived, [&](uint32_t other) {
                    same |= uint32_t(brought[other] == brought[lane]) << other;
                });
                thread.value = thread.op == WarpOp::match_any || same == arrived ? same : 0;
                break;
            }
            default: {
                uint32_t result = static_cast<uint32_t>(brought[lane]);
                each_lane(arrived & ~(1u << lane), [&](uint32_t other) {
                    result = combine(thread.op, result, static_cast<uint32_t>(brought[other]));
                });
                thread.value = result;
            }
        }
    });
}

// Lanes that ask which lanes are active wait until nothing else in the block can run: all that can reach the
// same place have then reached it.
uint32_t Worker::active_mask(const void* site) {
    Thread* thread = current;
    thread->site = site;
    ++asking_mask_;
    park(Wait::active_mask);
    return static_cast<uint32_t>(thread->value);
}

void Worker::in_step(unsigned number, const void* site) {
    const uint32_t lanes = active_mask(reinterpret_cast<const void*>(uintptr_t(number)));
    if (step_recorded_ || (lanes & (lanes - 1)) == 0) return;
    step_recorded_ = true;  // one place of a kernel is enough
    record_undefined(site, nullptr,
                     formatted("%s: lanes of a warp count on running in step, without __syncwarp%s",
                               running_block().c_str(), place(before(site)).c_str()));
}

bool Worker::release_active_mask() {
    if (asking_mask_ == 0) return false;
    uint32_t number = 0;
    while (threads_[number].wait != Wait::active_mask) ++number;
    const void* site = threads_[number].site;
    Thread* first = &threads_[number / kWarpLanes * kWarpLanes];
    const uint32_t lanes = std::min(kWarpLanes, count_ - first->number);
    uint32_t mask = 0;
    for (uint32_t lane = 0; lane < lanes; ++lane) {
        if (first[lane].wait == Wait::active_mask && first[lane].site == site) mask |= 1u << lane;
    }
    each_lane(mask, [&](uint32_t lane) {
        first[lane].value = mask;
        first[lane].wait = Wait::nothing;
        ready_.push(&first[lane]);
        --asking_mask_;
    });
    return true;
}
}  // namespace cudacpu
