// Collects the input of `apply` from the artefacts of the earlier stages: the candidates from the run, the slice and
// its origins from the MEP, other kernels that use the same code from the scan, the kernel's share of the run time from
// the capture.
#pragma once
#include <filesystem>
#include <functional>
#include <vector>

#include "core/model/capture.h"
#include "reintegrate/apply.h"
#include "tuner/store/run.h"

namespace kernelift::reintegrate {

/// Whether a patch may carry PTX.
enum class Embedding { Never, Auto, Only };
/// Parses the value of `--embed` for a device. On the CPU device "auto" means never and "only" is a usage Error, as is
/// any other word.
Result<Embedding> embedding_on(const std::string& device, const std::string& asked);

/// The verdict on a confirmed candidate with what the GPU vendor's tools report of it (Verdict::sanitized), as
/// `built_by` builds it. An Error says nothing about the candidate.
using Inspect = std::function<Result<Verdict>(const tuner::RunTrial&, BuiltBy built_by)>;

/// The constants of the application, with their values, with other values of which a candidate with these figures is
/// not known to be right. An Error: that could not be asked.
using AskConstants = std::function<Result<Bindings>(const Candidate&, const Verdict& figures)>;

/// A kernel's share of the application's run time when it was recorded.
struct KernelShare {
  std::string key;
  double share = 0;
};
/// The shares of all profiled kernels, largest first: of the run, of the time of all kernels, or of the time from the
/// first kernel to the last.
enum class ShareOf { Run, Kernels, Span };
std::vector<KernelShare> kernel_shares(const Capture& capture, ShareOf whole = ShareOf::Run);
/// True if a line of the profile may be the sum of several kernels: static kernels of one key in several files.
bool profile_line_is_ambiguous(const std::string& key, const ScanIndex& scan,
                               const std::vector<CapturedInstance>& recorded);
/// The share of the kernel; 0 if it is not known.
double share_of(const std::string& key, const std::vector<KernelShare>& shares);

/// The candidates that a run offers to its application, and what is known about them.
struct RunOffer {
  ApplyRequest request;               ///< Complete but for the commands, the progress callback and the candidate.
  std::vector<KernelShare> shares;    ///< Shares of all kernels; empty: not known.
  std::vector<std::string> recorded;  ///< The recorded command, to whose run the shares belong.
  double kernel_share = 0;            ///< This kernel's share; 0: unknown.
  double own_ulps =
      0;             ///< Largest distance of the original's results from the recorded ones, in units in the last place.
  size_t tried = 0;  ///< Number of candidates in the run, good and bad.
  std::vector<tuner::RunTrial>
      promising;  ///< Candidates with a gain that a source patch or embedded PTX may carry; by id.
  /// The best gain that lies in how the kernel is compiled and cannot be embedded; a confirmed one, if there is any.
  std::optional<tuner::RunTrial> compiler_gain;
  Embedding embedding = Embedding::Auto;
  MakeEmbedded make_embedded;       ///< Empty: nothing can be embedded here.
  Inspect inspect = {};             ///< Empty: no such tool is installed, or the device is no GPU.
  AskConstants ask_constants = {};  ///< Empty: nothing is asked, and no patch says what it needs of them.
  JudgeOthers judge_others = {};    ///< Empty: the effect on other kernels shows only in the application's timing.

  bool can_embed() const { return make_embedded && embedding != Embedding::Never; }
};

/// `run` is a run file, or a kernel's name for its latest run.
Result<std::filesystem::path> find_run(const std::filesystem::path& run, const std::filesystem::path& state);
/// Unless `embedding` is Never, gains that only the tuner's own compiler can make are part of the offer.
Result<RunOffer> offer_of(const tuner::Run& run, const std::filesystem::path& state,
                          Embedding embedding = Embedding::Never);

/// Sets what patches are judged by: the commands, and a figure that the run prints. A kernel's share of a figure is
/// known for the kernels' span alone, if `state` has a profile, and else nothing is predicted for one. If the recorded
/// run had another command line, its shares do not apply to this one: they are dropped, and the report says so.
void set_commands(const std::string& run, const std::string& check, const std::optional<Metric>& metric,
                  RunOffer& offer);

/// A candidate's speedup over the application's own code when its PTX is embedded. Zeros: no gain, or not known yet.
struct EmbeddedGain {
  double speedup = 0, low = 0;
};
EmbeddedGain embedded_gain(const tuner::RunTrial& trial);

}  // namespace kernelift::reintegrate
