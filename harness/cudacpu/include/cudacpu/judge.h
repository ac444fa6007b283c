/* What a judge uses to watch a call: plain C, called through dlsym. A program that never calls these works as
 * well. */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Lies in memory that the judge shares with the process, so that it can be read after that process died. */
typedef struct cudacpu_facts {
    uint32_t version;        /* 1 */
    uint32_t violation_kind; /* the first access outside exact bounds in this call: 0 none, 1 read, 2 write */
    int32_t violation_buffer; /* index given to cudacpu_set_buffer, -1 memory of cudaMalloc, -2 dynamic shared
                                 memory */
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
    int32_t pad;
    int64_t fault_offset; /* from that buffer's payload begin */
    uint64_t fault_extent;
    uint64_t live_bytes; /* of cudaMalloc, not freed at the end of the call */
    int32_t last_error;  /* cudaPeekAtLastError() at the end of the call */
    uint32_t undefined_count;
    char kernel[128];    /* of the violation or the fault */
    char where[256];     /* of the violation or the fault: "/path/of/module.so+0xoffset", for addr2line */
    char undefined[512]; /* the first undefined behaviour, a sentence */
    char fatal[512];     /* why the layer itself ended the process, else "" */
} cudacpu_facts;

/* Facts go there from now on, and the signals named above are recorded before they end the process. */
void cudacpu_attach(cudacpu_facts* facts);

/* Payload [begin, end) inside the reserved range [lo, hi). Accesses to the rest of that range are violations.
 */
void cudacpu_set_buffer(int index, uintptr_t lo, uintptr_t begin, uintptr_t end, uintptr_t hi);
void cudacpu_clear_buffers(void);

/* Before a call: resets the facts. Threads and blocks run in forward order with seed 0, backward with 1, else
   in an order drawn from the seed. New device memory and a block's shared memory are filled with poison_byte.
 */
void cudacpu_begin_call(uint64_t seed, int poison_byte);

/* After a call: checks the guard bytes around live device memory, fills live_bytes and last_error, and clears
 * the last error. */
void cudacpu_end_call(void);

/* CUDA's words for a cudaError_t. */
const char* cudacpu_error_string(int error);

#ifdef __cplusplus
}
#endif
