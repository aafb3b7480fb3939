/* Replaces the real driver, which it is linked against under another name, and simulates a machine that lacks
   something: an old GPU, too little memory, addresses that are in use. The environment selects what is simulated; all
   other calls go to the real driver. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>

enum { kOutOfMemory = 2, kMajor = 75, kMinor = 76 };
typedef unsigned long long Address;

static void* real(const char* name) {
  static void* driver;
  if (!driver) driver = dlopen(getenv("PRETEND_REAL_DRIVER"), RTLD_NOW | RTLD_LOCAL);
  return driver ? dlsym(driver, name) : NULL;
}
static unsigned long long number(const char* name) {
  const char* text = getenv(name);
  return text ? strtoull(text, NULL, 0) : 0;
}

int cuDeviceGetAttribute(int* value, int which, int device) {
  int answer = ((int (*)(int*, int, int))real("cuDeviceGetAttribute"))(value, which, device);
  unsigned long long arch = number("PRETEND_ARCH");
  if (answer == 0 && arch && which == kMajor) *value = (int)(arch / 10);
  if (answer == 0 && arch && which == kMinor) *value = (int)(arch % 10);
  return answer;
}

int cuMemGetInfo_v2(size_t* free_bytes, size_t* total) {
  int answer = ((int (*)(size_t*, size_t*))real("cuMemGetInfo_v2"))(free_bytes, total);
  if (answer == 0 && getenv("PRETEND_FREE")) *free_bytes = number("PRETEND_FREE");
  return answer;
}

/* Simulates another process that allocates memory after its amount was queried. */
static int over_budget(size_t size) {
  static unsigned long long given;
  return getenv("PRETEND_BUDGET") && (given += size) > number("PRETEND_BUDGET");
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
  Address taken = number("PRETEND_TAKEN");
  if (taken && wanted <= taken && taken < wanted + size) wanted = 0;
  return ((int (*)(Address*, size_t, size_t, Address, unsigned long long))real("cuMemAddressReserve"))(
      address, size, alignment, wanted, flags);
}

int cuMemAllocHost_v2(void** memory, size_t bytes) {
  if (getenv("PRETEND_NO_PINNED")) return kOutOfMemory;
  return ((int (*)(void**, size_t))real("cuMemAllocHost_v2"))(memory, bytes);
}
