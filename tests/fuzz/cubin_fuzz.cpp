// Any bytes as a GPU image, and as the embedded code of a program for the CPU device.
#include "core/toolchain/cubin.h"

#include "core/tests/handmade_cubin.h"
#include "core/toolchain/fat_blob.h"
#include "tests/fuzz/fuzz.h"

using namespace kernelift;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto read = [](std::string_view image) {
    (void)read_cubin(image), (void)cubin_kernels(image), (void)read_texture_use(image);
    (void)read_fat_blob({image.data(), image.size()});
  };
  read(text);
  static const std::string sound = [] {
    HandmadeCubin made;
    made.symbol("k", STT_FUNC, 0, 4, 64, 0, STB_GLOBAL);
    made.symbol("table", STT_OBJECT, 0, 2, 256);
    made.code = {0x0000000000007918, 0x000fc00000000000};
    auto bytes = made.bytes();
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }();
  read(fuzz::damaged(sound, text));
  return 0;
}
