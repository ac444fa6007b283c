// Thrust: on the CPU in CCCL's own sequential back end, where its headers are.
#include <thrust/device_ptr.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/functional.h>
#include <thrust/host_vector.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#include <thrust/transform_reduce.h>

#include "conformance.h"

struct Square {
    __host__ __device__ float operator()(float x) const { return x * x; }
};
FEATURE(thrust_algorithms) {
    Input<float> in({3, 1, 2});
    thrust::device_ptr<float> pointer(in.data);
    thrust::sort(pointer, pointer + 3);
    thrust::transform(thrust::device, pointer, pointer + 3, pointer, Square());
    float values[3];
    cudaMemcpy(values, in, sizeof values, cudaMemcpyDeviceToHost);
    EQUAL(values[0] == 1 && values[1] == 4 && values[2] == 9, true);
    EQUAL(thrust::reduce(thrust::cuda::par.on(nullptr), in.data, in.data + 3, 0.5f), 14.5f);
    thrust::device_vector<int> vector(4, 2);
    thrust::inclusive_scan(vector.begin(), vector.end(), vector.begin());
    const thrust::host_vector<int> host = vector;
    EQUAL(host[3], 8);
}
FEATURE(thrust_long_sums_keep_their_digits) {
    // 0.1f is 0.100000001490116: added one after the other in float, 2^20 of them are off by a thousandth
    const thrust::device_vector<float> tenths(1 << 20, 0.1f);
    const float sum = thrust::reduce(tenths.begin(), tenths.end());
    EQUAL(fabsf(sum - 104857.6f) < 0.1f, true);
    const float squares = thrust::transform_reduce(thrust::device, tenths.begin(), tenths.end(), Square(),
                                                   0.0f, thrust::plus<float>());
    EQUAL(fabsf(squares - 10485.76f) < 0.01f, true);
}
__global__ void through_a_pointer(const int* in, int* out) { out[threadIdx.x] = in[threadIdx.x] + 1; }
FEATURE(thrust_vectors_in_kernels) {
    thrust::host_vector<int> host(3, 6);
    const thrust::device_vector<int> in = host;
    Output<int> out(3);
    through_a_pointer<<<1, 3>>>(thrust::raw_pointer_cast(in.data()), out);
    out.expect_all(7);
}
