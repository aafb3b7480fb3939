// What the original kernel makes of made-up inputs, as the answers that candidates are compared with; see evaluate.h.
// It is run like any candidate: in a confined child, between canaries and guard pages, because made-up inputs may well
// lead it astray.
#include "sandbox/evaluate/baseline.h"
#include "sandbox/evaluate/cpu/trial.h"
#include "sandbox/evaluate/evaluate.h"

namespace kernelift {
namespace {

Error astray(const Mep& mep, const std::string& how) {
  return refused("the inputs made up for " + (mep.kernel_name.empty() ? mep.kernel_key : mep.kernel_name) +
                 " do not suit it: on them the original " + how + "; record a run of the application instead");
}

/// The name of the file that holds `result`, which is `before` again where nothing changed.
Result<std::string> keep(const std::filesystem::path& folder, const std::string& before, const std::byte* given,
                         std::span<const std::byte> result) {
  if (std::equal(result.begin(), result.end(), given)) return before;
  return Mep::store(folder, result);
}

}  // namespace

Result<std::string> answer_by_original(const std::filesystem::path& folder, Mep& mep) {
  CompilePoolOptions pool;
  pool.workers = 1, pool.few = true;
  auto baseline = compile_baseline(mep, folder, pool);
  if (!baseline.ok()) return baseline.error().message;
  baseline->pool.reset();  // The child is forked from this process, which must have no other threads by then.
  TrialCode code;
  code.image = baseline->reply.image;

  Mep open = mep;  // As if nothing changed: there are no answers to map yet.
  for (auto& instance : open.instances) {
    for (auto& region : instance.regions) region.after = region.before;
    for (auto& variable : instance.variables) variable.after = variable.before;
  }
  KERNELIFT_ASSIGN(auto memory, ReplayMemory::map(open, folder));
  TrialSettings settings;
  KERNELIFT_ASSIGN(auto trial, Trial::start(open, *memory, code, nullptr, settings));
  if (auto failure = trial->loaded()) return astray(mep, "cannot be launched: " + failure->detail);
  for (size_t i = 0; i < mep.instances.size(); ++i) {
    memory->restore(i, false);
    if (auto failure = trial->run(Side::Baseline, i))
      return astray(mep, std::string(name(failure->outcome)) + ": " + failure->detail);
    if (auto outside = memory->broken_canary(i)) return astray(mep, "writes " + *outside);
    // Regions lie by address in memory, and as the parameters reach them in the MEP.
    for (auto& region : mep.instances[i].regions)
      for (auto& mapped : memory->instances()[i].regions)
        if (mapped.address == region.address) {
          KERNELIFT_ASSIGN(region.after, keep(folder, region.before, mapped.given, {mapped.live(), mapped.size}));
        }
    auto mapped = memory->instances()[i].variables.begin();
    for (auto& variable : mep.instances[i].variables) {
      KERNELIFT_ASSIGN(variable.after, keep(folder, variable.before, mapped->given,
                                            memory->mirror().subspan(mapped->mirror_offset, mapped->size)));
      ++mapped;
    }
  }
  return std::string();
}

}  // namespace kernelift
