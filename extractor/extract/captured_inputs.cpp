// See captured_inputs.h. The one thing a MEP cannot reproduce is the address of a module variable: in a new image it is
// another one. Where a type says that there is an address, replay writes the new one there; where a value only
// looks like one in what has no known type, the kernel is refused by name.
#include "extractor/extract/captured_inputs.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <future>
#include <map>
#include <set>
#include <tuple>

#include "core/base/bytes.h"
#include "core/model/kernel_key.h"
#include "core/model/texture.h"
#include "extractor/extract/capture_join.h"
#include "extractor/extract/region_types.h"
#include "mep-templates/mep_writer.h"

namespace kernelift::extractor {
namespace {

constexpr size_t kWord = sizeof(uint64_t);

const CapturedVariable* variable_at(const CapturedInstance& instance, uint64_t address) {
  for (auto& variable : instance.variables)
    if (address >= variable.address && address < variable.address + variable.before.size) return &variable;
  return nullptr;
}

/// The argument that leads to a region, be it by a texture object; -1: none.
int argument_of(const CapturedRegion& region, const CapturedInstance& instance) {
  if (region.kind == MemoryKind::Array && region.reached_from.root == Origin::Root::Memory)
    for (auto& object : instance.regions)
      if (object.kind == MemoryKind::Texture && object.address == region.reached_from.address)
        return object.reached_from.argument;
  return region.reached_from.argument;
}

/// Limits found by looking at one instance's arguments: pointers to memory that was not captured.
void note_strange_pointers(const CapturedInstance& instance, const ScannedKernel& kernel,
                           std::set<std::string>& limits) {
  for (size_t i = 0; i < kernel.parameters.size() && i < instance.parameters.size(); ++i) {
    auto& parameter = kernel.parameters[i];
    if (parameter.pointee.empty() || instance.parameters[i].size != kWord) continue;
    uint64_t value = word_at(instance.arguments, instance.parameters[i].offset);
    bool known = value == 0;
    for (auto& region : instance.regions)
      known |= value >= region.address && value <= region.address + region.before.size;
    if (!known)
      limits.insert("Argument " + parameter.name +
                    " points to memory that was not the device's and was not captured; the kernel must not read it.");
  }
}

/// "variable _ZL5table +8" -> "variable table +8": the image's spelling is no name for a person.
Origin readable(Origin from) {
  if (from.root == Origin::Root::Variable) from.name = canonical_key(from.name);
  return from;
}

/// How a file-scope variable is named in the text of main: its key without what only the compiler adds.
std::string spelling_of(std::string key) {
  for (const char* mark : {"(anonymous namespace)::", "(anonymous)::"})
    for (size_t at; (at = key.find(mark)) != std::string::npos;) key.erase(at, std::strlen(mark));
  return key;
}

class Taker {
 public:
  Taker(const Capture& capture, const ScannedKernel& kernel, const ModuleFacts& facts,
        const std::filesystem::path& folder)
      : capture_(capture), kernel_(kernel), facts_(facts), folder_(folder) {}

  Result<MepInstance> take(const CapturedInstance& from) {
    foreign_.clear();
    for (auto& omission : capture_.info().omissions)
      if (omission.what == from.kernel) limits.insert("The recorder left out: " + omission.why + ".");
    note_strange_pointers(from, kernel_, limits);
    MepInstance instance;
    static_cast<RecordedLaunch&>(instance) = from;
    instance.arguments_typed = knows_all_addresses(from, kernel_);
    for (auto& address : argument_addresses(from, kernel_))
      instance.argument_pointers.push_back(from.parameters[address.parameter].offset + address.member);
    for (auto& attribute : from.settings.other)
      limits.insert("The launch attribute " + attribute + " was recorded and means nothing for a launch by itself.");
    KERNELIFT_TRY(take_variables(from, instance));
    KERNELIFT_TRY(take_arguments(from, instance));
    KERNELIFT_ASSIGN(auto arrays, region_arrays(from, kernel_, [&](const Image& image) { return bytes_of(image); }));
    for (size_t i = 0; i < from.regions.size(); ++i) {
      auto& region = from.regions[i];
      if (region.kind == MemoryKind::Managed || region.kind == MemoryKind::HostMapped ||
          region.kind == MemoryKind::Variable)
        limits.insert("Memory at " + address_text(region.address) + " was " + name(region.kind) +
                      " in the application; here it is the device's own, so timings may differ.");
      for (auto& part : arrays[i]) {
        MepRegion taken;
        taken.address = region.address + part.begin, taken.size = part.end - part.begin, taken.kind = region.kind;
        taken.part_of = arrays[i].size() > 1 ? region.address : 0;
        taken.reached_from = part.parameter < 0 ? readable(region.reached_from)
                                                : Origin::of_argument(size_t(part.parameter), part.member);
        taken.parameter = part.parameter < 0 ? argument_of(region, from) : part.parameter;
        std::string name = "memory at " + address_text(taken.address) + " (" + region.reached_from.text() + ")";
        if (!part.doubt.empty())
          limits.insert(part.doubt + ", in " + name + ": what lies there must come out bit by bit as recorded.");
        KERNELIFT_TRY(take_region(from, std::move(taken), part.type, region.before, region.after, std::move(name),
                                  instance, part.begin));
      }
    }
    KERNELIFT_TRY(take_foreign(from, instance));
    describe_duration(from, instance);
    KERNELIFT_TRY(take_code(from, instance));
    return instance;
  }
  std::set<std::string> limits;
  std::map<std::string, uint64_t> sums;

 private:
  /// What may hold the address of a module variable.
  struct Holder {
    int region = -1, variable = -1;
    std::string name;
    bool untyped = false;  ///< Nothing is known of what it holds.
    PointerLayout pointers;
  };

  /// Adds `region`, which begins at `offset` of the images and whose elements are of `type` as the source spells it. It
  /// is searched for addresses whatever its type: tables of 64-bit integers hold them too.
  Status take_region(const CapturedInstance& from, MepRegion region, const std::string& type, const Image& before,
                     const Image& after, std::string name, MepInstance& instance, uint64_t offset = 0) {
    PointerLayout pointers = pointers_of(type, kernel_);
    if (region.kind == MemoryKind::Texture) pointers = {sizeof(kl_texture), {offsetof(kl_texture, memory)}};
    region.element = element_of(type, kernel_);
    region.pointer_stride = pointers.size, region.pointer_offsets = pointers.offsets;
    region.rewritten = std::any_of(from.like.rewritten.begin(), from.like.rewritten.end(), [&](uint32_t at) {
      return at + kWord <= from.arguments.size() && word_at(from.arguments, at) - region.address < region.size;
    });
    Holder holder{int(instance.regions.size()), -1, std::move(name),
                  region.element == "byte" && pointers.offsets.empty(), pointers};
    KERNELIFT_ASSIGN(region.after, file_of(after, offset, region.size));
    KERNELIFT_ASSIGN(region.before, file_of(before, offset, region.size));
    if (!from.variables.empty()) {
      KERNELIFT_ASSIGN(auto bytes, bytes_of(before));
      KERNELIFT_TRY(find_symbols(from, bytes.subspan(offset, region.size), holder, instance));
    }
    instance.regions.push_back(std::move(region));
    return done();
  }

  /// The cache mode that replays are compared in is written down here, before anything has been replayed: warm, since
  /// what a kernel reads has mostly been written or read just before, by its predecessor or by its own last launch.
  /// What other work writes before every launch is put back before each timed one: it lies elsewhere in the caches then
  /// than after the kernel's own reads. A launch that had no like is compared cold: nothing like it had warmed the
  /// caches, nor the GPU.
  void describe_duration(const CapturedInstance& from, MepInstance& instance) const {
    if (from.microseconds <= 0) return;
    InVivo& vivo = instance.in_vivo;
    auto& like = from.like;
    vivo.cache = like.count == 0 && like.own > 0 ? "cold" : "warm";
    std::string others;
    for (auto& region : instance.regions)
      if (region.rewritten) others += (others.empty() ? "" : ", ") + region.reached_from.text();
    vivo.why = vivo.cache == "cold" ? "no launch like it was seen that could have warmed the caches"
               : others.empty()
                   ? "nothing is known to touch its memory between its launches"
                   : "other work writes " + others + " before its launches, so that is put back before each timed one";
    vivo.launches = like.count, vivo.low = like.low, vivo.high = like.high, vivo.own = like.own;
    if (like.count > 0) vivo.spread = (like.high - like.low) / 2 / from.microseconds;
    char text[128];
    if (like.count > 1)
      std::snprintf(text, sizeof text, "median of %llu launches like it, quartiles %.3f and %.3f us",
                    (unsigned long long)like.count, like.low, like.high);
    else if (like.count == 1) std::snprintf(text, sizeof text, "the only other launch like it");
    else
      std::snprintf(text, sizeof text, "%s",
                    like.own > 0 ? "this launch alone, right after its memory was read" : "median of launches like it");
    vivo.how = std::string(text) + (from.settings.known ? ", by CUPTI" : "");
  }

  /// Relocatable code of several files may have several variables of one key; the file that nvcc wrote into the name
  /// tells which is the kernel's.
  Result<bool> is_own(const CapturedInstance& from, const CapturedVariable& variable) const {
    int namesakes = 0, marked = 0;
    for (auto& other : from.variables)
      if (other.key == variable.key) ++namesakes, marked += is_mark_of(file_mark(other.name), kernel_.tu);
    if (namesakes < 2) return true;
    if (marked == 1) return is_mark_of(file_mark(variable.name), kernel_.tu);
    return refused("the module has " + std::to_string(namesakes) + " variables called " + variable.key +
                   ", and their names do not tell which is " + kernel_.tu + "'s");
  }

  Status take_variables(const CapturedInstance& from, MepInstance& instance) {
    for (auto& variable : from.variables) {
      auto known = facts_.variables.find(variable.key);
      if (known == facts_.variables.end()) continue;  // Of the module, but not of this kernel's text.
      KERNELIFT_ASSIGN(bool own, is_own(from, variable));
      if (!own) continue;
      // What was recorded are places in the application's code.
      if (known->second.code && known->second.fixed) continue;
      if (known->second.code)
        return refused(
            "kernel " + kernel_.name + ": variable " + variable.key +
            " holds addresses of functions, which lie elsewhere in every program; only if it were const could it be "
            "known that the kernel found its initial ones there");
      MepVariable taken;
      taken.recorded_name = variable.name;
      taken.name = known->second.mangled, taken.key = variable.key, taken.spelling = spelling_of(variable.key);
      taken.element = known->second.element, taken.constant = variable.constant, taken.size = variable.before.size;
      if (taken.spelling.find('(') != std::string::npos) {
        limits.insert("Variable " + variable.key +
                      " is local to a function, so its recorded value cannot be set from outside; it starts with its "
                      "initial value.");
        continue;
      }
      KERNELIFT_ASSIGN(taken.after, file_of(variable.after));
      KERNELIFT_ASSIGN(taken.before, file_of(variable.before));
      instance.variables.push_back(std::move(taken));
    }
    // Their contents come second: one may hold the address of another that stands behind it.
    for (size_t i = 0; i < instance.variables.size(); ++i) {
      auto& variable = instance.variables[i];
      auto& known = facts_.variables.at(variable.key);
      KERNELIFT_ASSIGN(auto bytes, Mep::load(folder_, variable.before));
      Holder holder{-1, int(i), "variable " + variable.key,
                    variable.element == "byte" && known.pointers.offsets.empty(), known.pointers};
      if (variable.element == "pointer" && holder.pointers.offsets.empty()) holder.pointers = {kWord, {0}};
      KERNELIFT_TRY(find_symbols(from, bytes, holder, instance));
    }
    return done();
  }

  Status take_arguments(const CapturedInstance& from, MepInstance& instance) {
    PointerLayout pointers{std::max<uint64_t>(instance.arguments.size(), 1), instance.argument_pointers};
    Holder holder{-1, -1, "an argument", true, pointers};
    return find_symbols(from, instance.arguments, holder, instance);
  }

  /// Slots for the addresses of module variables in `bytes`. What is an address by its type is rewritten on replay;
  /// what only looks like one is refused where the type is not known, and a coincidence where it is known to be a
  /// number.
  Status find_symbols(const CapturedInstance& from, std::span<const std::byte> bytes, const Holder& holder,
                      MepInstance& instance) {
    if (from.variables.empty()) return done();
    uint64_t lowest = ~uint64_t(0), highest = 0;
    for (auto& variable : from.variables) {
      lowest = std::min(lowest, variable.address);
      highest = std::max(highest, variable.address + variable.before.size);
    }
    for (size_t at = 0; at + kWord <= bytes.size(); at += kWord / 2) {
      uint64_t value = word_at(bytes, at);
      if (value - lowest >= highest - lowest) continue;
      auto* variable = variable_at(from, value);
      if (!variable) continue;
      auto& offsets = holder.pointers.offsets;
      // Memory by another name: what the kernel's text does not name keeps its address, whatever holds it.
      if (!facts_.variables.contains(variable->key)) {
        foreign_.insert(variable);
        continue;
      }
      bool typed = holder.pointers.size > 0 &&
                   std::find(offsets.begin(), offsets.end(), at % holder.pointers.size) != offsets.end();
      std::string what =
          holder.name + " +" + std::to_string(at) + " holds the address of module variable " + variable->key;
      if (!typed && (!holder.untyped || at % kWord != 0)) continue;
      if (!typed)
        return refused(
            "kernel " + kernel_.name + ": " + what +
            " where the types do not say that there is an address; it lies elsewhere in every program, and a MEP "
            "rewrites only what is surely an address");
      auto target = std::find_if(instance.variables.begin(), instance.variables.end(),
                                 [&](auto& one) { return one.key == variable->key; });
      if (target == instance.variables.end())
        return refused("kernel " + kernel_.name + ": " + what +
                       ", whose value cannot be set from outside: in a MEP there is "
                       "nothing to point to");
      instance.symbols.push_back(
          {holder.region, holder.variable, at, target->key, target->spelling, target->name, value - variable->address});
      constexpr size_t kMostSymbols = 100'000;
      if (instance.symbols.size() > kMostSymbols)
        return refused("kernel " + kernel_.name + ": " + holder.name +
                       " holds more than 100 000 addresses of module variables");
    }
    return done();
  }

  /// Variables of the module that the kernel reaches by address only: plain memory to it, at the recorded address.
  Status take_foreign(const CapturedInstance& from, MepInstance& instance) {
    const auto addresses = argument_addresses(from, kernel_);
    std::set<const CapturedVariable*> taken;
    while (!foreign_.empty()) {
      auto* variable = *foreign_.begin();
      foreign_.erase(foreign_.begin());
      if (!taken.insert(variable).second) continue;
      MepRegion region;
      std::string type;  // That of the parameter which points there, if one does.
      region.address = variable->address, region.size = variable->before.size,
      region.reached_from = Origin::of_variable(variable->key);
      for (auto& address : addresses)
        if (variable_at(from, address.value) == variable) region.parameter = address.parameter, type = address.type;
      KERNELIFT_TRY(
          take_region(from, region, type, variable->before, variable->after, region.reached_from.text(), instance));
    }
    return done();
  }

  /// The machine code that ran, unless it is a whole library's.
  Status take_code(const CapturedInstance& from, MepInstance& instance) {
    constexpr uint64_t kMostCode = 64 << 20;
    if (from.code.size == 0 || from.code.size > kMostCode) return done();
    auto code = file_of(from.code);
    if (code.ok()) instance.code = *code;  // Of use, not of need.
    return done();
  }

  /// What an image holds, until the next call.
  Result<std::span<const std::byte>> bytes_of(const Image& image) {
    if (image != held_) {
      // Never smaller again: fresh memory costs as much as the reading.
      if (buffer_.size() < image.size) buffer_.resize(image.size);
      held_ = {};
      KERNELIFT_TRY(capture_.load(image, std::span(buffer_.data(), image.size)));
      held_ = image;
    }
    return std::span<const std::byte>(buffer_.data(), image.size);
  }
  /// An image's data file, written when it is seen for the first time: what launches have in common costs once.
  Result<std::string> file_of(const Image& image) { return file_of(image, 0, image.size); }
  /// The same of a part of an image.
  Result<std::string> file_of(const Image& image, uint64_t offset, uint64_t size) {
    const std::tuple key(offset, size, image.chunks);
    auto known = files_.find(key);
    if (known != files_.end()) return known->second;
    KERNELIFT_ASSIGN(auto all, bytes_of(image));
    auto bytes = all.subspan(offset, size);
    auto sum = std::async([&] { return templates::replay_checksum(bytes); });
    auto file = Mep::store(folder_, bytes);
    if (!file.ok()) return sum.wait(), std::move(file).error();
    sums[*file] = sum.get();
    return files_[key] = *file;
  }

  const Capture& capture_;
  const ScannedKernel& kernel_;
  const ModuleFacts& facts_;
  std::filesystem::path folder_;
  /// Of images stored so far: offset and size in the image, its chunks.
  std::map<std::tuple<uint64_t, uint64_t, std::vector<Hash>>, std::string> files_;
  std::vector<std::byte> buffer_;
  Image held_;                                 ///< Whose bytes are in buffer_.
  std::set<const CapturedVariable*> foreign_;  ///< Found while an instance is taken, not yet taken themselves.
};

}  // namespace

Result<std::vector<const CapturedInstance*>> instances_of(const Capture& capture, const ScanIndex& index,
                                                          const ScannedKernel& kernel) {
  CaptureJoin join(index, capture);
  std::vector<const CapturedInstance*> own;
  const CapturedInstance *namesake = nullptr, *doubtful = nullptr;
  std::set<std::string> others;
  for (auto& instance : capture.instances()) {
    auto answer = join.joins(instance, kernel);
    if (answer == CaptureJoin::Answer::Yes) own.push_back(&instance);
    else if (answer == CaptureJoin::Answer::Doubt) doubtful = &instance;
    else if (instance.kernel == kernel.key) namesake = &instance;
    else others.insert(instance.kernel);
  }
  if (!own.empty()) return own;
  if (doubtful) {
    std::string files;
    for (auto& other : index.kernels)
      if (other.key == kernel.key) files += "\n  " + other.tu;
    return refused(
        "the recorded launches of " + kernel.name + " may be of any of these files' kernels of that name:" + files +
        "\nnothing in the capture tells which, and nvcc is not here, or makes other code now, to tell by the machine "
        "code; give the kernels names of their own");
  }
  std::string message = "the capture holds no launch of " + qualified_name(kernel.key);
  std::string omitted;
  for (auto& [what, why] : capture.info().omissions)
    if (what == kernel.key || what.ends_with(" of " + kernel.key)) omitted += "\n  " + what + ": " + why;
  if (!omitted.empty()) return answer_is_no(message + ":" + omitted);
  if (namesake) {
    std::string mark = file_mark(namesake->mangled);
    message += " from " + kernel.tu + " (only of its namesake" +
               (!namesake->unit.empty() ? " in " + namesake->unit
                : mark.empty()          ? ""
                                        : " in " + mark) +
               ")";
  } else if (!others.empty()) {
    message += "; it holds:";
    for (auto& other : others) message += "\n  " + other;
  }
  return answer_is_no(message + "\nrecord a run that launches it with kernelift record, or use --inputs synth");
}

Result<MepInputs> take_inputs(const Capture& capture, const std::vector<const CapturedInstance*>& instances,
                              const ScannedKernel& kernel, const ModuleFacts& facts,
                              const std::filesystem::path& folder) {
  // Tuned on all instances, a candidate that only fits these would be verified by nothing else.
  if (!capture.lost_marks().empty() && instances.size() > 1)
    return environment_error("which of the " + std::to_string(instances.size()) + " captured launches of " +
                             kernel.name + " are held out for verification is lost: " + capture.lost_marks() +
                             "; record again");
  MepInputs inputs;
  Taker taker(capture, kernel, facts, folder);
  std::optional<Error> trouble;
  for (auto* instance : instances) {
    auto taken = taker.take(*instance);
    if (taken.ok()) {
      inputs.instances.push_back(std::move(*taken));
      continue;
    }
    if (taken.error().exit == Exit::Refused) return std::move(taken).error();
    // One damaged instance does not cost the others.
    inputs.damage.push_back("instance " + instance->id + " is left out: " + taken.error().message);
    inputs.limits.push_back("I" + inputs.damage.back().substr(1) + ".");
    trouble = std::move(taken).error();
  }
  if (inputs.instances.empty()) return std::move(*trouble);
  // Without a finished manifest, or with the tuning instances damaged, nothing may be held out of everything.
  bool any_tuned =
      std::any_of(inputs.instances.begin(), inputs.instances.end(), [](auto& one) { return !one.held_out; });
  if (!any_tuned) inputs.instances.front().held_out = false, inputs.instances.front().weight = 1;
  inputs.sums = std::move(taker.sums);
  inputs.limits.insert(inputs.limits.end(), taker.limits.begin(), taker.limits.end());
  return inputs;
}

}  // namespace kernelift::extractor
