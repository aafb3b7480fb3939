// Warm compile workers behind one blocking call. If a candidate makes the compiler crash, hang or exhaust its memory,
// only one worker process is lost: it is ended, the reply names the pass that was running, and the same recipe then
// gets that reply without being tried again. The front end's output is cached per source text, so that it does not run
// again for another recipe.
#pragma once
#include <chrono>
#include <condition_variable>
#include <list>
#include <map>
#include <memory>
#include <mutex>

#include "core/base/file.h"
#include "core/compiler/frontend.h"
#include "core/model/kernel/kernel_model.h"
#include "sandbox/compile/compile_message.h"
#include "sandbox/jail/fork_server.h"

namespace kernelift::sandbox {

struct CompilePoolOptions {
  unsigned workers = 0;  ///< 0: one per core.
  FrontendOptions frontend;
  CompileTarget target = CompileTarget::Cpu;
  bool few = false;                              ///< For few compiles: the warm-up would cost more than it saves.
  std::chrono::milliseconds time_limit{30'000};  ///< CPU time for one candidate's compile.
  uint64_t memory_bytes = 4ull << 30;            ///< Address space of a worker beyond the fork server's.
  uint64_t disk_bytes = 1ull << 30;  ///< Of files that all workers write, where they have a disk of their own.
  /// Further folders that the kernel's own source may read, besides the system's and our headers'. Candidates may read
  /// of them what it did.
  std::vector<std::filesystem::path> readable;
  std::vector<std::filesystem::path> hidden;  ///< Folders that no compile may read, wherever they lie.
};

class CompilePool {
 public:
  static constexpr uint64_t kAnyEra = ~uint64_t(0);
  static Result<std::unique_ptr<CompilePool>> start(CompilePoolOptions options);
  ~CompilePool();

  /// Compiles the kernel's own source without admission; candidates may then contain the same constructs.
  CompileReply compile_own(const std::string& source);
  /// Compiles the kernel's own source again, after compile_own, in other legitimate ways: with other fusing, without
  /// fusing, reassociated, not vectorised, with reversed block order. Returns the images that differ from `own` and
  /// from each other; ways that do not compile are left out. They show how far rounding alone moves the results.
  std::vector<std::string> compile_roundings(const std::string& source, const CompileReply& own);
  /// The same with sums rounded at random (core/compiler/sums.h), each image by another seed. Empty if it has no sums.
  std::vector<std::string> compile_random_sums(const std::string& source, const CompileReply& own);
  /// Compiles a source again, of which `own` is the reply, with the lanes of its warps side by side
  /// (cpu::LowerOptions). Empty if that does not compile. Thread-safe.
  std::string compile_side_by_side(const std::string& source, const Recipe& recipe, const CompileReply& own);
  /// The same for check mode of the CPU device, whatever the pool's target. The reply says why it does not compile.
  CompileReply compile_checked(const std::string& source, const Recipe& recipe, const CompileReply& own);
  /// The same for field runs of the CPU device, of the source as it is: a recipe changes no formula.
  CompileReply compile_for_field(const std::string& source, const CompileReply& own,
                                 NumberKind numbers = NumberKind::Residues);
  /// Thread-safe; blocks until a worker is free and has replied, or until its era is over.
  CompileReply compile(const std::string& source, const Recipe& recipe, uint64_t era = kAnyEra);
  /// What the kernel with this mangled name does with memory, in blocks of that size; admitted like a candidate. An
  /// Error is the compiler's message.
  Result<KernelModel> model(const std::string& source, const std::string& kernel, const Dim3& block);
  /// Abandons compiles of earlier eras: their workers are ended at once, and their recipes are not remembered as
  /// failed.
  void begin_era(uint64_t era);

  unsigned workers() const { return static_cast<unsigned>(slots_.size()); }
  /// Stops the workers while something is timed. Each pause() needs a resume().
  void pause();
  void resume();
  /// For others whose work would disturb what is timed. At most half a second: a long race is disturbed little.
  void wait_while_paused();
  int replaced() const { return replaced_; }  ///< Number of workers that had to be ended, for reports and tests.

 private:
  struct Slot {
    std::optional<Worker> worker;
    bool busy = false;
    uint64_t era = kAnyEra;  ///< The era of its request, while busy.
  };
  explicit CompilePool(CompilePoolOptions options) : options_(std::move(options)) {}
  CompileReply run(const CompileRequest& request, uint64_t era = kAnyEra);
  CompileReply serve(Slot& slot, const CompileRequest& request);
  /// Forks a worker and tells it what it may read.
  Result<Worker> spawn();
  /// From now on workers may read these; those that were told otherwise are ended.
  void may_read(std::vector<std::string> paths);
  /// The reply for a worker that crashed, hung or sent a malformed reply; ends the worker and remembers the recipe.
  CompileReply failed(Slot& slot, const CompileRequest& request, Arrival how);
  Frame wait_for_reply(Worker& worker, std::chrono::milliseconds limit);
  std::chrono::milliseconds limit_of(const CompileRequest& request) const;
  /// Waits for a free slot; nullptr if the era is over.
  Slot* acquire(uint64_t era);
  void release(Slot& slot);
  /// A request for a candidate, with the front end's output for its source, if that is kept.
  CompileRequest request_for(const std::string& source, const Recipe& recipe = {});
  void keep(const Hash& key, const CompileReply& reply);
  /// Of all that decides what the front end makes.
  static Hash text_key(const std::string& source, const Recipe& recipe);
  /// The key of this recipe in failures_: for every source, or for the request's source only.
  static std::string failure_key(const CompileRequest& request, bool everywhere);
  /// For a source of which `own` is the reply; with the front end's output, if that is in it or kept.
  CompileRequest request_again(const std::string& source, const CompileReply& own);
  /// Serves all requests in parallel. Returns the images that differ from `own` and from each other.
  std::vector<std::string> images_of(const std::vector<CompileRequest>& requests, const CompileReply& own);

  CompilePoolOptions options_;
  std::optional<TemporaryFolder> folder_;
  std::unique_ptr<ForkServer> fork_server_;
  mutable std::mutex mutex_;
  std::condition_variable free_;
  std::list<Slot> slots_;
  std::vector<std::string> own_;                      ///< Identities of the slice's admission findings.
  std::vector<std::string> own_readable_, readable_;  ///< What the slice may read, and what workers may read now.
  struct Kept {
    std::string bitcode;
    uint64_t used = 0;
  };
  std::map<Hash, Kept> kept_;  ///< By text_key(); the least recently used is dropped first.
  uint64_t uses_ = 0;
  size_t kept_bytes_ = 0;
  std::map<std::string, CompileReply> failures_;  ///< Replies for recipes that made a worker fail, by failure_key().
  uint64_t era_ = 0;
  int pauses_ = 0;
  std::condition_variable resumed_;
  std::atomic<int> replaced_ = 0;
};

}  // namespace kernelift::sandbox
