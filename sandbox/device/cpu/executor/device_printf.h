// Device printf: CUDA's vprintf takes a format and a buffer of arguments, packed with natural alignment after C's
// default promotions.
#pragma once
#include <string>

namespace kernelift::cpu {

struct FormattedText {
  std::string text;
  int arguments = 0;  ///< What printf returns on a device: the number of arguments read; -1 for a null format.
};

FormattedText format_device_printf(const char* format, const void* arguments);

}  // namespace kernelift::cpu
