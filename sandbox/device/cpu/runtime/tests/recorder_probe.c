/* A recorder that writes what it was told to the file $KL_PROBE_OUTPUT when the process ends. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/toolchain/record_hooks.h"

static const kl_runtime_view* view;
static int begun, ended;
static char last[256];
static unsigned long live, first_address;
static int first_word,
    torn; /* What the first allocation began with, and how often that changed under a launch that changes nothing. */

static void launch_begin(const kl_record_launch* launch) {
  kl_allocation all[16];
  ++begun;
  live = view->allocations(all, 16);
  first_address = live ? all[0].address : 0;
  view->synchronize();
  first_word = live ? *(volatile int*)first_address : 0;
  usleep(1000);
  snprintf(last, sizeof last, "%s grid %u block %u bytes %u blob %d image %u", launch->kernel->name, launch->grid.x,
           launch->block.x, launch->kernel->parameter_bytes, launch->fat_blob != NULL, launch->image->variable_count);
}
static void launch_end(const kl_record_launch* launch, double seconds) {
  ended += seconds >= 0 && launch->arguments;
  if (!strcmp(launch->kernel->name, "_Z7nothingv") && live) torn += first_word != *(volatile int*)first_address;
}
static void finish(void) {
  FILE* file = fopen(getenv("KL_PROBE_OUTPUT"), "w");
  fprintf(file, "begun %d ended %d torn %d live %lu at %lx last %s\n", begun, ended, torn, live, first_address, last);
  fclose(file);
}

static const kl_recorder recorder = {KL_RECORD_HOOKS_VERSION, launch_begin, launch_end, finish};
__attribute__((visibility("default"))) const kl_recorder* kernelift_recorder_attach(const kl_runtime_view* runtime) {
  view = runtime;
  return &recorder;
}
