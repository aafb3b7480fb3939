// What the application's process holds of NVRTC's programs: their texts as they are given, until they are compiled.
#pragma once
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "core/model/runtime_program.h"

namespace kernelift::record {

/// The functions of NVRTC that a compile is read by. Results: 0 is success.
struct NvrtcReader {
  using Program = void*;
  int (*size_of_cubin)(Program, size_t*) = nullptr;
  int (*cubin)(Program, char*) = nullptr;
  int (*size_of_ptx)(Program, size_t*) = nullptr;
  int (*ptx)(Program, char*) = nullptr;
  int (*lowered_name)(Program, const char* expression, const char** lowered) = nullptr;
};

class LivePrograms {
 public:
  void created(void* program, const char* source, const char* name, int headers, const char* const* texts,
               const char* const* names);
  void named(void* program, const char* expression);
  /// It was compiled: with what came of it, for writing. nullopt if it is not known, or nothing came of it.
  std::optional<RuntimeProgram> compiled(void* program, int options, const char* const* texts,
                                         const NvrtcReader& reader);
  void destroyed(void* program);

 private:
  struct Live {
    RuntimeProgram program;
    std::vector<std::string> expressions;
  };
  std::mutex mutex_;
  std::map<void*, Live> live_;
};

}  // namespace kernelift::record
