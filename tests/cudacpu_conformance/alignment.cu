// A misaligned access ends the grid; every later call says so. The only feature of its file, since nothing
// works after it.
#include "conformance.h"

__global__ void load(const float* in, float* out, int shift) {
    const float4 v = *reinterpret_cast<const float4*>(in + shift);
    out[threadIdx.x] = v.x + v.y + v.z + v.w;
}
FEATURE(misaligned_accesses) {
    Input<float> in({1, 2, 3, 4, 5, 6, 7, 8});
    Output<float> out(2);
    load<<<1, 2>>>(in, out, 4);
    out.expect_all(26);
    load<<<1, 2>>>(in, out, 1);
    EQUAL(cudaDeviceSynchronize(), cudaErrorMisalignedAddress);
    EQUAL(cudaGetLastError(), cudaErrorMisalignedAddress),
        EQUAL(cudaMemset(out, 0, 4), cudaErrorMisalignedAddress);
}
