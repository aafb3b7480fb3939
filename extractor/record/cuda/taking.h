// One launch's images, from the wait for an idle device to its line in the archive, and when to stop trying: what plain
// launches and the nodes of a graph have in common. Knows nothing of CUPTI or of which launches are worth it.
#pragma once
#include <atomic>
#include <mutex>
#include <optional>
#include <string>

#include "extractor/record/archive.h"
#include "extractor/record/cuda/quiet/gate.h"
#include "extractor/record/cuda/quiet/quiescence.h"
#include "extractor/record/cuda/snapshot.h"

namespace kernelift::record {

class Taking {
 public:
  /// `mutex` guards the archive and the kernels' marks.
  Taking(const RecordConfig& config, Gate& gate, Quiescence& quiescence, Snapshots& snapshots, Archive& archive,
         std::mutex& mutex)
      : config_(config),
        gate_(gate),
        quiescence_(quiescence),
        snapshots_(snapshots),
        archive_(archive),
        mutex_(mutex) {}

  struct Launch {
    CudaKernel& kernel;
    uint64_t index;  ///< Among the kernel's launches.
    Geometry geometry;
    std::vector<std::byte> arguments;
    LaunchSettings settings;
  };

  /// EXPECTS: the thread is inside the gate. True: the gate is closed by this thread, and the device idle. False, with
  /// a note where there is something to say: inside as before.
  bool be_alone(CudaKernel& kernel, const std::string& what, CUcontext context);
  /// Opens the gate again; the thread is inside.
  void be_one_of_many() { gate_.open(), gate_.enter(); }
  /// The images before it runs. Nothing, with a note: they are not to be had.
  std::optional<CapturedInstance> before(Launch launch, CUcontext context);
  /// Waits for it to end, and stores the images after it. False, with a note, if that cannot be; `known_us` is how long
  /// the kernel has taken before.
  bool after(CudaKernel& kernel, CapturedInstance& instance, CUcontext context, double known_us);
  /// Waits for what was just started; false, with a note, if it does not end in time.
  bool wait(CudaKernel& kernel, const std::string& what, CUcontext context, double known_us);

  /// No more images, for this process's life.
  bool off() const { return off_; }
  void stop() { off_ = true; }

 private:
  void abandoned(CudaKernel& kernel, const std::string& what, const std::string& why);

  const RecordConfig& config_;
  Gate& gate_;
  Quiescence& quiescence_;
  Snapshots& snapshots_;
  Archive& archive_;
  std::mutex& mutex_;
  int abandoned_in_a_row_ = 0;  ///< Of whatever kernel; under the lock.
  int endless_ = 0;             ///< Launches in a row that did not end within the patience; under the lock.
  std::atomic<bool> off_{false};
};

}  // namespace kernelift::record
