// See field_equality.h.
#include "sandbox/evaluate/runner/field/field_equality.h"

#include <algorithm>
#include <random>

#include "sandbox/device/cpu/cpu_device.h"

namespace kernelift::sandbox {
namespace {

constexpr int kDraws = 3;                            // Inputs, until none is divided by zero.
constexpr uint64_t kMostKept = uint64_t(128) << 20;  // Of recorded memory; what is kept of it is twice as much.

FieldEquality not_run(std::string why) {
  FieldEquality answer;
  answer.why = std::move(why);
  return answer;
}

}  // namespace

size_t FieldEqualityRuns::cheapest() const {
  size_t best = 0;
  for (size_t i = 1; i < bench_.mep.instances.size(); ++i)
    if (bench_.run_seconds[i] < bench_.run_seconds[best]) best = i;
  return best;
}

FieldNumbers FieldEqualityRuns::compare(const FieldLaunch& original, const FieldLaunch& candidate,
                                        uint64_t seed) const {
  const ReplayInstance& instance = bench_.memory->instances()[instance_];
  FieldNumbers numbers{true, false, {}};
  for (size_t i = 0; i < instance.regions.size() + instance.variables.size(); ++i) {
    const bool region = i < instance.regions.size();
    const ReplayBuffer& buffer = region ? instance.regions[i] : instance.variables[i - instance.regions.size()];
    const auto difference =
        cpu::first_difference(original.objects[i], seed, original.states_of(i), candidate.states_of(i));
    if (!difference || (!numbers.equal && !difference->surely)) continue;
    const uint32_t width = buffer.rows.empty() ? 1 : buffer.rows.front().type.width;
    numbers = {false, difference->surely,
               buffer.name + "[" + std::to_string(difference->offset / std::max(width, 1u)) + "]"};
    if (numbers.surely) break;
  }
  return numbers;
}

FieldEquality FieldEqualityRuns::compare(const RunnableCode& code) {
  if (!bench_.device.facts().processor) return not_run("field runs need the CPU device");
  instance_ = cheapest();
  const MemoryEntry entry{instance_, instance_};
  const uint64_t bytes = recorded_bytes(bench_.memory->instances()[instance_]);
  if (bytes > kMostFieldBytes)
    return not_run(std::string(kOfOriginal) + "its recorded memory has " + std::to_string(bytes >> 20) + " MiB");

  const auto begin = std::chrono::steady_clock::now();
  RunnableCode original_code;
  original_code.image = code.original;
  LoadedCode original, candidate;
  if (auto failure = original.load(bench_.device, *bench_.memory, bench_.mep, original_code))
    return not_run(std::string(kOfOriginal) + failure->detail);
  if (auto failure = candidate.load(bench_.device, *bench_.memory, bench_.mep, code))
    return not_run("it does not load for it: " + failure->detail);
  std::random_device random;
  const Hash image = hash_text(code.original);
  if (original_ && (original_->image != image || original_->instance != instance_)) original_.reset();
  FieldLaunch as_meant, other;
  const FieldLaunch* one = nullptr;
  FieldNumbers numbers;
  // Why they were not run; or empty.
  auto run_both = [&](uint64_t seed, bool meant) -> std::string {
    const FieldRequest how{.objects = {}, .seed = seed, .constants_meant = meant};
    if (meant) as_meant = launch_with_numbers(bench_, original, entry, how);
    else if (!original_ || original_->seed != seed)
      original_ = {image, instance_, seed, launch_with_numbers(bench_, original, entry, how)};
    one = meant ? &as_meant : &original_->launch;
    if (!one->failure.empty()) return kOfOriginal + one->failure;
    other = launch_with_numbers(bench_, candidate, entry, how);
    if (other.failure.empty()) numbers = compare(*one, other, seed);
    return other.failure;
  };
  auto divides_by_zero = [&] { return one->report.divisions_by_zero + other.report.divisions_by_zero > 0; };
  std::string failure;
  uint64_t seed = 0;
  for (int draw = 0; failure.empty() && draw < kDraws && (draw == 0 || divides_by_zero()); ++draw) {
    seed = original_ && draw == 0 ? original_->seed : uint64_t(random()) << 32 | random();
    failure = run_both(seed, false);
  }
  const bool exactly = numbers.equal;
  if (failure.empty() && !exactly) failure = run_both(seed, true);
  FieldEquality answer = failure.empty() ? concluded(one->report, other.report, numbers) : not_run(std::move(failure));
  if (bytes > kMostKept || !original_->launch.failure.empty() || original_->launch.report.divisions_by_zero > 0)
    original_.reset();
  answer.instance = bench_.mep.instances[instance_].id;
  if (answer.found == FieldEquality::Found::NotRun && answer.why != kNoFloats) return answer;
  answer.constants_rounded = numbers.equal && !exactly, answer.samples = 1;
  answer.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return answer;
}

}  // namespace kernelift::sandbox
