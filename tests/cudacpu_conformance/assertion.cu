// A failed assertion ends the grid; every later call says so. The only feature of its file, since nothing
// works after it.
#include <assert.h>

#include "conformance.h"

__global__ void positive(const int* in, int* out) {
    __syncthreads();
    assert(in[threadIdx.x] > 0);
    __syncthreads();
    out[threadIdx.x] = 1;
}
FEATURE(assertions_in_kernels) {
    Input<int> in({1, 2, 0, 4});
    int *out, *more;
    cudaMalloc(&out, 16);
    positive<<<1, 2>>>(in, out);
    EQUAL(cudaDeviceSynchronize(), cudaSuccess);
    positive<<<2, 4>>>(in, out);
    EQUAL(cudaDeviceSynchronize(), cudaErrorAssert);
    EQUAL(cudaPeekAtLastError(), cudaErrorAssert), EQUAL(cudaGetLastError(), cudaErrorAssert);
    EQUAL(cudaGetLastError(), cudaSuccess);  // told once, and again by every further call
    EQUAL(cudaMalloc(&more, 16), cudaErrorAssert), EQUAL(cudaMemset(out, 0, 4), cudaErrorAssert);
    EQUAL(cudaGetLastError(), cudaErrorAssert), EQUAL(cudaGetLastError(), cudaSuccess);
}
