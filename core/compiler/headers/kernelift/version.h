// The release that these headers stand in for.
#pragma once
#define CUDART_VERSION 13000
#ifndef CUDA_VERSION
#define CUDA_VERSION 13000
#endif
/// Set by these headers only: a source can tell that it is compiled by Kernelift's lean headers.
#define KERNELIFT_LEAN_HEADERS 1
