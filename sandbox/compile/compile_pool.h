// Warm compile workers behind one blocking call. A candidate that crashes, stalls or bloats the compiler costs one
// worker process: it is ended, the pass it died in becomes the reply, and a recipe that did that is refused from then
// on without being tried again. The front end's output is kept per source text, so that trying recipes on a known
// source skips it.
#pragma once
#include <chrono>
#include <condition_variable>
#include <list>
#include <map>
#include <memory>
#include <mutex>

#include "core/base/file.h"
#include "core/compiler/frontend.h"
#include "sandbox/compile/compile_message.h"
#include "sandbox/jail/fork_server.h"

namespace kernelift {

struct CompilePoolOptions {
  unsigned workers = 0;  ///< 0: one per core.
  FrontendOptions frontend;
  CompileTarget target = CompileTarget::Cpu;
  bool few = false;                              ///< A compile or two is all: warming up would cost more than it saves.
  std::chrono::milliseconds time_limit{30'000};  ///< Of one candidate's compile, as its worker's CPU time.
  uint64_t memory_bytes = 4ull << 30;            ///< Of one worker, beyond what it is born with.
  std::vector<std::filesystem::path> readable;   ///< Beyond the system's and our own headers: the -I folders.
};

class CompilePool {
 public:
  static constexpr uint64_t kAnyEra = ~uint64_t(0);
  static Result<std::unique_ptr<CompilePool>> start(CompilePoolOptions options);
  ~CompilePool();

  /// The kernel's own source: compiled without admission, and what it holds becomes what candidates may hold.
  CompileReply compile_own(const std::string& source);
  /// The kernel's own source again, after compile_own, in other ways that are as right: fused so or otherwise,
  /// separately rounded, reassociated, not vectorised, blocks from the last to the first. Images that differ from `own`
  /// and from each other; ways that do not compile are left out. They show how far rounding alone moves the results.
  std::vector<std::string> compile_roundings(const std::string& source, const CompileReply& own);
  /// The same with its sums rounded at random (sums.h), each image in its own way. None: it has no sums.
  std::vector<std::string> compile_random_sums(const std::string& source, const CompileReply& own);
  /// Thread-safe; blocks until a worker is free and done, or until the era that it is for is over.
  CompileReply compile(const std::string& source, const Recipe& recipe, uint64_t era = kAnyEra);
  /// What is wanted for an earlier era only is given up: its workers are ended at once, and nobody is blamed for it.
  void begin_era(uint64_t era);

  unsigned workers() const { return static_cast<unsigned>(slots_.size()); }
  /// Stops workers in their tracks while something is being timed. Counted: as many resumes as pauses.
  void pause();
  void resume();
  int replaced() const { return replaced_; }  ///< Workers that had to be ended, for reports and tests.

 private:
  struct Slot {
    std::optional<Worker> worker;
    bool busy = false;
    uint64_t era = kAnyEra;  ///< Of what it is busy with.
  };
  explicit CompilePool(CompilePoolOptions options) : options_(std::move(options)) {}
  CompileReply run(const CompileRequest& request, uint64_t era = kAnyEra);
  CompileReply serve(Slot& slot, const CompileRequest& request);
  CompileReply blame(Slot& slot, const CompileRequest& request, Arrival how);
  Frame wait_for_reply(Worker& worker, std::chrono::milliseconds limit);
  std::chrono::milliseconds limit_of(const CompileRequest& request) const;
  /// nullptr: the era is over.
  Slot* acquire(uint64_t era);
  void release(Slot& slot);
  /// With this recipe: on every source, or on this one.
  static std::string guilt_key(const CompileRequest& request, bool everywhere);
  CompileRequest request_again(const std::string& source, const CompileReply& own) const;
  /// All at once: images that differ from `own` and from each other.
  std::vector<std::string> images_of(const std::vector<CompileRequest>& requests, const CompileReply& own);

  CompilePoolOptions options_;
  std::optional<TemporaryFolder> folder_;
  std::unique_ptr<ForkServer> fork_server_;
  mutable std::mutex mutex_;
  std::condition_variable free_;
  std::list<Slot> slots_;
  std::vector<std::string> own_;  ///< Admission identities of the slice.
  struct Kept {
    std::string bitcode;
    uint64_t used = 0;
  };
  std::map<Hash, Kept> kept_;  ///< By source text; the least recently used goes first.
  uint64_t uses_ = 0;
  size_t kept_bytes_ = 0;
  std::map<std::string, CompileReply> guilty_;  ///< guilt_key() → what came of it.
  uint64_t era_ = 0;
  int pauses_ = 0;
  std::atomic<int> replaced_ = 0;
};

}  // namespace kernelift
