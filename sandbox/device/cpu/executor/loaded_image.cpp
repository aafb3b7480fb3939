// An image in memory becomes a loaded library through a memfd, so nothing is written to disk and two images of one name
// never meet. The head is checked before anything else is believed.
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <set>

#include "sandbox/device/cpu/cpu_device.h"
#include "sandbox/device/cpu/executor/launch_state.h"

namespace kernelift::cpu {

struct LoadedImage::State {
  void* library = nullptr;
  const kl_image* image = nullptr;
  ~State() {
    if (library) dlclose(library);
  }
};

namespace {

/// dlopen takes an equal path for a library that it has already, and numbers of descriptors come back once closed: a
/// count of loads is spelled into the path as "/." and "/".
std::string unique_path(int file) {
  static std::atomic<unsigned> loads{0};
  std::string path = "/proc/self/fd";
  for (unsigned bits = ++loads; bits; bits >>= 1) path += bits & 1 ? "/." : "/";
  return path + "/" + std::to_string(file);
}

}  // namespace

void open_image_libraries() { (void)dlopen("libmvec.so.1", RTLD_LAZY); }

LoadedImage::LoadedImage(std::unique_ptr<State> state) : state_(std::move(state)) {}
LoadedImage::~LoadedImage() = default;

Result<std::shared_ptr<LoadedImage>> LoadedImage::load(std::span<const char> elf, const std::string& name) {
  if (elf.size() < 4 || std::memcmp(elf.data(), "\177ELF", 4) != 0)
    return environment_error(name + " is not a CPU image (no ELF header); compile it again");
  const int file = memfd_create(("kernelift:" + name).substr(0, 200).c_str(), MFD_CLOEXEC);
  if (file < 0) return environment_error("cannot make room in memory for image " + name + ": " + std::strerror(errno));
  for (size_t written = 0; written < elf.size();) {
    const ssize_t n = write(file, elf.data() + written, elf.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      const std::string why = std::strerror(errno);
      close(file);
      return environment_error("cannot make room in memory for image " + name + ": " + why);
    }
    written += size_t(n);
  }
  auto state = std::make_unique<State>();
  const std::string path = unique_path(file);
  state->library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  const std::string why = state->library ? "" : dlerror();
  close(file);
  if (!state->library) return environment_error("cannot load CPU image " + name + ": " + why);
  state->image = static_cast<const kl_image*>(dlsym(state->library, "kernelift_image"));
  if (!state->image || state->image->magic != KL_IMAGE_MAGIC)
    return environment_error(name + " is not a CPU image (it does not export kernelift_image)");
  if (state->image->version != KL_IMAGE_VERSION)
    return environment_error("CPU image " + name + " has version " + std::to_string(state->image->version) +
                             ", this Kernelift runs version " + std::to_string(KL_IMAGE_VERSION) +
                             "; compile it again");
  if (state->image->services) *state->image->services = &services();
  return std::shared_ptr<LoadedImage>(new LoadedImage(std::move(state)));
}

const kl_image& LoadedImage::image() const { return *state_->image; }

const kl_kernel* LoadedImage::find_kernel(std::string_view mangled) const {
  for (uint32_t i = 0; i < image().kernel_count; ++i)
    if (mangled == image().kernels[i].name) return &image().kernels[i];
  return nullptr;
}

std::set<CodePlace> LoadedImage::unreached() const {
  std::set<CodePlace> reached, missed;
  for (uint32_t i = 0; i < image().code_block_count; ++i) {
    const kl_code_block& block = image().code_blocks[i];
    if (block.line == 0) continue;
    if (image().reached[i]) reached.insert({block.line, block.column});
    else if (image().reached[block.entry]) missed.insert({block.line, block.column});
  }
  std::erase_if(missed, [&](auto& place) { return reached.contains(place); });
  return missed;
}

const kl_variable* LoadedImage::find_variable(std::string_view mangled) const {
  for (uint32_t i = 0; i < image().variable_count; ++i)
    if (mangled == image().variables[i].name) return &image().variables[i];
  return nullptr;
}

}  // namespace kernelift::cpu
