// See as_built.h.
#include "sandbox/evaluate/cuda/as_built.h"
#include "sandbox/compile/nvcc_jail.h"

#include <algorithm>
#include <array>

namespace kernelift::sandbox {
namespace {

/// Who is within this share of the best may turn out better by another compiler.
constexpr double kNear = 0.8;
/// A rewritten source says more than a changed value: it is looked at from further away.
constexpr double kNearForSource = 0.5;
constexpr uint64_t kSampled = 8;  ///< Of those behind, one in so many.
constexpr size_t kKept = 512;     ///< Images; a cubin has tens of kilobytes.

}  // namespace

AsBuilt::AsBuilt(const Mep& mep, const std::string& arch, const std::string& source, std::string recorded,
                 std::vector<std::filesystem::path> hidden)
    : kernel_name_(mep.kernel_name), original_(source), application_(std::move(recorded)) {
  auto found = NvccCompiler::find(confined(nvcc_options(mep, arch), std::move(hidden)));
  if (!found.ok()) {
    trouble_ = found.error().message;
    return;
  }
  auto nvcc = std::make_shared<NvccCompiler>(std::move(*found));
  compiler_ = nvcc->program().filename().string();
  build_ = [nvcc](const std::string& text, const std::vector<std::string>& kernels,
                  const std::vector<std::string>& flags) { return nvcc->compile(text, kernels, flags); };
  if (!application_.empty()) return;
  CompileReply own = build_(source, {kernel_name_}, {});
  if (own.ok()) application_ = std::move(own.image);
  else trouble_ = compiler_ + " does not compile the original's slice: " + own.detail.substr(0, own.detail.find('\n'));
}

CompileReply AsBuilt::build(const Candidate& candidate) {
  std::vector<std::string> kernels;
  for (auto& launch : candidate.launches) kernels.push_back(launch.kernel);
  CompileReply reply = build(candidate.source, std::move(kernels), candidate.recipe.unit_flags.nvcc_words());
  if (reply.ok()) return reply;
  CompileReply own = build(original_, {}, {});
  std::lock_guard lock(mutex_);
  if (!own.ok() && !broken_) {
    trouble_ =
        compiler_ + " does not compile the original's slice here: " + own.detail.substr(0, own.detail.find('\n'));
    broken_ = true;
  }
  return reply;
}

CompileReply AsBuilt::build(const std::string& source, std::vector<std::string> kernels,
                            const std::vector<std::string>& flags) {
  if (kernels.empty()) kernels.push_back(kernel_name_);
  Hasher hasher;
  hasher.add(source);
  for (auto& kernel : kernels) hasher.add(kernel);
  for (auto& flag : flags) hasher.add(flag);
  Hash key = hasher.finish();
  std::promise<CompileReply> promise;
  {
    std::unique_lock lock(mutex_);
    if (auto known = built_.find(key); known != built_.end()) {
      auto reply = known->second;
      lock.unlock();
      return reply.get();
    }
    built_.emplace(key, promise.get_future().share());
    order_.push_back(key);
    if (order_.size() > kKept) built_.erase(order_.front()), order_.pop_front();
  }
  CompileReply reply = build_(source, kernels, flags);
  // What takes too long is not waited for twice.
  if (!is_about_source(reply) && reply.outcome != Outcome::TimedOut) reply = build_(source, kernels, flags);
  if (!is_about_source(reply)) {
    std::lock_guard lock(mutex_);
    built_.erase(key), std::erase(order_, key);
  }
  promise.set_value(reply);
  return reply;
}

bool AsBuilt::is_about_source(const CompileReply& reply) {
  if (reply.ok()) return !reply.image.empty();
  if (reply.outcome != Outcome::CompileFailed) return false;
  return std::ranges::any_of(std::array{"): error", "ptxas error", "nvlink error"},
                             [&](auto mark) { return reply.detail.find(mark) != reply.detail.npos; });
}

std::string AsBuilt::trouble() const {
  std::lock_guard lock(mutex_);
  return trouble_;
}

double BuildChoice::bar() const { return kNear * std::min(screened_, built_); }

BuildChoice::Worth BuildChoice::of(const Candidate& candidate, double speedup) {
  // What seems to gain and is not far behind would mislead whoever climbs on clang's figure.
  if (speedup >= bar() && speedup > kSmallestGain) return Worth::Yes;
  double near = candidate.tier == "source" ? bar() * kNearForSource / kNear : bar();
  if (speedup >= near) return Worth::IfIdle;
  return ++behind_ % kSampled == 0 ? Worth::IfIdle : Worth::No;
}

}  // namespace kernelift::sandbox
