// The tests' kit for field runs: a kernel in, what it leaves as numbers out.
#pragma once
#include <limits>

#include "sandbox/device/cpu/field_state.h"
#include "sandbox/device/cpu/tests/device_test.h"

namespace kernelift::cpu {

/// What a kernel (const T* a, const T* b, T* out, int n) leaves in `out`, and what the run met.
struct FieldResult {
  std::vector<uint64_t> states;
  FieldObject out;
  uint64_t seed = 0;
  FieldReport report;
  std::vector<double> floats;  ///< What it computes.
  /// What stands beside the floats, of the numbers that are no residues; NaN: nothing.
  std::vector<double> beside() const {
    std::vector<double> all;
    for (size_t i = 0; i < floats.size(); ++i)
      all.push_back(number_beside_float(states[i]).value_or(std::numeric_limits<double>::quiet_NaN()));
    return all;
  }
  /// Whether they leave the same numbers.
  bool operator==(const FieldResult& other) const {
    return seed == other.seed && !first_difference(out, seed, states, other.states);
  }
};
inline void PrintTo(const FieldResult& result, std::ostream* out) { *out << "numbers of a run"; }

struct FieldSetting {
  Geometry geometry = grid(2, 64);
  bool with_headers = false, fibers = false, constants_meant = false;
  uint64_t seed = 7;
  bool integers = false;  ///< `b` holds integers.
  NumberKind numbers = NumberKind::Residues;
  std::vector<std::string> flags = {};  ///< Without headers.
  unsigned workers = 0;                 ///< LaunchOptions::workers.
};

inline constexpr int kFieldCount = 256;  ///< Elements of each array.

template <class T = float>
FieldResult run_in_field(const std::string& source, const FieldSetting& setting = {}) {
  LowerOptions options;
  options.field = true, options.force_fibers = setting.fibers, options.numbers = setting.numbers;
  const TestImage image =
      setting.with_headers ? build_with_headers(source, options) : build(source, options, setting.flags);
  std::vector<T> memory(3 * kFieldCount);
  for (size_t i = 0; i < memory.size(); ++i) memory[i] = T(0.5) + T(i % 17);
  auto* integers = reinterpret_cast<int*>(memory.data() + kFieldCount);
  if (setting.integers)
    for (int i = 0; i < kFieldCount; ++i) integers[i] = (i * 7) % kFieldCount;
  FieldRequest request;
  request.seed = setting.seed, request.constants_meant = setting.constants_meant, request.numbers = setting.numbers;
  std::vector<std::vector<uint64_t>> states;
  for (size_t i = 0; i < 3; ++i) {
    FieldObject object;
    object.begin = reinterpret_cast<uint64_t>(memory.data() + i * kFieldCount), object.bytes = kFieldCount * sizeof(T);
    object.key = i + 1, object.integers = i == 1 && setting.integers;
    states.emplace_back(object.states_bytes() / sizeof(uint64_t));
    object.states = reinterpret_cast<uint64_t>(states.back().data());
    request.objects.push_back(object);
  }
  const FieldObject last = request.objects.back();
  FieldRun field(std::move(request));
  LaunchOptions launch;
  launch.field = &field, launch.workers = setting.workers;
  T* a = memory.data();
  const LaunchOutcome outcome =
      image.run_with(launch, "k", setting.geometry, a, a + kFieldCount, a + 2 * kFieldCount, kFieldCount);
  EXPECT_TRUE(outcome.ok()) << outcome.detail;
  return {states[2], last, setting.seed, field.report(), {memory.end() - kFieldCount, memory.end()}};
}

}  // namespace kernelift::cpu
