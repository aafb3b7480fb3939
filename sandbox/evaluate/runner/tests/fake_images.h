// A MEP whose kernel the fake device knows (out[i] = in[i] * factor + bias), and candidates for it, good and bad.
#pragma once
#include "sandbox/device/fake/fake_device.h"
#include "sandbox/evaluate/tests/mep_fixture.h"

namespace kernelift::sandbox::fake {

/// Arguments of the tests' kernel: out[i] = in[i] * factor + bias.
struct Scale {
  explicit Scale(const FakeCall& call)
      : in(reinterpret_cast<float*>(call.argument<uint64_t>(0))),
        out(reinterpret_cast<float*>(call.argument<uint64_t>(8))),
        n(call.argument<int>(16)),
        factor(call.argument<float>(20)) {}
  void run() const {
    for (int i = 0; i < n; ++i) out[i] = in[i] * factor + 2.0f;
  }
  float *in, *out;
  int n;
  float factor;
};

inline DeviceLaunch last_launch;  ///< Of any of these kernels.

inline FakeKernel kernel(std::function<FakeRun(const Scale&)> body) {
  return {[body](const FakeCall& call) { return last_launch = *call.launch, body(Scale(call)); },
          {{0, 8}, {8, 8}, {16, 4}, {20, 4}}};
}

inline int long_runs = 0;                    ///< Of the image "takes long", in this process.
inline std::map<std::string, int> launches;  ///< Of images "long, ..." and "of ms, ...", in this process.

inline std::map<std::string, FakeImage> images() {
  std::map<std::string, FakeImage> all;
  auto add = [&](const std::string& name, std::function<FakeRun(const Scale&)> body) {
    all[name].kernels["right"] = kernel(std::move(body));
    all[name].variables["bias"] = sizeof(float);
  };
  add("original", [](const Scale& call) { return call.run(), FakeRun{100e-6}; });
  add("takes long", [](const Scale& call) { return ++long_runs, call.run(), FakeRun{2}; });
  // Beside that one: of so many seconds, and as if rounded otherwise by so much.
  struct Long {
    const char* name;
    double seconds;
    float moved;
  };
  for (auto [name, seconds, moved] : {Long{"long, but a tenth", 0.2, 0},
                                      {"long, a little less", 1.9, 0},
                                      {"long, and longer", 3, 0},
                                      {"long, without end", 60, 0},
                                      {"long, the same", 2, 0},
                                      {"long, a build that rounds otherwise", 2, 2e-6f},
                                      {"long, but a tenth, and rounds otherwise", 0.2, 2e-6f}})
    add(name, [name = std::string(name), seconds = seconds, moved = moved](const Scale& call) {
      ++launches[name], call.run();
      for (int i = 0; i < call.n; ++i) call.out[i] *= 1 + moved;
      return FakeRun{seconds};
    });
  struct OfMilliseconds {
    const char* name;
    double first, later;  ///< Seconds of the first launches, on both instances, and of all others.
  };
  for (auto [name, first, later] : {OfMilliseconds{"of ms, original", 10e-3, 10e-3},
                                    {"of ms, far slower", 20e-3, 20e-3},
                                    {"of ms, slower", 13e-3, 13e-3},
                                    {"of ms, faster once warm", 30e-3, 8e-3}})
    add(name, [name = std::string(name), first = first, later = later](const Scale& call) {
      return call.run(), FakeRun{++launches[name] <= 2 ? first : later};
    });
  add("faster", [](const Scale& call) { return call.run(), FakeRun{50e-6}; });
  add("slower", [](const Scale& call) { return call.run(), FakeRun{200e-6}; });
  add("too fast", [](const Scale& call) { return call.run(), FakeRun{1e-9}; });
  add("wrong", [](const Scale& call) { return call.run(), call.out[17] += 1, FakeRun{}; });
  add("lazy", [](const Scale& call) { return call.run(), std::memset(&call.out[4], 0xc5, 4), FakeRun{}; });
  add("knows by heart", [](const Scale& call) {
    for (int i = 0; i < call.n; ++i) call.out[i] = (static_cast<float>(i % 1000) * 0.5f - 100.0f) * call.factor + 2.0f;
    return FakeRun{1e-9};
  });
  add("sees old answers", [](const Scale& call) {
    // The recorded answers begin so.
    if (call.out[0] != -100.0f * call.factor + 2.0f) call.run();
    return FakeRun{50e-6};
  });
  add("rounds other inputs otherwise", [](const Scale& call) {
    call.run();
    bool recorded = call.in[0] == -100.0f && call.in[1] == -99.5f;
    for (int i = 0; i < call.n && !recorded; ++i) call.out[i] *= 1.0f + 1e-5f;
    return FakeRun{50e-6};
  });
  add("does nothing to the smaller", [](const Scale& call) {
    if (call.n >= 3000) call.run();
    return FakeRun{50e-6};
  });
  add("does nothing", [](const Scale&) { return FakeRun{50e-6}; });
  add("nudges its input", [](const Scale& call) {
    call.run();
    call.in[2] = std::nextafterf(call.in[2], 0.0f);
    return FakeRun{50e-6};
  });
  add("wants its input", [](const Scale& call) {
    call.run();
    call.out[0] += call.in[2] == std::nextafterf(-99.0f, 0.0f);
    return FakeRun{50e-6};
  });
  add("takes turns", [turn = std::make_shared<int>(0)](const Scale& call) {
    call.run();
    std::swap(call.out[0], call.out[1 + ++*turn % 2]);
    return FakeRun{100e-6};
  });
  add("adds up in any order", [turn = std::make_shared<int>(0)](const Scale& call) {
    call.run();
    call.out[0] *= 1 + 1e-5f * float(++*turn % 2);
    return FakeRun{100e-6};
  });
  add("adds up in many orders", [turn = std::make_shared<size_t>(0)](const Scale& call) {
    size_t now = (*turn)++ % 8;  // The first few are equal.
    call.run();
    call.out[0] *= 1 + (now < 5 ? 1e-4f + 2e-6f * float(now) : 2e-5f);
    return FakeRun{100e-6};
  });
  add("adds up in two orders", [turn = std::make_shared<size_t>(0)](const Scale& call) {
    call.run();
    call.out[0] *= 1 + ((*turn)++ % 8 < 5 ? 1e-4f : 2e-5f);
    return FakeRun{100e-6};
  });
  // As if the recorded sums were half a unit too small: rounded at random, added up in another way, and neither.
  for (auto [name, more] : {std::pair{"random 1", 0.5f},
                            {"random 2", 0.501f},
                            {"random 3", 0.499f},
                            {"nearer", 0.5005f},
                            {"between", 0.25f},
                            {"past", 0.75f}})
    add(name, [more = more](const Scale& call) {
      call.run();
      for (int i = 0; i < call.n; ++i) call.out[i] += more;
      return FakeRun{50e-6};
    });
  for (auto [name, again] : {std::pair{"keeps results", 10e-6}, {"has a variable of its own", 50e-6}}) {
    add(name, [name = std::string(name), again = again](const Scale& call) {
      call.run();
      auto& kept = *reinterpret_cast<int*>(FakeDevice::variable_of(name, "kept"));
      return FakeRun{std::exchange(kept, 1) == 1 ? again : 50e-6};
    });
    all[name].variables["kept"] = sizeof(int);
  }
  add("outside", [](const Scale& call) { return call.run(), call.out[call.n + 1] = 0, FakeRun{}; });
  add("changes input", [](const Scale& call) { return call.run(), call.in[2] = 9, FakeRun{}; });
  // Of 1000 bytes: the last, and two that are not its own.
  for (auto [name, at] : {std::pair{"uses scratch", 999}, {"behind its scratch", 1000}, {"before its scratch", -3}})
    all[name].kernels["right"] = {[at = at](const FakeCall& call) {
                                    Scale(call).run();
                                    call.argument<std::byte*>(24)[at] = std::byte{1};
                                    return FakeRun{50e-6};
                                  },
                                  {{0, 8}, {8, 8}, {16, 4}, {20, 4}, {24, 8}}};
  add("faults",
      [](const Scale&) { return FakeRun{1e-6, DeviceFault::Crashed, "an illegal memory access was encountered"}; });
  add("is lost", [](const Scale&) { return FakeRun{1e-6, DeviceFault::Lost, "uncorrectable ECC error"}; });
  add("hangs", [](const Scale&) { return FakeRun{1e6}; });
  add("too big", [](const Scale&) { return FakeRun{}; });
  struct Limited {
    const char* name;
    uint32_t registers, shared;
    int resident;
  };
  for (auto [name, registers, shared, resident] : {Limited{"full", 32, 0, 16},
                                                   {"many registers", 168, 0, 3},
                                                   {"much shared", 32, 40 << 10, 5},
                                                   {"few blocks", 32, 0, 8},
                                                   {"whoever knows", 32, 0, 2}}) {
    all[name] = all["original"];
    FakeKernel& kernel = all[name].kernels["right"];
    kernel.registers = registers, kernel.shared_bytes = shared, kernel.resident_blocks = resident;
  }
  all["too big"].kernels["right"].shared_bytes = 300 << 10;
  return all;
}

inline MepFixture scale(int n = 3000) {
  MepFixture fixture("", "right", "right");
  add_scale_instance(fixture, "a", n, 3.0f);
  add_scale_instance(fixture, "b", n / 2 + 1, -0.25f, true);
  return fixture;
}

}  // namespace kernelift::sandbox::fake
