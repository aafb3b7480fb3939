// Who touched memory last, as far as addresses among kernels' arguments and of copies and fills tell. What a kernel
// finds in the caches depends on it: lines that it read itself the last time lie elsewhere than lines that another
// kernel has written since. Equal addresses only: neither sizes nor what stands behind pointers in memory is looked at.
#pragma once
#include <cstdint>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "extractor/record/instance_chooser.h"

namespace kernelift::record {

class LastTouch {
 public:
  /// `kernel` is about to be launched, with addresses at these offsets of its arguments. Which of them lead to memory
  /// that something else touched last.
  ArgumentSet launched(const void* kernel, std::span<const std::byte> arguments,
                       const std::vector<uint32_t>& addresses);
  /// A copy to `address`, or a fill.
  void written(uint64_t address);

 private:
  void make_room();

  std::mutex turn_;
  std::unordered_map<uint64_t, const void*> last_;  ///< A kernel; a mark for a copy or fill; null: not known.
};

}  // namespace kernelift::record
