// A kernel's text: its model, and how it runs on the CPU device in check mode.
#pragma once
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/model/kernel/kernel_model.h"
#include "core/model/launch/geometry.h"
#include "sandbox/device/cpu/cpu_device.h"
#include "tuner/tests/executed/kernel_memory.h"

namespace kernelift::tuner {

/// A text with one kernel, read by the front end once: that takes longer than all that is made of it.
class CompiledText {
 public:
  static Result<CompiledText> make(const std::string& source);
  CompiledText(CompiledText&&) noexcept;
  ~CompiledText();
  /// With blocks of these sizes; nullopt: there is none.
  std::optional<KernelModel> model(const Dim3& block) const;

 private:
  friend class ExecutedText;
  struct State;
  explicit CompiledText(std::unique_ptr<State>);
  std::unique_ptr<State> state_;
};

class ExecutedText {
 public:
  /// The text's only kernel. Refused: the CPU device cannot run it.
  static Result<ExecutedText> make(const CompiledText& text);

  const kl_kernel& kernel() const { return image_->image().kernels[0]; }
  const kl_image& image() const { return image_->image(); }

  struct Outcome {
    std::string fault;  ///< The launch failed; empty: it ran.
    std::vector<AccessFinding> findings;
    KernelMemory::Contents contents;
  };
  /// A launch on the memory's drawn values. `kept`: variables that hold what the launch before left there.
  Outcome run(KernelMemory& memory, const Geometry& geometry, const Bindings& sizes,
              const std::set<std::string>& kept = {}) const;

 private:
  explicit ExecutedText(std::shared_ptr<cpu::LoadedImage> image) : image_(std::move(image)) {}
  std::shared_ptr<cpu::LoadedImage> image_;
};

}  // namespace kernelift::tuner
