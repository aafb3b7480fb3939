// What a recorder writes and the manners it keeps inside somebody else's process: one capture folder per process, made
// when the first thing is to be written; trouble is noted in the manifest and switches writing off. Shared by the CPU
// device's recorder and NVIDIA's, which differ in how they come by launches and memory. Not thread-safe: callers
// serialise, but for store_chunk of the writer.
#pragma once
#include <chrono>
#include <csignal>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "core/model/capture.h"
#include "extractor/record/reach.h"

namespace kernelift::record {

/// A write past RLIMIT_FSIZE must come back as an error here, not as a signal that ends the application. (On Linux
/// sigprocmask is the calling thread's own mask; pthread_sigmask would ask for a newer glibc.)
class NoFileSizeSignal {
 public:
  NoFileSizeSignal();
  ~NoFileSizeSignal();

 private:
  sigset_t signals_, before_;
  bool blocked_ = false;
};

/// Adds the time it lives to a sum, that `mutex` guards where several threads read it.
class OwnTime {
 public:
  explicit OwnTime(double& sum, std::mutex* mutex = nullptr) : sum_(sum), mutex_(mutex) {}
  ~OwnTime() {
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
    std::unique_lock<std::mutex> lock;
    if (mutex_) lock = std::unique_lock(*mutex_);
    sum_ += seconds;
  }

 private:
  double& sum_;
  std::mutex* mutex_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

class Archive {
 public:
  /// Makes `parent`/process-<pid> (with a number behind it if that is there already, as after an exec). An empty folder
  /// says: this process used the runtime. One without a manifest in it: and never launched a kernel.
  explicit Archive(const std::string& parent);
  /// Makes the files if they are not there yet; false if that cannot be done, or writing was switched off.
  bool open();
  CaptureWriter& writer() { return *writer_; }  ///< EXPECTS: open() was true.
  /// No more images and no files from here on.
  void stop(const std::string& after, const std::string& why);
  bool stopped() const { return stopped_; }
  /// A new kernel's part of its instances' ids: four digits of a hash of what it is, so that runs give equal ones, and
  /// more of them where another kernel of this capture has these four.
  std::string mark_of_kernel(const std::string& identity);
  /// Notes something seen and not captured; repeated and too many notes are dropped.
  void omit(std::string what, std::string why);
  bool omits_anything() const { return !omissions_.empty(); }
  /// False, with a note, if `regions` and `more_bytes` are more than an instance may take or the disk has no room.
  bool has_room(const std::string& what, const std::vector<ReachedRegion>& regions, uint64_t more_bytes,
                uint64_t most_bytes);
  /// `info` holds device, profile, shares and superseded; the rest is filled in here. Switches itself off on an error.
  void write_manifest(CaptureInfo info, double own_seconds, bool complete);

 private:
  std::string folder_;
  std::unique_ptr<CaptureWriter> writer_;
  bool stopped_ = false;
  std::vector<Omission> omissions_;
  std::set<std::string> marks_;
};

/// "3f2a-0007"
std::string instance_id(const std::string& mark, uint64_t launch);
/// "launch 7 of k(int*)": as notes name it.
std::string launch_text(const std::string& key, uint64_t launch);
/// Something in memory was not the same after the launch.
bool changes_memory(const CapturedInstance& instance);
/// Bytes of memory one instance holds before compression and sharing.
uint64_t instance_bytes(const CapturedInstance& instance);

}  // namespace kernelift::record
