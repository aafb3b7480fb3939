// The images of one launch: its arguments and everything it can reach, before and after. Runs with the gate closed and
// the device idle; knows nothing of CUPTI or of which launches are worth it.
#pragma once
#include <memory>
#include <string>
#include <unordered_map>

#include "extractor/record/archive.h"
#include "extractor/record/cuda/kernel_table.h"
#include "extractor/record/cuda/launch.h"
#include "extractor/record/cuda/memory/allocations.h"
#include "extractor/record/cuda/memory/device_copies.h"

namespace kernelift::record {

class Snapshots {
 public:
  Snapshots(const CudaDriver& driver, Allocations& allocations, Modules& modules, WorkerThreads& workers)
      : driver_(driver), allocations_(allocations), modules_(modules), workers_(workers) {}

  struct Taken {
    CapturedInstance instance;
    std::vector<std::string> notes;  ///< What was seen and is not in it.
  };
  /// Kernel, launch and arguments as the caller knows them; `instance` brings id, names and settings.
  struct Request {
    CUcontext context;
    const KernelCode& code;  ///< In that context.
    CapturedInstance instance;
    std::string what;  ///< "launch 3 of k(int*)"
    uint64_t most_bytes;
    bool all_memory;
  };
  /// EXPECTS: the device is idle and `request.context` is current. A refusal by name, or trouble, is the Error.
  Result<Taken> before(Request request, Archive& archive, std::mutex& archive_turn);
  Status after(CUcontext context, CapturedInstance& instance);
  void context_gone(CUcontext context);

 private:
  struct PerContext {
    Textures textures;
    DeviceCopies copies;
    Images images;
    PerContext(const CudaDriver& driver, WorkerThreads& workers)
        : textures(driver), copies(driver, textures), images(copies, workers) {}
  };
  PerContext& per_context(CUcontext context);
  /// Asks the driver about argument words that look like addresses and are not known.
  void discover(const std::vector<std::byte>& arguments, CUcontext context);
  void ask_settings(const KernelCode& code, LaunchSettings& settings) const;

  const CudaDriver& driver_;
  Allocations& allocations_;
  Modules& modules_;
  WorkerThreads& workers_;
  std::mutex mutex_;  ///< Guards the table: a context may go while another's images are taken.
  std::unordered_map<CUcontext, std::shared_ptr<PerContext>> contexts_;
  std::shared_ptr<PerContext> current_;
  std::unordered_map<std::string, Image> codes_;  ///< Stored machine code, by its hash.
};

}  // namespace kernelift::record
