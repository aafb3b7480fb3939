// The application's side of a MEP: the machine code that it runs, and its own compiler, where that is here. Our
// candidates are compiled by clang, in milliseconds; what a source patch gives the application is what its compiler,
// nvcc, makes of the text, and the two may disagree widely. So whoever may be the best is built by nvcc during the
// search too.
#pragma once
#include <atomic>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <mutex>

#include "core/compiler/nvcc_image.h"
#include "core/model/candidate/candidate.h"

namespace kernelift::sandbox {

class AsBuilt {
 public:
  /// `flags`: of the file, behind those of the application's command.
  using Build = std::function<CompileReply(const std::string& source, const std::vector<std::string>& kernels,
                                           const std::vector<std::string>& flags)>;
  /// `recorded`: the machine code that the capture holds; empty: the compiler builds `source`, the original's.
  AsBuilt(const Mep& mep, const std::string& arch, const std::string& source, std::string recorded,
          std::vector<std::filesystem::path> hidden = {});

  /// What the application runs; empty: trouble() says why it is not known.
  const std::string& application() const { return application_; }
  /// The application's compiler is here and works, and what it builds can be compared with what the application runs.
  bool builds() const { return build_ && !application_.empty() && !broken_; }
  std::string trouble() const;
  const std::string& compiler() const { return compiler_; }  ///< "nvcc"
  /// Thread-safe; blocks, or answers at once where the text is known. EXPECTS: builds(). What fails says nothing of the
  /// candidate where the original fails too: then builds() is no longer true.
  CompileReply build(const Candidate& candidate);
  /// It was built, or the compiler says what is wrong with the text. All else (a tool that is missing, killed or too
  /// slow) may be the machine's: it was tried again, is not remembered, and says nothing of the candidate.
  static bool is_about_source(const CompileReply& reply);

 private:
  CompileReply build(const std::string& source, std::vector<std::string> kernels,
                     const std::vector<std::string>& flags);

  std::string kernel_name_, original_, application_, trouble_, compiler_;
  Build build_;
  std::atomic<bool> broken_ = false;
  mutable std::mutex mutex_;                                ///< Guards trouble_ as well.
  std::map<Hash, std::shared_future<CompileReply>> built_;  ///< By source, kernels and flags.
  std::deque<Hash> order_;                                  ///< Oldest first, to be forgotten first.
};

/// Who is worth a build by the application's compiler. clang's figures do not order nvcc's: a rewrite may be all of
/// nvcc's gain and nothing to clang, which does it by itself. So the bar is the lower of the two leaders, one who gains
/// nothing by clang is looked at when there is nothing better to do, and some of those far behind are looked at as
/// well.
class BuildChoice {
 public:
  enum class Worth { No, IfIdle, Yes };
  Worth of(const Candidate& candidate, double speedup);
  void screened(double low) { screened_ = std::max(screened_, low); }
  void built(double low) { built_ = std::max(built_, low); }
  /// Who stays below this as clang builds it is not timed any further.
  double bar() const;
  double best_screened() const { return screened_; }
  double best_built() const { return built_; }

 private:
  double screened_ = 1,
         built_ = 1;  ///< The best so far, by lower bounds, as clang and as the application's compiler build them.
  uint64_t behind_ = 0;
};

}  // namespace kernelift::sandbox
