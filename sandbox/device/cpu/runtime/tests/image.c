/* A kernel image written by hand against image_abi.h: what the lowering would make of a few tiny kernels. The tests of
   the runtime use it, so that they fail for reasons of the runtime's own. */
#include <stddef.h>

#include "sandbox/device/cpu/block_context.h"

static const struct kl_services* services;

int device_counter = 7;
float device_table[64];

#define EACH_THREAD(block, t) for (uint32_t t = 0; t < (block)->ntid_x * (block)->ntid_y * (block)->ntid_z; ++t)
#define ARGUMENTS(type, name) const type* name = (const type*)block->launch->arguments

typedef struct {
  int* data;
  int count;
  int step;
} AddArguments;
static void add(kl_block* block) {
  ARGUMENTS(AddArguments, a);
  EACH_THREAD(block, t) {
    int i = (int)(block->ctaid_x * block->ntid_x + t);
    if (i < a->count) a->data[i] += a->step;
  }
}
static void store(kl_block* block) { **(int* volatile*)block->launch->arguments = 1; }
static void fail(kl_block* block) { services->assert_fail(block, 3, "x > 0", "k.cu", 12, "fail"); }
static void stop(kl_block* block) { services->trap(block, 0); }
static void nothing(kl_block* block) { (void)block; }
static void bump(kl_block* block) {
  (void)block;
  device_counter += 1;
}
static int deepen(volatile int* above, kl_block* block) {
  volatile int here[256];
  here[0] = above[0] + 1;
  return block ? deepen(here, block) + here[0] : 0;
}
static void recurse(kl_block* block) {
  volatile int zero = 0;
  device_counter = deepen(&zero, block);
}
static void divide(kl_block* block) {
  const volatile int* a = (const int*)block->launch->arguments;
  device_counter = 100 / a[0];
}
static void dynamic_shared(kl_block* block) {
  char* memory = block->dynamic_shared;
  for (uint32_t i = 0; i < block->launch->dynamic_shared_bytes; ++i) memory[i] = (char)i;
}

static const kl_parameter add_parameters[] = {{0, 8}, {8, 4}, {12, 4}};
static const kl_parameter pointer_parameter[] = {{0, 8}};
static const kl_parameter int_parameter[] = {{0, 4}};
static const kl_kernel kernels[] = {
    {"_Z3addPiii", add, KL_MODE_LOOP, "", 3, 16, add_parameters, 0, 0, 0, 0, 0},
    {"_Z5storePi", store, KL_MODE_LOOP, "", 1, 8, pointer_parameter, 0, 0, 0, 0, 0},
    {"_Z4failv", fail, KL_MODE_LOOP, "", 0, 0, NULL, 0, 0, 0, 0, 0},
    {"_Z4stopv", stop, KL_MODE_LOOP, "", 0, 0, NULL, 0, 0, 0, 0, 0},
    {"_Z7nothingv", nothing, KL_MODE_LOOP, "", 0, 0, NULL, 0, 0, 0, 0, 0},
    {"_Z4bumpv", bump, KL_MODE_LOOP, "", 0, 0, NULL, 0, 0, 0, 0, 0},
    {"_Z7recursev", recurse, KL_MODE_LOOP, "", 0, 0, NULL, 0, 0, 0, 0, 0},
    {"_Z6dividei", divide, KL_MODE_LOOP, "", 1, 4, int_parameter, 0, 0, 0, 0, 0},
    {"_Z6sharedv", dynamic_shared, KL_MODE_LOOP, "", 0, 0, NULL, 1024, 0, 0, 0, 0},
    {"_Z7boundedv", nothing, KL_MODE_LOOP, "", 0, 0, NULL, 0, 0, 0, 128, 0},
    {"_Z7refusedv", NULL, KL_MODE_REFUSED, "the CPU device does not support mma (k.cu:3)", 0, 0, NULL, 0, 0, 0, 0, 0},
};
static const kl_variable variables[] = {
    {"device_counter", &device_counter, sizeof device_counter, 0, 0},
    {"device_table", device_table, sizeof device_table, KL_VARIABLE_CONSTANT, 0},
};

__attribute__((visibility("default"))) const kl_image kernelift_image = {KL_IMAGE_MAGIC,
                                                                         KL_IMAGE_VERSION,
                                                                         sizeof kernels / sizeof *kernels,
                                                                         sizeof variables / sizeof *variables,
                                                                         75,
                                                                         kernels,
                                                                         variables,
                                                                         &services,
                                                                         NULL,
                                                                         NULL,
                                                                         0};
