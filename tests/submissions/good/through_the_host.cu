// expect: accepted
// kind: good
// All the work on the host: a copy there, the standard library, a copy back.
#include <algorithm>
#include <cmath>
#include <vector>
extern "C" void solve(const float* input, float* output, int N) {
    std::vector<float> x(N);
    cudaMemcpy(x.data(), input, N * sizeof(float), cudaMemcpyDeviceToHost);
    const double m = *std::max_element(x.begin(), x.end());
    double sum = 0;
    for (float value : x) sum += std::exp(value - m);
    for (float& value : x) value = std::exp(value - m) / sum;
    cudaMemcpy(output, x.data(), N * sizeof(float), cudaMemcpyHostToDevice);
}
