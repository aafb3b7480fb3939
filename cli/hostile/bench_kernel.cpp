// Lines of a kernel's file:
//   //! key CANONICAL-KEY           //! mangled NAME
//   //! buffer NAME ELEMENT SIZE FILL [const]     SIZE: an expression over n and blocks
//   //! value NAME TYPE VALUE                     int or float; VALUE may be n
//   //! variable NAME ELEMENT COUNT FILL [constant]
//   //! launch ID GRID BLOCK N [held-out] [cpu|cuda]   GRID, BLOCK: 64 or 16x16; on that device only
//   //! covers SIZE…                              what the application's grids cover, along x, y, z: as in
//                                                 `<<<(n + 255) / 256, 256>>>`
// Buffers and values are the kernel's parameters, in this order. FILL is a number, or:
//   ramp     0.5 * (i % 1000) - 100, for integers i % 1000: a formula, which a candidate can know by heart
//   random   floats in (0, 1), integers below 256
//   special  random, but every seventh is NaN, -0, an infinity, a denormal or the largest float
#include "cli/hostile/bench_kernel.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <set>

#include "core/base/file.h"
#include "sandbox/evaluate/evaluate.h"

namespace fs = std::filesystem;

namespace kernelift::cli {
namespace {

constexpr uint64_t kFirstAddress = 0x200000000000;
constexpr uint64_t kSpacing = uint64_t(64) << 20;

std::vector<std::byte> filled(const std::string& element, uint64_t count, const std::string& fill, uint64_t seed) {
  std::mt19937_64 random(seed);
  const bool real = element == "float" || element == "double";
  std::vector<std::byte> bytes(count * (element == "double" ? 8 : 4));
  constexpr float kSpecial[] = {std::numeric_limits<float>::quiet_NaN(),
                                -0.0f,
                                std::numeric_limits<float>::infinity(),
                                1e-41f,
                                std::numeric_limits<float>::max(),
                                -std::numeric_limits<float>::infinity(),
                                -3e-42f,
                                0.0f};
  for (uint64_t i = 0; i < count; ++i) {
    double value = 0;
    if (fill == "ramp") value = real ? 0.5 * double(i % 1000) - 100 : double(i % 1000);
    else if (fill == "random" || fill == "special")
      value = real ? double(random() >> 11) / double(uint64_t(1) << 53) : double(random() & 255);
    else value = std::atof(fill.c_str());
    if (fill == "special" && real && i % 7 == 3) value = kSpecial[(i / 7) % std::size(kSpecial)];
    const auto narrow = static_cast<float>(value);
    const auto whole = static_cast<int32_t>(real ? 0 : value);
    if (element == "double") std::memcpy(&bytes[i * 8], &value, 8);
    else if (real) std::memcpy(&bytes[i * 4], &narrow, 4);
    else std::memcpy(&bytes[i * 4], &whole, 4);
  }
  return bytes;
}

/// "16x16" as a Dim3.
Result<Dim3> axes(const std::string& text, const std::string& where) {
  Dim3 dim;
  int got = std::sscanf(text.c_str(), "%ux%ux%u", &dim.x, &dim.y, &dim.z);
  if (got < 1 || dim.count() == 0) return environment_error(where + ": '" + text + "' is no geometry");
  return dim;
}

void add_argument(MepInstance& instance, const void* value, size_t size) {
  while (instance.arguments.size() % size) instance.arguments.push_back(std::byte{0});
  instance.parameters.push_back({uint32_t(instance.arguments.size()), uint32_t(size)});
  auto* bytes = static_cast<const std::byte*>(value);
  instance.arguments.insert(instance.arguments.end(), bytes, bytes + size);
}

class Maker {
 public:
  Maker(const SuiteFile& file, const fs::path& folder, bool cuda)
      : file_(file), folder_(folder), elsewhere_(cuda ? "cpu" : "cuda") {}

  Result<Mep> make() {
    mep_.kernel_key = mep_.kernel_name = file_.value("key"), mep_.kernel_mangled = file_.value("mangled");
    mep_.kernel_id = file_.name, mep_.slice_mode = "slice", mep_.captured_on = "cpu", mep_.inputs = "synth";
    KERNELIFT_TRY(write_atomically(folder_ / "kernel.cu", file_.text));
    for (auto& line : file_.values("launch")) KERNELIFT_TRY(add_launch(words_of(line)));
    if (mep_.instances.empty()) return wrong("there is no launch");
    if (const auto sizes = words_of(file_.value("covers")); !sizes.empty()) KERNELIFT_TRY(add_site(sizes));
    return mep_;
  }

 private:
  Error wrong(const std::string& what) const { return environment_error(file_.path.string() + ": " + what); }

  Status add_launch(const std::vector<std::string>& words) {
    if (words.size() < 4) return wrong("a launch is ID GRID BLOCK N");
    const std::set<std::string> marks(words.begin() + 4, words.end());
    if (marks.contains(elsewhere_)) return done();
    MepInstance instance;
    instance.id = words[0], instance.held_out = marks.contains("held-out");
    KERNELIFT_ASSIGN(instance.geometry.grid, axes(words[1], file_.path.string()));
    KERNELIFT_ASSIGN(instance.geometry.block, axes(words[2], file_.path.string()));
    n_ = size_of_[instance.id] = std::atoll(words[3].c_str()), blocks_ = int64_t(instance.geometry.grid.count());
    const bool first = mep_.instances.empty();
    for (auto& [word, rest] : file_.data) {
      if (word == "buffer") KERNELIFT_TRY(add_buffer(instance, words_of(rest), first));
      if (word == "value") KERNELIFT_TRY(add_value(instance, words_of(rest), first));
      if (word == "variable") KERNELIFT_TRY(add_variable(instance, words_of(rest)));
    }
    mep_.instances.push_back(std::move(instance));
    return done();
  }

  /// The launch in the application's text, which every recorded one must follow.
  Status add_site(const std::vector<std::string>& sizes) {
    LaunchSite site;
    for (auto& parameter : mep_.parameters) site.argument_text.push_back(parameter.name);
    for (int axis = 0; axis < 3; ++axis) {
      const int64_t threads = along(mep_.instances[0].geometry.block, axis);
      site.block[axis] = Expression::constant(threads);
      site.grid[axis] = Expression::constant(1);
      if (static_cast<size_t>(axis) >= sizes.size()) continue;
      KERNELIFT_ASSIGN(Expression size, Expression::parse(sizes[static_cast<size_t>(axis)]));
      site.grid[axis] = ceil_div(size, Expression::constant(threads));
    }
    for (auto& instance : mep_.instances)
      for (int axis = 0; axis < 3; ++axis) {
        const bool follows = along(instance.geometry.block, axis) == along(mep_.instances[0].geometry.block, axis);
        auto blocks = site.grid[axis]->evaluate({{"n", size_of_[instance.id]}});
        if (!follows || !blocks.ok() || *blocks != along(instance.geometry.grid, axis))
          return wrong("launch " + instance.id + " does not cover " + file_.value("covers"));
      }
    mep_.launches.push_back(std::move(site));
    return done();
  }

  Status add_buffer(MepInstance& instance, const std::vector<std::string>& words, bool first) {
    if (words.size() < 4) return wrong("a buffer is NAME ELEMENT SIZE FILL [const]");
    KERNELIFT_ASSIGN(auto size, Expression::parse(words[2]));
    KERNELIFT_ASSIGN(int64_t count, size.evaluate({{"n", n_}, {"blocks", blocks_}}));
    const bool constant = words.size() > 4 && words[4] == "const";
    auto bytes = filled(words[1], uint64_t(count), words[3], instance.regions.size() + 7 * mep_.instances.size());
    const uint64_t address = kFirstAddress + instance.regions.size() * kSpacing;
    MepRegion region;
    region.address = address, region.size = bytes.size();
    region.parameter = int(instance.parameters.size());
    region.element = words[1], region.reached_from = Origin::of_argument(instance.parameters.size());
    KERNELIFT_ASSIGN(region.before, Mep::store(folder_, bytes));
    region.after = region.before;
    instance.regions.push_back(std::move(region));
    add_argument(instance, &address, sizeof address);
    if (first) mep_.parameters.push_back({words[0], words[1] + " *", words[1], constant, {}});
    return done();
  }

  Status add_value(MepInstance& instance, const std::vector<std::string>& words, bool first) {
    if (words.size() < 3) return wrong("a value is NAME TYPE VALUE");
    const auto real = static_cast<float>(std::atof(words[2].c_str()));
    const auto whole = static_cast<int32_t>(words[2] == "n" ? n_ : std::atoll(words[2].c_str()));
    if (words[1] == "float") add_argument(instance, &real, sizeof real);
    else if (words[1] == "int") add_argument(instance, &whole, sizeof whole);
    else return wrong("a value's type is int or float");
    if (first) mep_.parameters.push_back({words[0], words[1], "", false, words[1]});
    return done();
  }

  Status add_variable(MepInstance& instance, const std::vector<std::string>& words) {
    if (words.size() < 4) return wrong("a variable is NAME ELEMENT COUNT FILL [constant]");
    MepVariable variable;
    variable.name = variable.key = variable.spelling = words[0], variable.element = words[1];
    variable.constant = words.size() > 4 && words[4] == "constant";
    auto bytes = filled(words[1], uint64_t(std::atoll(words[2].c_str())), words[3], 99 + instance.variables.size());
    variable.size = bytes.size();
    KERNELIFT_ASSIGN(variable.before, Mep::store(folder_, bytes));
    variable.after = variable.before;
    instance.variables.push_back(std::move(variable));
    return done();
  }

  const SuiteFile& file_;
  fs::path folder_;
  std::string elsewhere_;  ///< The device that this MEP is not for.
  Mep mep_;
  int64_t n_ = 0, blocks_ = 0;
  std::map<std::string, int64_t> size_of_;  ///< n by instance.
};

}  // namespace

Result<BenchKernel> BenchKernel::of(SuiteFile file) {
  KERNELIFT_TRY(file.knows_only({"key", "mangled", "buffer", "value", "variable", "launch", "covers"}));
  return BenchKernel{std::move(file)};
}

Result<Mep> BenchKernel::make_mep(const fs::path& folder, bool cuda) const {
  std::error_code code;
  fs::create_directories(folder / "data", code);
  if (code) return environment_error("cannot create " + folder.string() + ": " + code.message());
  KERNELIFT_ASSIGN(Mep mep, Maker(file, folder, cuda).make());
  KERNELIFT_ASSIGN(std::string unanswered, sandbox::answer_by_original(folder, mep));
  if (!unanswered.empty()) return environment_error(file.path.string() + ": " + unanswered);
  KERNELIFT_TRY(mep.write(folder));
  return mep;
}

fs::path answer_file(const fs::path& folder, const Mep& mep) {
  return folder / "data" / mep.instances.front().regions.back().after;
}

}  // namespace kernelift::cli
