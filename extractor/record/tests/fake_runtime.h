// A runtime that is only its memory: allocations are ordinary memory, kernels are lambdas, and every launch calls the
// hooks as the CUDA runtime library would. Shared by the recorder's tests and by the fake application.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/toolchain/record_hooks.h"

namespace fake {

struct Kernel {
  std::string name;
  std::vector<kl_parameter> parameters;
  kl_kernel kernel{};
  Kernel(std::string mangled, std::vector<kl_parameter> layout)
      : name(std::move(mangled)), parameters(std::move(layout)) {
    kernel.name = name.c_str();
    kernel.parameters = parameters.data();
    kernel.parameter_count = uint32_t(parameters.size());
    kernel.parameter_bytes = parameters.empty() ? 0 : parameters.back().offset + parameters.back().size;
  }
};

/// Packed arguments from values.
template <class... Values>
std::vector<unsigned char> pack(const Values&... values) {
  std::vector<unsigned char> bytes;
  auto add = [&](const auto& value) {
    while (bytes.size() % alignof(decltype(value))) bytes.push_back(0);
    auto* from = reinterpret_cast<const unsigned char*>(&value);
    bytes.insert(bytes.end(), from, from + sizeof value);
  };
  (add(values), ...);
  return bytes;
}

class Runtime {
 public:
  Runtime() { current() = this; }
  ~Runtime() {
    for (auto& [address, _] : live) std::free(reinterpret_cast<void*>(address));
  }
  template <class T>
  T* allocate(size_t count) {
    void* memory = std::aligned_alloc(256, (count * sizeof(T) + 255) / 256 * 256);
    std::memset(memory, 0, count * sizeof(T));
    live[reinterpret_cast<uint64_t>(memory)] = count * sizeof(T);
    return static_cast<T*>(memory);
  }

  /// `work` is the kernel; `seconds` is what the runtime claims it took.
  template <class Begin, class End>
  void launch(Begin&& begin, End&& end, const Kernel& kernel, const std::vector<unsigned char>& arguments, kl_dim3 grid,
              double seconds, const std::function<void()>& work) {
    image.variables = variables.data();
    image.variable_count = uint32_t(variables.size());
    kl_record_launch launch{&kernel.kernel, &image, nullptr, grid, {32, 1, 1}, 0, 0, arguments.data(), 0};
    begin(&launch);
    work();
    end(&launch, seconds);
  }

  static Runtime*& current() {
    static Runtime* runtime = nullptr;
    return runtime;
  }
  static size_t list(kl_allocation* out, size_t capacity) {
    size_t count = 0;
    for (auto& [address, size] : current()->live) {
      if (count < capacity) out[count] = {address, size, KL_MEMORY_DEVICE};
      ++count;
    }
    return count;
  }
  kl_runtime_view view{KL_RECORD_HOOKS_VERSION, list, [] {}};
  std::map<uint64_t, uint64_t> live;
  std::vector<kl_variable> variables;
  kl_image image{};
};

}  // namespace fake
