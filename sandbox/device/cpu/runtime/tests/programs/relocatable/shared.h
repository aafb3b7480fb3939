// What the two units of this program share: device code and variables across translation units (-rdc=true).
#pragma once
extern __device__ int shared_counter;
extern __constant__ float coefficients[4];
__device__ float polynomial(float x);
__global__ void count_up(int by);
int count_second(int times);
