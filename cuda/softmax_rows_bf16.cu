// problem: softmax_rows_bf16
//
// Softmax of every row of a matrix of bfloat16: softmax_rows.cu, which explains itself, with another type.

#include <cuda_bf16.h>

#define ELEMENT __nv_bfloat16
#define PAIR __nv_bfloat162
#include "softmax_rows.cu"
