// See field_equality.h.
#include "sandbox/evaluate/runner/field/field_equality.h"

#include <algorithm>
#include <random>

#include "sandbox/device/cpu/cpu_device.h"

namespace kernelift::sandbox {
namespace {

constexpr std::chrono::milliseconds kLimit{5000};  // Of one run.
constexpr uint64_t kMostBytes = 256ull << 20;      // Of recorded memory; states take twice as much.
constexpr int kDraws = 3;                          // Inputs, until none is divided by zero.

uint64_t key_of(uint64_t kind, uint64_t number) { return kind << 32 | (number + 1); }

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

std::vector<FieldObject> FieldEqualityRuns::objects(const LoadedCode& code) const {
  const ReplayInstance& instance = bench_.memory->instances()[instance_];
  auto has_integers = [](const ReplayBuffer& buffer) {
    return !buffer.rows.empty() && std::ranges::none_of(buffer.rows, [](const Row& row) {
      return row.type.is_float() || row.type.kind == ElementType::Kind::Bytes;
    });
  };
  std::vector<FieldObject> all;
  for (size_t i = 0; i < instance.regions.size(); ++i) {
    const ReplayBuffer& region = instance.regions[i];
    all.push_back({{}, region.live, region.size, 0, key_of(1, i), has_integers(region)});
  }
  for (size_t i = 0; i < instance.variables.size(); ++i) {
    const ReplayBuffer& variable = instance.variables[i];
    // One that this code does not have keeps its place, and nothing is written there.
    all.push_back({code.variable_name(instance_, i), 0, variable.size, 0, key_of(2, i), has_integers(variable)});
  }
  CheckedExtents own;
  code.add_extents(own, instance_);
  for (size_t i = 0; i < own.objects.size(); ++i)
    all.push_back({{}, own.objects[i].begin, own.objects[i].bytes, 0, key_of(3, i)});
  return all;
}

FieldEqualityRuns::Run FieldEqualityRuns::run(const LoadedCode& code, uint64_t seed, bool constants_meant) {
  Run made;
  made.objects = objects(code);
  uint64_t bytes = 0;
  for (auto& object : made.objects) bytes += object.states_bytes();
  auto states = bench_.device.place(0, std::max<uint64_t>(bytes, 1));
  if (!states.ok()) return made.failure = states.error().message, std::move(made);
  uint64_t at = states->address;
  for (auto& object : made.objects) object.states = at, at += object.states_bytes();

  Steps steps(*bench_.kernels);
  bench_.memory->restore(steps, instance_, false);
  FieldRequest request{made.objects, seed, constants_meant};
  std::erase_if(request.objects, [](auto& object) { return object.variable.empty() && object.begin == 0; });
  steps.set_field(std::move(request));
  code.set_up(steps, bench_.memory->instances()[instance_], instance_);
  steps.begin();
  code.launch(steps, instance_);
  steps.end();
  code.take_down(steps, instance_);
  std::chrono::milliseconds limit = kLimit;
  if (bench_.inquiry.deadline)
    limit = std::min(limit, std::chrono::duration_cast<std::chrono::milliseconds>(*bench_.inquiry.deadline -
                                                                                  Deadline::clock::now()));
  if (limit.count() <= 0) return made.failure = "there was no time left", std::move(made);
  DeviceOutcome outcome = steps.run(limit);
  bench_.memory->launched(instance_, true);
  if (!outcome.ok()) return made.failure = bench_.failure_of(outcome, instance_).detail, std::move(made);
  made.report = outcome.field;
  made.states = HiddenBytes(bytes);
  if (Status read = bench_.device.read(states->address, made.states.bytes()); !read.ok())
    made.failure = read.error().message;
  return made;
}

FieldNumbers FieldEqualityRuns::compare(const Run& original, const Run& candidate, uint64_t seed) const {
  const ReplayInstance& instance = bench_.memory->instances()[instance_];
  FieldNumbers numbers{true, false, {}};
  uint64_t at = 0;
  for (size_t i = 0; i < instance.regions.size() + instance.variables.size(); ++i) {
    const bool region = i < instance.regions.size();
    const ReplayBuffer& buffer = region ? instance.regions[i] : instance.variables[i - instance.regions.size()];
    const uint64_t bytes = original.objects[i].states_bytes();
    auto states = [&](const Run& run) {
      const auto* begin = reinterpret_cast<const uint64_t*>(run.states.bytes().data() + at);
      return std::span(begin, bytes / sizeof(uint64_t));
    };
    FieldObject object = original.objects[i];
    const auto difference = cpu::first_difference(object, seed, states(original), states(candidate));
    at += bytes;
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
  const ReplayInstance& instance = bench_.memory->instances()[instance_];
  uint64_t bytes = 0;
  for (auto* buffers : {&instance.regions, &instance.variables})
    for (auto& buffer : *buffers) bytes += buffer.size;
  if (bytes > kMostBytes) return not_run("its recorded memory has " + std::to_string(bytes >> 20) + " MiB");

  const auto begin = std::chrono::steady_clock::now();
  RunnableCode original_code;
  original_code.image = code.original;
  LoadedCode original, candidate;
  if (auto failure = original.load(bench_.device, *bench_.memory, bench_.mep, original_code))
    return not_run("the original does not load for it: " + failure->detail);
  if (auto failure = candidate.load(bench_.device, *bench_.memory, bench_.mep, code))
    return not_run("it does not load for it: " + failure->detail);
  std::random_device random;
  Run one, other;
  FieldNumbers numbers;
  // Why they were not run; or empty.
  auto run_both = [&](uint64_t seed, bool meant) -> std::string {
    one = run(original, seed, meant);
    if (!one.failure.empty()) return "the original: " + one.failure;
    other = run(candidate, seed, meant);
    if (other.failure.empty()) numbers = compare(one, other, seed);
    return other.failure;
  };
  auto divides_by_zero = [&] { return one.report.divisions_by_zero + other.report.divisions_by_zero > 0; };
  std::string failure;
  uint64_t seed = 0;
  for (int draw = 0; failure.empty() && draw < kDraws && (draw == 0 || divides_by_zero()); ++draw)
    seed = uint64_t(random()) << 32 | random(), failure = run_both(seed, false);
  const bool exactly = numbers.equal;
  if (failure.empty() && !exactly) failure = run_both(seed, true);
  FieldEquality answer = failure.empty() ? concluded(one.report, other.report, numbers) : not_run(std::move(failure));
  answer.instance = bench_.mep.instances[instance_].id;
  if (answer.found == FieldEquality::Found::NotRun && answer.why != kNoFloats) return answer;
  answer.constants_rounded = numbers.equal && !exactly, answer.samples = 1;
  answer.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return answer;
}

}  // namespace kernelift::sandbox
