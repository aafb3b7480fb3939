// Error numbers, their names and texts, and the two kinds of state behind cudaGetLastError: per thread and sticky.
// No lock anywhere: the sticky fault is one atomic, so that asking for it costs a load on every call.
#include "sandbox/device/cpu/runtime/errors.h"

#include <algorithm>
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <mutex>
#include <set>
#include <string>

namespace kernelift::cudart {
namespace {

struct ErrorEntry {
  int number;
  const char* name;
  const char* text;
};
constexpr ErrorEntry kErrors[] = {
#include "sandbox/device/cpu/runtime/error_table.inc"
};

const ErrorEntry* find_error(int number) {
  const ErrorEntry* entry = std::lower_bound(std::begin(kErrors), std::end(kErrors), number,
                                             [](const ErrorEntry& e, int n) { return e.number < n; });
  return entry != std::end(kErrors) && entry->number == number ? entry : nullptr;
}

std::atomic<cudaError_t> sticky_fault{cudaSuccess};
/// The application has been told of the fault: from then on cudaGetLastError repeats it.
std::atomic<bool> fault_was_reported{false};
thread_local cudaError_t thread_error = cudaSuccess;

}  // namespace

cudaError_t leave(cudaError_t error) {
  if (error != cudaSuccess) {
    thread_error = error;
    if (error == sticky_fault.load(std::memory_order_relaxed))
      fault_was_reported.store(true, std::memory_order_relaxed);
  }
  return error;
}

cudaError_t device_fault() { return sticky_fault.load(std::memory_order_relaxed); }

void set_device_fault(cudaError_t error) {
  cudaError_t healthy = cudaSuccess;
  sticky_fault.compare_exchange_strong(healthy, error);
}

void clear_device_fault() {
  sticky_fault.store(cudaSuccess);
  fault_was_reported.store(false);
  thread_error = cudaSuccess;
}

cudaError_t last_error(bool clear) {
  if (fault_was_reported.load(std::memory_order_relaxed)) return sticky_fault.load(std::memory_order_relaxed);
  cudaError_t error = thread_error;
  if (clear) thread_error = cudaSuccess;
  return error;
}

const char* error_name(int error) {
  const ErrorEntry* entry = find_error(error);
  return entry ? entry->name : "unrecognized error code";
}

const char* error_text(int error) {
  const ErrorEntry* entry = find_error(error);
  return entry ? entry->text : "unrecognized error code";
}

void explain(const char* format, ...) {
  char line[1024];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  std::fprintf(stderr, "kernelift: %s\n", line);
}

cudaError_t not_supported(const char* function, const char* why) {
  static std::mutex& mutex = *new std::mutex;
  static std::set<std::string>& explained = *new std::set<std::string>;
  std::lock_guard lock(mutex);
  if (explained.insert(function).second)
    explain("%s is not supported on the CPU device%s%s", function, why ? ": " : "", why ? why : "");
  return cudaErrorNotSupported;
}

}  // namespace kernelift::cudart
