// problem: softmax_rows_f16
//
// Softmax of every row of a matrix of float16: softmax_rows.cu, which explains itself, with another type.

#include <cuda_fp16.h>

#define ELEMENT __half
#define PAIR __half2
#include "softmax_rows.cu"
