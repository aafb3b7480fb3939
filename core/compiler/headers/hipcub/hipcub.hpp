// hipCUB is CUB under another name, and the toolkit has CUB; but for the operators, which CUB has dropped since.
#pragma once
#include <hip/hip_runtime.h>
#include <cub/cub.cuh>
#include <cuda/functional>
#include <cuda/std/functional>
namespace hipcub {
using namespace ::cub;
using Sum = ::cuda::std::plus<>;
using Difference = ::cuda::std::minus<>;
using Division = ::cuda::std::divides<>;
using Max = ::cuda::maximum<>;
using Min = ::cuda::minimum<>;
using Equality = ::cuda::std::equal_to<>;
using Inequality = ::cuda::std::not_equal_to<>;
}  // namespace hipcub
#define HIPCUB_RUNTIME_FUNCTION CUB_RUNTIME_FUNCTION
