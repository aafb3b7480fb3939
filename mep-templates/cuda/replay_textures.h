// ---- textures and surfaces: CUDA --------------------------------------------------------------------------
// Objects are made anew, with the handles they had: the driver counts them from 1. An array's texels lie in memory like
// any other region, row after row; they are copied into an array before launches, and out of it where surfaces are
// written. On Kernelift's CPU device an object is memory that holds its description, and is put back as memory.

namespace kl_replay {

class Textures {
 public:
#ifdef KERNELIFT_CPU_DEVICE
  static constexpr bool kAreMemory = true;
  void make(const Instance&, const std::function<u64(u64)>&) {}
  u64 handle(const Region& region) const { return region.address; }
  void upload() {}
  void download() {}
  void destroy() {}
#else
  static constexpr bool kAreMemory = false;

  /// `translated` tells where memory of a recorded address lies now.
  void make(const Instance& instance, const std::function<u64(u64)>& translated) {
    std::vector<const Region*> wanted;
    for (int r = 0; r < instance.region_count; ++r)
      if (instance.regions[r].texture) wanted.push_back(&instance.regions[r]);
    std::sort(wanted.begin(), wanted.end(), [](const Region* a, const Region* b) { return a->address < b->address; });
    for (const Region* region : wanted) {
      const Texture& t = *region->texture;
      cudaResourceDesc resource = {};
      if (t.resource == cudaResourceTypeArray) {
        resource.resType = cudaResourceTypeArray;
        resource.res.array.array = array_of(t, translated(t.memory));
      } else if (t.resource == cudaResourceTypeLinear) {
        resource.resType = cudaResourceTypeLinear;
        resource.res.linear.devPtr = reinterpret_cast<void*>(translated(t.memory));
        resource.res.linear.desc = format_of(t);
        resource.res.linear.sizeInBytes = t.width * texel_bytes(t);
      } else {
        resource.resType = cudaResourceTypePitch2D;
        resource.res.pitch2D.devPtr = reinterpret_cast<void*>(translated(t.memory));
        resource.res.pitch2D.desc = format_of(t);
        resource.res.pitch2D.width = t.width, resource.res.pitch2D.height = t.height;
        resource.res.pitch2D.pitchInBytes = t.row_bytes;
      }
      objects_.push_back({region, made_as(region->address, t, resource), t.surface});
    }
  }
  u64 handle(const Region& region) const {
    for (const Object& object : objects_)
      if (object.region == &region) return object.handle;
    return region.address;
  }
  void upload() {
    for (const Array& array : arrays_) copy_array(array, true);
  }
  void download() {
    for (const Array& array : arrays_)
      if (array.written) copy_array(array, false);
  }
  void destroy() {
    for (const Object& object : objects_) drop(object.handle, object.surface);
    for (const Array& array : arrays_) cudaFreeArray(array.array);
    objects_.clear(), arrays_.clear();
  }

 private:
  struct Array {
    const Texture* shape;
    u64 texels;  ///< Where they lie as memory.
    cudaArray_t array;
    bool written;
  };
  struct Object {
    const Region* region;
    u64 handle;
    bool surface;
  };
  static size_t texel_bytes(const Texture& t) { return static_cast<size_t>(t.channels) * t.bits / 8; }
  static cudaChannelFormatDesc format_of(const Texture& t) {
    int bits = static_cast<int>(t.bits);
    return cudaCreateChannelDesc(bits, t.channels > 1 ? bits : 0, t.channels > 2 ? bits : 0, t.channels > 2 ? bits : 0,
                                 static_cast<cudaChannelFormatKind>(t.format));
  }
  cudaArray_t array_of(const Texture& t, u64 texels) {
    for (Array& known : arrays_)
      if (known.texels == texels) return known.written |= t.surface, known.array;
    cudaChannelFormatDesc format = format_of(t);
    Array made = {&t, texels, nullptr, t.surface};
    need(cudaMalloc3DArray(&made.array, &format, make_cudaExtent(t.width, t.height, t.depth), t.array_flags),
         "making an array as the application had it");
    arrays_.push_back(made);
    return made.array;
  }
  static void copy_array(const Array& array, bool in) {
    const Texture& t = *array.shape;
    size_t height = t.height ? t.height : 1, depth = t.depth ? t.depth : 1;
    cudaMemcpy3DParms copy = {};
    cudaPitchedPtr rows = make_cudaPitchedPtr(reinterpret_cast<void*>(array.texels), t.row_bytes, t.width, height);
    if (in) copy.srcPtr = rows, copy.dstArray = array.array;
    else copy.srcArray = array.array, copy.dstPtr = rows;
    copy.extent = make_cudaExtent(t.width, height, depth);
    copy.kind = cudaMemcpyDeviceToDevice;
    need(cudaMemcpy3DAsync(&copy, 0), "copying an array");
  }
  static u64 make_one(const Texture& t, const cudaResourceDesc& resource) {
    unsigned long long handle = 0;
    if (t.surface) {
      need(cudaCreateSurfaceObject(&handle, &resource), "making a surface object");
      return handle;
    }
    cudaTextureDesc how = {};
    for (int i = 0; i < 3; ++i) how.addressMode[i] = static_cast<cudaTextureAddressMode>(t.address[i]);
    std::memcpy(how.borderColor, t.border, sizeof how.borderColor);
    how.filterMode = t.linear ? cudaFilterModeLinear : cudaFilterModePoint;
    how.readMode = t.as_float ? cudaReadModeNormalizedFloat : cudaReadModeElementType;
    how.normalizedCoords = t.normalized;
    need(cudaCreateTextureObject(&handle, &resource, &how, nullptr), "making a texture object");
    return handle;
  }
  static void drop(u64 handle, bool surface) {
    if (surface) cudaDestroySurfaceObject(handle);
    else cudaDestroyTextureObject(handle);
  }
  /// With the handle that it had, if that is one of a GPU: numbers below it are taken meanwhile. What Kernelift's CPU
  /// device recorded are addresses, which are rewritten where they are found.
  static u64 made_as(u64 wanted, const Texture& t, const cudaResourceDesc& resource) {
    constexpr u64 kMostHandles = 1 << 20;
    std::vector<u64> fillers;
    u64 handle = make_one(t, resource);
    while (wanted < kMostHandles && handle < wanted) {
      fillers.push_back(handle);
      handle = make_one(t, resource);
    }
    for (u64 filler : fillers) drop(filler, t.surface);
    if (wanted < kMostHandles && handle != wanted)
      die("the driver does not give the handle " + std::to_string(wanted) + " that a texture or surface object had");
    return handle;
  }
  std::vector<Array> arrays_;
  std::vector<Object> objects_;
#endif
};

}  // namespace kl_replay
