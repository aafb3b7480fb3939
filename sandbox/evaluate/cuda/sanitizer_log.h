// The log of NVIDIA's compute-sanitizer about one launch. Tools and versions word their reports differently; what
// stands at the beginning of a line is common to all: a report begins behind "========= ", its details are indented.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace kernelift::sandbox {

struct SanitizerReport {
  std::string what;   ///< "Invalid __shared__ write of size 4 bytes"
  std::string where;  ///< "at sums+0xd0, by thread (128,0,0) in block (0,0,0), access to 0x800 is out of bounds"
  /// The same kind of report: equal but for threads, addresses and places, in which two builds of a kernel differ.
  bool is_like(const SanitizerReport& one) const;
  std::string text() const;
};

struct SanitizerLog {
  std::vector<SanitizerReport> reports;
  bool complete = false;  ///< The tool has written its summary: it ran to the end.
};
SanitizerLog read_sanitizer_log(std::string_view log);

}  // namespace kernelift::sandbox
