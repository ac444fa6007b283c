// A header beside the file, with a kernel of its own.
#pragma once

template <int First>
__global__ void from_header(int* out) {
    __shared__ int shared[2];
    shared[threadIdx.x] = First + threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = shared[threadIdx.x];
}
static void part_of_language(int* out) { from_header<77><<<1, 2>>>(out); }
