// Runs the original kernel on made-up inputs to obtain the answers that candidates are compared with; see evaluate.h.
// The original runs like a candidate, in a confined child between canaries and guard pages, because made-up inputs may
// make it access wild addresses.
#include "sandbox/device/confined_cpu/confined_cpu.h"
#include "sandbox/evaluate/baseline.h"
#include "sandbox/evaluate/evaluate.h"
#include "sandbox/evaluate/runner/verification.h"

namespace kernelift::sandbox {
namespace {

Error unsuitable(const Mep& mep, const std::string& how) {
  return refused("the inputs made up for " + (mep.kernel_name.empty() ? mep.kernel_key : mep.kernel_name) +
                 " do not suit it: on them the original " + how + "; record a run of the application instead");
}

/// Stores the memory at `live` and returns the file's name; `before` if the memory is unchanged.
Result<std::string> keep(Device& device, const std::filesystem::path& folder, const std::string& before, uint64_t given,
                         uint64_t live, uint64_t size) {
  std::vector<std::byte> was(size), is(size);
  KERNELIFT_TRY(device.read(given, was));
  KERNELIFT_TRY(device.read(live, is));
  if (was == is) return before;
  return Mep::store(folder, is);
}

}  // namespace

Result<std::string> answer_by_original(const std::filesystem::path& folder, Mep& mep) {
  CompilePoolOptions pool;
  pool.workers = 1, pool.few = true;
  auto baseline = compile_baseline(mep, folder, pool);
  if (!baseline.ok()) return baseline.error().message;
  baseline->pool.reset();  // The child is forked from this process, which must have no other threads by then.
  RunnableCode code;
  code.image = baseline->reply.image;

  Mep open = mep;  // The answers are not known yet; assume that nothing changes.
  for (auto& instance : open.instances) {
    for (auto& region : instance.regions) region.after = region.before;
    for (auto& variable : instance.variables) variable.after = variable.before;
  }
  KERNELIFT_ASSIGN(auto device, open_confined_cpu({}));
  KERNELIFT_ASSIGN(auto bench, Workbench::create(*device, open, folder, {}, [](const std::string&) {}));
  if (auto failure = bench->baseline.load(*device, *bench->memory, open, code))
    return unsuitable(mep, "cannot be launched: " + failure->detail);
  LengthBounds unasked(*bench);
  Verification verification(*bench, unasked);
  for (size_t i = 0; i < mep.instances.size(); ++i) {
    auto left = verification.run(bench->baseline, {i, i}, {});
    if (left.failure && left.failure->outcome == Outcome::WroteOutside)
      return unsuitable(mep, "writes " + left.failure->detail);
    if (left.failure) return unsuitable(mep, std::string(name(left.failure->outcome)) + ": " + left.failure->detail);
    const ReplayInstance& memory = bench->memory->instances()[i];
    // ReplayInstance orders regions by address, the MEP by parameters.
    for (auto& region : mep.instances[i].regions)
      for (auto& placed : memory.regions)
        if (placed.live == region.address) {
          KERNELIFT_ASSIGN(region.after, keep(*device, folder, region.before, placed.given, placed.live, placed.size));
        }
    for (size_t v = 0; v < memory.variables.size(); ++v) {
      auto& variable = mep.instances[i].variables[v];
      // A variable that the image does not have keeps its given value.
      const uint64_t given = memory.variables[v].given, live = bench->baseline.variable(i, v);
      KERNELIFT_ASSIGN(variable.after,
                       keep(*device, folder, variable.before, given, live ? live : given, variable.size));
    }
  }
  return std::string();
}

}  // namespace kernelift::sandbox
