// The runner's own kernels (kernels/support.cu) as host functions for the fake device: the same arithmetic, in loops.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstring>

#include "sandbox/device/fake/fake_device.h"
#include "sandbox/evaluate/cuda/runner/support.h"

namespace kernelift {
namespace host {

using namespace judging;

inline const u8* at(u64 address) { return reinterpret_cast<const u8*>(address); }
inline u64 expected_at(const Task& task, u64 i) { return load(at(task.expected + i * task.stride), task.width); }
inline u64 got_at(const Task& task, u64 i) { return load(at(task.got + i * task.stride), task.width); }
inline Finding& finding(u64 address) { return *reinterpret_cast<Finding*>(address); }

inline Scale scale_of_neighbourhood(const Task& task, u64 begin, u64 end) {
  Magnitudes all;
  for (u64 i = begin; i < end; ++i) note(task.kind, task.width, expected_at(task, i), all);
  Squares sizes(task.kind, task.width, all);
  if (sizes.count == 0) return {};
  double squares = 0;
  for (u64 i = begin; i < end; ++i) squares += sizes.of(expected_at(task, i));
  return sizes.scale(std::sqrt(squares / static_cast<double>(sizes.count)), all);
}

inline void compare_all(const Task& task) {
  Finding& found = finding(task.into);
  u64 each = kNeighbourhoodBytes / task.width;
  for (u64 begin = 0; begin < task.count; begin += each) {
    u64 end = std::min(task.count, begin + each);
    double allowed = task.envelope > 0 ? allowed_by(task, scale_of_neighbourhood(task, begin, end)) : 0;
    for (u64 i = begin; i < end; ++i) {
      Difference difference = compare(task, expected_at(task, i), got_at(task, i), allowed);
      if (difference.measured) {
        found.largest_ulps = std::max(found.largest_ulps, bits_of(difference.distance));
        found.largest_absolute = std::max(found.largest_absolute, bits_of(difference.absolute));
      }
      if (!difference.mismatch) continue;
      ++found.mismatches, found.first = std::min(found.first, i);
      found.worst = std::max(found.worst, worst_key(difference.distance, i / each));
    }
  }
}

inline void spread_all(const Task& task) {
  u64 each = kNeighbourhoodBytes / task.width;
  Finding& found = finding(task.into);
  for (u64 begin = 0; begin < task.count; begin += each) {
    u64 end = std::min(task.count, begin + each);
    double largest = 0;
    for (u64 i = begin; i < end; ++i) {
      Difference moved = compare(task, expected_at(task, i), got_at(task, i), 0);
      largest = std::max(largest, beyond_ulps(task, moved)), found.mismatches += moved.denormal;
    }
    if (largest == 0) continue;
    Scale scale = scale_of_neighbourhood(task, begin, end);
    if (scale.rms > 0) found.largest_absolute = std::max(found.largest_absolute, bits_of(largest / scale.rms));
    if (scale.typical > 0) found.largest_ulps = std::max(found.largest_ulps, bits_of(largest / scale.typical));
  }
}

}  // namespace host

inline FakeImage host_support() {
  using namespace host;
  FakeImage image;
  auto add = [&](const char* name, std::function<double(const FakeCall&)> body) {
    image.kernels[name].body = [body](const FakeCall& call) { return FakeRun{body(call)}; };
  };
  constexpr size_t kTask = sizeof(Task);
  add("kl_compare", [](const FakeCall& call) { return compare_all(call.argument<Task>(0)), 1e-6; });
  add("kl_spread", [](const FakeCall& call) { return spread_all(call.argument<Task>(0)), 1e-6; });
  add("kl_check_canary", [](const FakeCall& call) {
    u64 begin = call.argument<u64>(0), bytes = call.argument<u64>(8);
    auto byte = static_cast<u8>(call.argument<u32>(16));
    // Megabytes that nearly always hold what they should: all bytes are alike if each is what its neighbour is.
    if (bytes == 0 || (*at(begin) == byte && std::memcmp(at(begin), at(begin + 1), bytes - 1) == 0)) return 1e-6;
    for (u64 i = begin; i < begin + bytes; ++i)
      if (*at(i) != byte) {
        finding(call.argument<u64>(24)).address = std::min(finding(call.argument<u64>(24)).address, i);
        break;
      }
    return 1e-6;
  });
  add("kl_poison", [](const FakeCall& call) {
    auto task = call.argument<Task>(0);
    for (u64 i = 0; i < task.count; ++i)
      if (at(call.argument<u64>(kTask))[i] == kWritten)
        std::memset(reinterpret_cast<void*>(task.got + i * task.stride),
                    static_cast<int>(call.argument<u32>(kTask + 8)), task.width);
    return 1e-6;
  });
  add("kl_classify", [](const FakeCall& call) {
    auto task = call.argument<Task>(0);
    u64 poison = 0x0101010101010101ull * call.argument<u32>(kTask + 8);
    if (task.width < 8) poison &= (1ull << (8 * task.width)) - 1;
    for (u64 i = 0; i < task.count; ++i) {
      u8& state = reinterpret_cast<u8*>(call.argument<u64>(kTask))[i];
      state &= classify(task, expected_at(task, i), got_at(task, i), poison, 0);
      finding(task.into).mismatches += state == 0;
    }
    return 1e-6;
  });
  add("kl_uncovered", [](const FakeCall& call) {
    auto task = call.argument<Task>(0);
    for (u64 i = 0; i < task.count; ++i) {
      bool known = at(call.argument<u64>(kTask))[i] == kWritten;
      finding(task.into).largest_ulps += known;
      finding(task.into).mismatches += !known && expected_at(task, i) != got_at(task, i);
    }
    return 1e-6;
  });
  add("kl_copy_ranges", [](const FakeCall& call) {
    auto* ranges = reinterpret_cast<const DeviceRange*>(call.argument<u64>(0));
    for (u64 i = 0; i < call.argument<u64>(8); ++i)
      std::memcpy(reinterpret_cast<void*>(ranges[i].to), reinterpret_cast<const void*>(ranges[i].from),
                  ranges[i].bytes);
    return 1e-6;
  });
  add("kl_copy", [](const FakeCall& call) {
    std::memcpy(reinterpret_cast<void*>(call.argument<u64>(0)), reinterpret_cast<const void*>(call.argument<u64>(8)),
                call.argument<u64>(16));
    return 1e-6;
  });
  add("kl_flush", [](const FakeCall&) { return 1e-6; });
  add("kl_hold", [](const FakeCall& call) { return static_cast<double>(call.argument<u64>(0)) * 1e-9; });
  // A memory of 1 TB/s.
  add("kl_write", [](const FakeCall& call) { return 1e-7 + static_cast<double>(call.argument<u64>(8)) * 1e-12; });
  add("kl_nothing", [](const FakeCall&) { return 1e-7; });
  return image;
}

}  // namespace kernelift
