// A launch: checks its configuration as CUDA does, then spreads the blocks over a pool of OS threads.
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>

#include "api_state.h"
#include "facts.h"
#include "scheduler.h"

namespace cudacpu {
namespace {
unsigned count_cores() {
    if (const char* wanted = getenv("CUDACPU_THREADS"))
        return static_cast<unsigned>(std::max(1, atoi(wanted)));
    cpu_set_t cores;
    if (sched_getaffinity(0, sizeof cores, &cores) != 0) return 1;
    return static_cast<unsigned>(std::max(1, CPU_COUNT(&cores)));
}

// OS threads that run blocks, for a signal handler to reach: the helpers, and who launches.
constexpr size_t kMostAsked = 256;
std::atomic<pthread_t> asked[kMostAsked], launching;

class Pool {
  public:
    // The caller works, too. A helper that wakes up when all is handed out is not waited for.
    void run(Job* job) {
        std::unique_lock<std::mutex> one_launch(launch_, std::defer_lock);
        // Blocks that wait for each other need an OS thread each.
        if (job->together != 0) {
            one_launch.lock();
        } else if (!one_launch.try_lock()) {
            return worker()->run(job);
        }
        const uint64_t wanted =
            (job->together != 0 ? job->together : std::min<uint64_t>(cores_, job->blocks)) - 1;
        uint64_t helpers;
        {
            std::lock_guard<std::mutex> lock(mutex_);
            grow(wanted);
            helpers = std::min(wanted, helpers_);
            if (job->together != 0 && helpers < wanted) {
                fatal("no more OS threads for the blocks of kernel '%s'", job->name);
            }
            job_ = job;
            vacancies_ = wanted;
            resident_ = 1 + helpers;
            most_resident_ = job->together != 0
                                 ? job->together
                                 : std::min(job->blocks, most_resident_blocks(job->block, job->shared_bytes));
            ++launches_;
            if (watcher_sleeps_) watch_.notify_one();
        }
        for (uint64_t i = 0; i < helpers; ++i) wake_.notify_one();
        worker()->run(job);
        std::unique_lock<std::mutex> lock(mutex_);
        job_ = nullptr;
        done_.wait(lock, [&] { return helping_ == 0; });
    }

  private:
    // Both hold the mutex. Fewer helpers than wanted are no error here.
    void grow(uint64_t wanted) {
        if (!watched_) watched_ = start(&Pool::watch);
        while (helpers_ < wanted && start(&Pool::help)) ++helpers_;
    }
    bool start(void (Pool::*what)()) {
        // These threads outlive the launch, so their code must not be unloaded.
        static const bool kept = [] {
            Dl_info self;
            return dladdr(reinterpret_cast<void*>(&launch), &self) != 0 &&
                   dlopen(self.dli_fname, RTLD_NOW | RTLD_NODELETE | RTLD_NOLOAD) != nullptr;
        }();
        (void)kept;
        // Signals sent to the process are for the program's own threads.
        sigset_t all, old;
        sigfillset(&all);
        for (int fault : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, kQuestion}) sigdelset(&all, fault);
        pthread_sigmask(SIG_SETMASK, &all, &old);
        bool started = true;
        try {
            std::thread thread([this, what] { (this->*what)(); });
            if (what == &Pool::help && helpers_ < kMostAsked) asked[helpers_] = thread.native_handle();
            thread.detach();
        } catch (const std::system_error&) {
            started = false;  // the process may have no more threads; those there are do the work
        }
        pthread_sigmask(SIG_SETMASK, &old, nullptr);
        return started;
    }

    // Blocks may spin until a block that has not started does something. When no block ends for a while, more
    // of them get OS threads, up to as many as the GPU would hold at once.
    void watch() {
        constexpr auto kPatience = std::chrono::milliseconds(50);
        constexpr int kIdleRounds = 20;
        std::unique_lock<std::mutex> lock(mutex_);
        uint64_t launch_seen = 0, finished_seen = 0;
        for (int idle = 0;; ++idle) {
            if (idle == kIdleRounds) {
                watcher_sleeps_ = true;
                watch_.wait(lock, [&] { return job_ != nullptr; });
                watcher_sleeps_ = false;
                idle = 0;
            }
            watch_.wait_for(lock, kPatience);
            if (job_ == nullptr) continue;
            idle = 0;
            const uint64_t finished = job_->finished;
            const bool stuck = launches_ == launch_seen && finished == finished_seen;
            if (stuck && job_->next < job_->blocks && resident_ < most_resident_) {
                const uint64_t wanted = std::min(2 * resident_, most_resident_);
                grow(wanted - 1);
                const uint64_t now = std::max(resident_, std::min(wanted, helpers_ + 1));
                vacancies_ += now - resident_;
                for (; resident_ < now; ++resident_) wake_.notify_one();
            }
            launch_seen = launches_;
            finished_seen = finished;
        }
    }

    void help() {
        std::unique_lock<std::mutex> lock(mutex_);
        for (;;) {
            wake_.wait(lock, [&] {
                return job_ != nullptr && vacancies_ > 0 &&
                       job_->next.load(std::memory_order_relaxed) < job_->blocks;
            });
            Job* job = job_;
            --vacancies_;
            ++helping_;
            lock.unlock();
            use_alternate_stack();
            worker()->run(job);
            lock.lock();
            if (--helping_ == 0) done_.notify_one();
        }
    }

    const unsigned cores_ = count_cores();
    uint64_t helpers_ = 0;
    std::mutex launch_;
    std::mutex mutex_;
    std::condition_variable wake_, done_, watch_;
    bool watched_ = false, watcher_sleeps_ = false;
    uint64_t launches_ = 0, resident_ = 0, most_resident_ = 0;  // blocks of this launch that run at once
    Job* job_ = nullptr;
    uint64_t vacancies_ = 0;  // helpers that the launch still has room for
    int helping_ = 0;
};

Pool* pool = nullptr;
std::mutex pool_mutex;

// A forked child has none of its parent's helpers, and shares the memory of its fibers with the parent.
void forget_in_child() {
    pool = nullptr;
    this_worker = nullptr;
    for (auto& helper : asked) helper = pthread_t();
}

Pool* the_pool() {
    std::lock_guard<std::mutex> lock(pool_mutex);
    // Never deleted: its helpers wait in it until the process ends.
    if (pool == nullptr) pool = new Pool;
    return pool;
}

cudaError_t check(const Config& config, const void* entry) {
    const dim3 grid = config.grid, block = config.block;
    // As CUDA 13 has it; earlier ones call these an invalid configuration.
    if (grid.x == 0 || grid.y == 0 || grid.z == 0) return cudaErrorInvalidValue;
    if (block.x == 0 || block.y == 0 || block.z == 0) return cudaErrorInvalidValue;
    if (grid.x > 0x7fffffffu || grid.y > 65535 || grid.z > 65535) return cudaErrorInvalidValue;
    if (block.x > 1024 || block.y > 1024 || block.z > 64) return cudaErrorInvalidValue;
    if (block.x * block.y * block.z > kMostThreads) return cudaErrorInvalidValue;
    if (config.shared_bytes > shared_limit(entry)) return cudaErrorInvalidValue;
    if (!stream_exists(config.stream)) return cudaErrorInvalidResourceHandle;
    const dim3 cluster = config.cluster;
    const uint64_t cluster_size = static_cast<uint64_t>(cluster.x) * cluster.y * cluster.z;
    if (cluster_size == 0 || cluster_size > cluster_limit(entry)) return cudaErrorInvalidClusterSize;
    if (grid.x % cluster.x != 0 || grid.y % cluster.y != 0 || grid.z % cluster.z != 0) {
        return cudaErrorInvalidClusterSize;
    }
    if (config.cooperative) {
        if (cluster_size > 1) fatal("cudacpu: unsupported: a cooperative launch of clusters");
        const uint64_t blocks = static_cast<uint64_t>(grid.x) * grid.y * grid.z;
        if (blocks > most_resident_blocks(block, config.shared_bytes)) {
            return cudaErrorCooperativeLaunchTooLarge;
        }
    }
    return cudaSuccess;
}

std::string bare(const char* name) {
    std::string text = name;
    if (text.size() > 2 && text.front() == '(' && text.back() == ')') text = text.substr(1, text.size() - 2);
    return text;
}
}  // namespace

void ask_os_threads() {
    if (const pthread_t thread = launching) pthread_kill(thread, kQuestion);
    for (const auto& helper : asked) {
        if (const pthread_t thread = helper) pthread_kill(thread, kQuestion);
    }
}

cudaError_t launch(const char* name, const void* entry, const Config& config, void (*thread)(void*),
                   void* context) {
    if (this_worker != nullptr && this_worker->current != nullptr) {
        fatal("cudacpu: unsupported: a launch from inside kernel '%s'", this_worker->job->name);
    }
    if (cudaError_t error = sticky_error()) return remember(error);
    if (cudaError_t error = check(config, entry)) return remember(error);
    static const int at_fork = pthread_atfork(nullptr, nullptr, forget_in_child);
    (void)at_fork;
    const std::string kernel = bare(name);
    Job job;
    job.name = kernel.c_str();
    job.thread = thread;
    job.context = context;
    job.grid = config.grid;
    job.block = config.block;
    job.shared_bytes = config.shared_bytes;
    job.seed = orders().seed;
    job.blocks = static_cast<uint64_t>(config.grid.x) * config.grid.y * config.grid.z;
    job.cooperative = config.cooperative;
    job.cluster = config.cluster;
    job.together = config.cooperative   ? job.blocks
                   : job.is_clustered() ? config.cluster.x * config.cluster.y * config.cluster.z
                                        : 0;
    if (instrumented && races_on()) begin_launch_clocks();
    record_running(job.name);
    launching = pthread_self();
    if (job.blocks == 1) {
        worker()->run(&job);
    } else {
        the_pool()->run(&job);
    }
    launching = pthread_t();
    record_running(nullptr);
    return cudaSuccess;  // an error of the kernel itself shows at the next synchronisation, as on a GPU
}

// ---- kernels whose type was lost --------------------------------------------------------------------------

namespace {
struct Remembered {
    const char* name;
    Caller caller;
};
std::mutex remembered_mutex;
std::map<const void*, Remembered> remembered;
}  // namespace

const void* remember_kernel(const char* name, const void* kernel, Caller caller) {
    std::lock_guard<std::mutex> lock(remembered_mutex);
    remembered[kernel] = {name, caller};
    return kernel;
}

cudaError_t launch_remembered(const void* kernel, const Config& config, void** arguments) {
    Remembered found;
    {
        std::lock_guard<std::mutex> lock(remembered_mutex);
        const auto entry = remembered.find(kernel);
        if (entry == remembered.end()) return remember(cudaErrorInvalidDeviceFunction);
        found = entry->second;
    }
    auto thread = [&] { found.caller(kernel, arguments); };
    return launch(
        found.name, kernel, config, [](void* context) { (*static_cast<decltype(thread)*>(context))(); },
        &thread);
}

Config config_of(const cudaLaunchConfig_t& launch) {
    Config config = {launch.gridDim, launch.blockDim, launch.dynamicSmemBytes, launch.stream, false, {}};
    for (unsigned i = 0; i < launch.numAttrs; ++i) {
        const cudaLaunchAttribute& attribute = launch.attrs[i];
        if (attribute.id == cudaLaunchAttributeCooperative)
            config.cooperative = attribute.val.cooperative != 0;
        const auto& cluster = attribute.val.clusterDim;
        if (attribute.id == cudaLaunchAttributeClusterDimension)
            config.cluster = {cluster.x, cluster.y, cluster.z};
    }
    return config;
}

cudaError_t most_clusters(int* count, const cudaLaunchConfig_t* launch) {
    if (count == nullptr || launch == nullptr) return remember(cudaErrorInvalidValue);
    const Config config = config_of(*launch);
    const uint64_t size = static_cast<uint64_t>(config.cluster.x) * config.cluster.y * config.cluster.z;
    if (size == 0) return remember(cudaErrorInvalidClusterSize);
    *count = static_cast<int>(most_resident_blocks(config.block, config.shared_bytes) / size);
    return cudaSuccess;
}
cudaError_t largest_cluster(int* size, const void* kernel) {
    if (size == nullptr) return remember(cudaErrorInvalidValue);
    *size = static_cast<int>(cluster_limit(kernel));
    return cudaSuccess;
}
}  // namespace cudacpu
