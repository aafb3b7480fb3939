// One recorded run of an application, from outside: starts it with the recorder in its environment, waits, finds what
// its processes left behind and puts the recording in its place. An earlier capture is replaced only by one that holds
// something, by renames, and is kept beside it as capture.old.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/process.h"
#include "core/model/capture.h"
#include "extractor/record/config.h"

namespace kernelift::record {

struct RecordRequest {
  std::vector<std::string> command;  ///< The application and its arguments; never a shell.
  std::filesystem::path state;       ///< The state folder; made if need be.
  std::filesystem::path library;     ///< libkernelift_record.so
  /// libkernelift_record_cuda.so and the CUPTI it is to open; empty: NVIDIA's GPUs are not recorded. Whichever device
  /// the application uses answers.
  std::filesystem::path cuda_library, cupti;
  /// libkernelift_record_nvrtc.so, loaded into the application's processes to keep the texts that NVRTC compiles there;
  /// empty: they are not kept.
  std::filesystem::path nvrtc_library;
  RecordConfig config;                 ///< All but `folder`.
  bool application_to_stderr = false;  ///< The application's stdout is printed on ours stderr (for --json).
};

struct RecordOutcome {
  ProcessOutcome application;
  /// The folder that now holds the recording: state/capture, or state/profile when only a profile was asked for. Empty
  /// when there was nothing to keep; an earlier recording then stays where it was.
  std::filesystem::path folder;
  CaptureInfo info;                                  ///< Of all processes that launched kernels, in sum.
  std::vector<std::vector<KernelProfile>> profiles;  ///< Of each of info.processes.
  size_t programs = 0;                               ///< Compiled by NVRTC while the application ran.
  std::vector<CapturedInstance> instances;           ///< Their images stay in the folder.
  uint64_t stored_bytes = 0;                         ///< On disk, all instances together.
  std::vector<std::string> notes;                    ///< Things the user should know, one sentence each.
  bool runtime_seen = false;  ///< Some process used the CPU device's runtime, or NVIDIA's driver.
  bool interrupted = false;   ///< Ctrl-C, or a signal for us, ended the run; what was recorded until then is kept.
};

/// An Error only if the application or the recording could not be started; what the run came to is in the outcome.
Result<RecordOutcome> record_application(const RecordRequest& request);

}  // namespace kernelift::record
