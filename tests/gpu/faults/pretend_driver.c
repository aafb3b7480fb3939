/* Replaces the real driver, which it is linked against under another name, and simulates a machine that lacks
   something: an old GPU, too little memory, addresses that are in use. The file `pretend` beside this library says what
   is simulated (the processes that measure have no environment): lines such as "ARCH 61". All other calls go to the
   real driver, which is its line REAL. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kOutOfMemory = 2, kMajor = 75, kMinor = 76 };
typedef unsigned long long Address;

enum { kMostSettings = 8, kLongest = 4096 };
static struct {
  char name[32], value[kLongest];
} settings[kMostSettings];

__attribute__((constructor)) static void read_settings(void) {
  Dl_info own;
  char path[kLongest + 16];
  if (!dladdr((void*)&read_settings, &own) || !strrchr(own.dli_fname, '/')) return;
  snprintf(path, sizeof path, "%.*s/pretend", (int)(strrchr(own.dli_fname, '/') - own.dli_fname), own.dli_fname);
  FILE* file = fopen(path, "r");
  for (int i = 0; file && i < kMostSettings; ++i)
    if (fscanf(file, "%31s %4095s", settings[i].name, settings[i].value) != 2) break;
  if (file) fclose(file);
}

/* NULL: it is not set. */
static const char* setting(const char* name) {
  for (int i = 0; i < kMostSettings; ++i)
    if (strcmp(settings[i].name, name) == 0) return settings[i].value;
  return NULL;
}

static void* real(const char* name) {
  static void* driver;
  if (!driver) driver = dlopen(setting("REAL"), RTLD_NOW | RTLD_LOCAL);
  return driver ? dlsym(driver, name) : NULL;
}
static unsigned long long number(const char* name) {
  const char* text = setting(name);
  return text ? strtoull(text, NULL, 0) : 0;
}

int cuDeviceGetAttribute(int* value, int which, int device) {
  int answer = ((int (*)(int*, int, int))real("cuDeviceGetAttribute"))(value, which, device);
  unsigned long long arch = number("ARCH");
  if (answer == 0 && arch && which == kMajor) *value = (int)(arch / 10);
  if (answer == 0 && arch && which == kMinor) *value = (int)(arch % 10);
  return answer;
}

int cuMemGetInfo_v2(size_t* free_bytes, size_t* total) {
  int answer = ((int (*)(size_t*, size_t*))real("cuMemGetInfo_v2"))(free_bytes, total);
  if (answer == 0 && setting("FREE")) *free_bytes = number("FREE");
  return answer;
}

/* Simulates another process that allocates memory after its amount was queried. */
static int over_budget(size_t size) {
  static unsigned long long given;
  return setting("BUDGET") && (given += size) > number("BUDGET");
}

int cuMemCreate(void* handle, size_t size, const void* properties, unsigned long long flags) {
  if (over_budget(size)) return kOutOfMemory;
  return ((int (*)(void*, size_t, const void*, unsigned long long))real("cuMemCreate"))(handle, size, properties,
                                                                                        flags);
}

int cuMemAlloc_v2(Address* address, size_t size) {
  if (over_budget(size)) return kOutOfMemory;
  return ((int (*)(Address*, size_t))real("cuMemAlloc_v2"))(address, size);
}

int cuMemAddressReserve(Address* address, size_t size, size_t alignment, Address wanted, unsigned long long flags) {
  Address taken = number("TAKEN");
  if (taken && wanted <= taken && taken < wanted + size) wanted = 0;
  return ((int (*)(Address*, size_t, size_t, Address, unsigned long long))real("cuMemAddressReserve"))(
      address, size, alignment, wanted, flags);
}

int cuMemAllocHost_v2(void** memory, size_t bytes) {
  if (setting("NO_PINNED")) return kOutOfMemory;
  return ((int (*)(void**, size_t))real("cuMemAllocHost_v2"))(memory, bytes);
}
