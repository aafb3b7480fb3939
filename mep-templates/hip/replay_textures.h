// ---- textures and surfaces: HIP ---------------------------------------------------------------------------
// On Kernelift's CPU device an object is memory that holds its description, and is put back as memory. Elsewhere they
// are not replayed.

namespace kl_replay {

class Textures {
 public:
#ifdef KERNELIFT_CPU_DEVICE
  static constexpr bool kAreMemory = true;
  void make(const Instance&, const std::function<u64(u64)>&) {}
#else
  static constexpr bool kAreMemory = false;
  void make(const Instance& instance, const std::function<u64(u64)>&) {
    for (int r = 0; r < instance.region_count; ++r)
      if (instance.regions[r].texture) die("textures and surfaces are not replayed by HIP");
  }
#endif
  u64 handle(const Region& region) const { return region.address; }
  void upload() {}
  void download() {}
  void destroy() {}
};

}  // namespace kl_replay
