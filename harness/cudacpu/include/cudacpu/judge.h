/* What a judge uses to watch a call: plain C. A program that never asks for it works as well. */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sentences name a place in the code as " at @0xOFFSET", for addr2line, and a variable as "$0xOFFSET", both
 * in `module`; buffers of the judge are "byte B of buffer I". */
#define CUDACPU_SENTENCES 12
#define CUDACPU_SENTENCE 320

/* Lies in memory that the judge shares with the process, so that it can be read after that process died. */
typedef struct cudacpu_facts {
    uint32_t version;        /* 2 */
    uint32_t violation_kind; /* the first access outside exact bounds in this call: 0 none, 1 read, 2 write */
    int32_t violation_buffer; /* index given to set_buffer, -1 memory of cudaMalloc, -2 dynamic shared memory,
                                 -3 the __shared__ variable violation_name, -5 memory that was freed */
    uint32_t violation_size;  /* bytes of the access */
    int64_t violation_offset; /* from the payload's begin, may be negative */
    uint64_t violation_extent; /* payload bytes */
    uint32_t thread[3];        /* of the violation or the fault */
    uint32_t block[3];
    int32_t signal; /* caught just before the process died of it: SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT;
                       else 0 */
    uint32_t in_kernel; /* 1 if the violation or fault came from inside a kernel */
    uint64_t fault_address;
    int32_t fault_buffer; /* the buffer whose reserved range holds fault_address, else -1 */
    int32_t stopped;      /* 1 once SIGUSR2 has made the process say in `running` where it is */
    int64_t fault_offset; /* from that buffer's payload begin */
    uint64_t fault_extent;
    uint64_t live_bytes;      /* of cudaMalloc, not freed at the end of the call */
    int32_t last_error;       /* cudaPeekAtLastError() at the end of the call */
    uint32_t undefined_count; /* how often undefined behaviour was seen, and the first sentences about it */
    char undefined[CUDACPU_SENTENCES][CUDACPU_SENTENCE];
    char kernel[128];  /* of the violation or the fault */
    char where[256];   /* of the violation or the fault: "/path/of/module.so+0xoffset", for addr2line */
    char fatal[512];   /* why the layer itself ended the process, else "" */
    char running[320]; /* the kernel that runs, or where it was found at SIGUSR2, else "" */
    char module[256];  /* the library whose offsets the sentences name */
    char violation_name[128];
} cudacpu_facts;

typedef struct cudacpu_control {
    /* Facts go there from now on, and the signals named above are recorded before they end the process. */
    void (*attach)(cudacpu_facts* facts);

    /* Payload [begin, end) inside the reserved range [lo, hi). Accesses to the rest of that range are
     * violations. The payload of an output has been written by nobody: it is filled with one repeated word of
     * 8 bytes. */
    void (*set_buffer)(int index, uintptr_t lo, uintptr_t begin, uintptr_t end, uintptr_t hi, int is_output);
    void (*clear_buffers)(void);

    /* Before a call: resets the facts. Threads and blocks run in forward order with seed 0, backward with 1,
     * else in an order drawn from the seed. New device memory and a block's shared memory are filled with
     * poison_byte. `races`: look for data races, in a library whose accesses are instrumented. */
    void (*begin_call)(uint64_t seed, int poison_byte, int races);

    /* After a call: checks the guard bytes around live device memory, fills live_bytes and last_error, and
     * clears the last error. */
    void (*end_call)(void);
} cudacpu_control;

/* The first caller gets the control of this process, every later one null: a judge asks before it loads a
 * program that it does not trust. */
const cudacpu_control* cudacpu_take_control(void);

/* CUDA's words for a cudaError_t. */
const char* cudacpu_error_string(int error);

#ifdef __cplusplus
}
#endif
