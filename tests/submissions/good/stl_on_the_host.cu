// expect: accepted
// kind: good
// Copies to the host, works there with the standard library, copies back: slow, and right.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

extern "C" void solve(const float* input, float* output, int N) {
    std::vector<float> x(N);
    cudaMemcpy(x.data(), input, N * sizeof(float), cudaMemcpyDeviceToHost);
    const double m = *std::max_element(x.begin(), x.end());
    std::vector<double> e(x.size());
    std::transform(x.begin(), x.end(), e.begin(), [m](float value) { return std::exp(value - m); });
    const double total = std::accumulate(e.begin(), e.end(), 0.0);
    std::transform(e.begin(), e.end(), x.begin(), [total](double value) { return float(value / total); });
    cudaMemcpy(output, x.data(), N * sizeof(float), cudaMemcpyHostToDevice);
}
