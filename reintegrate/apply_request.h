// What `apply` needs, collected from the artefacts of the earlier stages: the candidates from the run, the slice and
// its origins from the MEP, who else is touched from the scan, the kernel's share of the time from the capture.
#pragma once
#include <filesystem>
#include <vector>

#include "core/model/capture.h"
#include "reintegrate/apply.h"
#include "tuner/store/run.h"

namespace kernelift {

/// Whether a patch may carry PTX.
enum class Embedding { Never, Auto, Only };
/// What `--embed` asks for on a device: a usage Error for anything but never, auto and only, and for "only" on the CPU
/// device, where "auto" means never.
Result<Embedding> embedding_on(const std::string& device, const std::string& asked);

/// A kernel's share of the application's run time when it was recorded.
struct KernelShare {
  std::string key;
  double share = 0;
};
/// Most time first.
std::vector<KernelShare> kernel_shares(const Capture& capture);
/// Whether such a share may be that of several kernels: of static ones of one key, in several files.
bool counted_as_one(const std::string& key, const ScanIndex& scan, const std::vector<CapturedInstance>& recorded);
/// 0: not known.
double share_of(const std::string& key, const std::vector<KernelShare>& shares);

/// What a run has to offer to its application.
struct RunOffer {
  ApplyRequest request;               ///< All but the commands, the progress and the candidate.
  std::vector<KernelShare> shares;    ///< Empty: not known.
  std::vector<std::string> recorded;  ///< The command whose run they are of.
  double kernel_share = 0;            ///< Of them, the kernel's; 0: unknown.
  double own_ulps = 0;  ///< How far the original's results lie from the recorded ones, in units of the last place.
  size_t tried = 0;     ///< Candidates of the run, good and bad.
  std::vector<RunTrial>
      promising;  ///< What a source patch may express or what may be embedded, and promises a gain; by id.
  std::optional<RunTrial> compiler_gain;  ///< The best gain that is in how the kernel is compiled, where it cannot be
                                          ///< embedded; one that is confirmed, if any is.
  Embedding embedding = Embedding::Auto;
  MakeEmbedded make_embedded;  ///< Empty: nothing can be embedded here.
  Weigh weigh = {};            ///< Empty: what becomes of other kernels is left to the application's timing.
};

/// `run` is a run file, or a kernel's name for its latest run.
Result<std::filesystem::path> find_run(const std::filesystem::path& run, const std::filesystem::path& state);
/// With `embedding`, what only the tuner's compiler gains is part of the offer.
Result<RunOffer> offer_of(const Run& run, const std::filesystem::path& state, Embedding embedding = Embedding::Never);

/// The commands that patches are judged by. Shares of another run, which was recorded, say nothing of this one: they
/// are dropped, and the report says so.
void judge_by(const std::string& run, const std::string& check, RunOffer& offer);

/// What a candidate promises when its PTX is embedded: against the application's own code. Zeros: nothing, or not known
/// yet.
struct EmbeddedGain {
  double speedup = 0, low = 0;
};
EmbeddedGain embedded_gain(const RunTrial& trial);

}  // namespace kernelift
