// Worked example: instances of one grid with n = 4096 and n = 1024 and pointers at …00 and …40 give "n from 1024 to
// 4096, divisible by 64" (kernels do not rely on larger powers of two) and "aligned to 32 bytes" (the widest vector
// load). Instances of two grids give "grid (4,1,1) with n == 1024, or (16,1,1) with n == 4096", because sizes depend on
// the grid. Within one grid a range is accepted, because a scalar that varies there (a step, a time) has other values
// in most launches than in the recorded ones.
#include "reintegrate/embed/shape_guard.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <regex>
#include <utility>

#include "core/base/file.h"
#include "core/base/words.h"
#include "reintegrate/patch/text_diff.h"

namespace kernelift::reintegrate {
namespace {

constexpr uint64_t kWidestAccess = 32;  ///< Bytes of the widest load or store of a thread.
constexpr uint64_t kLargestDivisor = 64;
constexpr size_t kMostShapes =
    8;  ///< Grids with their own clause; with more, the clauses state what all have in common.

using Instances = std::vector<const MepInstance*>;

uint64_t bits_of(const MepInstance& instance, size_t parameter) {
  uint64_t bits = 0;
  const Parameter& slot = instance.parameters[parameter];
  if (slot.offset + size_t{slot.size} <= instance.arguments.size())
    std::memcpy(&bits, instance.arguments.data() + slot.offset, std::min<size_t>(slot.size, sizeof bits));
  return bits;
}

int64_t signed_value(uint64_t bits, uint32_t size) {
  int shift = 64 - 8 * static_cast<int>(size);
  return static_cast<int64_t>(bits << shift) >> shift;
}

uint64_t power_of_two_in(uint64_t value, uint64_t most) {
  return value == 0 ? most : std::min(most, value & (~value + 1));
}

std::string hex(uint64_t bits) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llxull", static_cast<unsigned long long>(bits));
  return text;
}

/// The value as a C++ literal; the smallest 64-bit number has none and becomes an expression.
std::string signed_literal(int64_t value) {
  return value == INT64_MIN ? "(-9223372036854775807ll - 1)" : std::to_string(value) + "ll";
}

std::string dims(const Dim3& dim) {
  return std::to_string(dim.x) + ", " + std::to_string(dim.y) + ", " + std::to_string(dim.z);
}

template <class Value>
std::vector<Value> distinct(const Instances& instances, const auto& of) {
  std::set<Value> values;
  for (auto* instance : instances) values.insert(of(*instance));
  return {values.begin(), values.end()};
}

std::string joined(const std::vector<std::string>& parts, const char* between) {
  std::string text;
  for (auto& part : parts) text += (text.empty() ? "" : between) + part;
  return text;
}

/// "(a || b)", or a single condition without brackets.
GuardClause any_of(const std::vector<GuardClause>& parts, const std::string& what, const char* between = " or ") {
  std::vector<std::string> codes, texts;
  for (auto& part : parts) codes.push_back(part.code), texts.push_back(part.text);
  return {parts.size() == 1 ? codes[0] : "(" + joined(codes, " ||\n          ") + ")", what + joined(texts, between)};
}

/// "(a && b && c)", in words "A with B and C"; or a single condition without brackets.
GuardClause all_of(const std::vector<GuardClause>& parts) {
  std::vector<std::string> codes, others;
  for (auto& part : parts) codes.push_back(part.code), others.push_back(part.text);
  others.erase(others.begin());
  if (others.empty()) return parts[0];
  return {"(" + joined(codes, " && ") + ")", parts[0].text + " with " + joined(others, " and ")};
}

class GuardWriter {
 public:
  GuardWriter(const Mep& mep, ShapeGuard& guard) : mep_(mep), guard_(guard) {
    for (auto& instance : mep.instances) all_.push_back(&instance);
  }

  void blocks() {
    std::vector<GuardClause> blocks, shared;
    for (auto& dim : all_blocks()) blocks.push_back(block_is(dim));
    for (uint32_t bytes : all_shared()) shared.push_back(shared_is(bytes));
    guard_.clauses.push_back(any_of(blocks, "block "));
    GuardClause bytes = any_of(shared, "dynamic shared memory ");
    guard_.clauses.push_back({bytes.code, bytes.text + " bytes"});
  }

  /// Requires the parameters' types: the same source compiled with another -DDATA_TYPE may have parameters of equal
  /// sizes.
  void types() {
    static const std::set<std::string> known = {
        "bool", "char",          "signed char", "unsigned char",      "short", "unsigned short", "int", "unsigned int",
        "long", "unsigned long", "long long",   "unsigned long long", "float", "double",         "void"};
    std::string open;
    for (auto& parameter : mep_.parameters) {
      const std::string& type = parameter.pointee.empty() ? parameter.scalar : parameter.pointee;
      bool spelled = known.contains(type);
      guard_.types.push_back(spelled ? type + (parameter.pointee.empty() ? "" : "*") : "");
      if (!spelled) open += (open.empty() ? "'" : ", '") + parameter.name + "'";
    }
    if (!open.empty()) guard_.unguarded.push_back("the type of " + open + " beyond its size");
  }

  /// Requires the macros with which the code was compiled, as the preprocessor sees them in front of the unit's text.
  void macros(const TestedMacros& tested) {
    const std::map<std::string, std::string> given = of_command(tested);
    for (auto& [name, value] : tested.by_default)
      if (!given.contains(name)) default_macro(name, value);
    for (auto& name : tested.names) {
      if (given.contains(name) || tested.by_default.contains(name) || name.starts_with("__CUDA_ARCH")) continue;
      if (tested.defined.contains(name) || is_of_toolchain(name))
        guard_.unguarded.push_back("the macro '" + name + "', for which the kernel's text asks");
      else guard_.macros.push_back({"!defined(" + name + ")", name + " undefined"});
    }
  }

  /// Requires one of the recorded grids, together with the scalars recorded with it.
  void shapes() {
    std::map<Geometry, Instances> launches;
    for (auto* instance : all_) launches[instance->geometry].push_back(instance);
    const bool one_by_one = launches.size() > 1 && launches.size() <= kMostShapes;
    std::vector<size_t> with_each;
    for (size_t i : scalars())
      if (one_by_one && values(i, all_).size() > 1) with_each.push_back(i);
      else add(scalar(i, all_));
    std::vector<GuardClause> ways;
    for (auto& [launch, instances] : launches) {
      std::vector<GuardClause> parts = {{"same(grid, " + dims(launch.grid) + ")", launch.grid.text()}};
      if (all_blocks().size() > 1)
        parts.push_back(block_is(launch.block)), parts.back().text = "block " + parts.back().text;
      if (all_shared().size() > 1)
        parts.push_back(shared_is(launch.shared_bytes)), parts.back().text += " bytes of shared memory";
      for (size_t i : with_each)
        for (auto& clause : scalar(i, instances)) parts.push_back(clause);
      ways.push_back(all_of(parts));
    }
    guard_.clauses.push_back(any_of(ways, "grid ", with_each.empty() ? " or " : ", or "));
    for (size_t i : unbound_) guard_.unguarded.push_back("the value of '" + name(i) + "', which varied");
  }

  /// Requires what a launch is asked in a patch of the source.
  Status asked(const LaunchGuard& guard) {
    std::map<std::string, AskedNumber> numbers;
    std::map<std::string, std::string> addresses;
    auto unknown = [&](const std::string& name) {
      return refused("it is known to be right only where " + guard.text() +
                     ", and the launcher of embedded code does not know " + name +
                     " (--no-guards embeds it all the same)");
    };
    for (auto& pointer : guard.addresses()) {
      for (size_t i = 0; i < mep_.parameters.size(); ++i)
        if (mep_.parameters[i].name == pointer && !mep_.parameters[i].pointee.empty())
          addresses[pointer] = "address(" + argument(i) + ")";
      if (!addresses.contains(pointer)) return unknown(pointer);
    }
    for (auto& variable : guard.numbers()) {
      std::string text, type = "unsigned int";
      for (const char* axis : {"x", "y", "z"})
        for (auto& [builtin, own] : {std::pair("gridDim.", "grid."), std::pair("blockDim.", "block.")})
          if (variable == std::string(builtin) + axis) text = std::string(own) + axis;
      for (size_t i = 0; i < mep_.parameters.size(); ++i)
        if (mep_.parameters[i].name == variable && mep_.parameters[i].is_integer())
          text = argument_as(is_unsigned(mep_.parameters[i].scalar) ? "bits" : "number", i),
          type = mep_.parameters[i].scalar;
      if (text.empty()) return unknown(variable);
      numbers[variable] = {type, [text](const std::string& as) { return "static_cast<" + as + ">(" + text + ")"; }};
    }
    KERNELIFT_ASSIGN(std::string condition, guard.cpp(numbers, addresses));
    add("(" + condition + ")", guard.text());
    return done();
  }

  /// Constants cannot be guarded: their contents lie on the device and are not known at the launch.
  void constants() {
    for (auto& variable : mep_.instances[0].variables)
      if (variable.constant)
        guard_.unguarded.push_back("the contents of the constant '" +
                                   (variable.spelling.empty() ? variable.key : variable.spelling) + "'");
  }

  void pointers() {
    for (size_t i = 0; i < mep_.parameters.size(); ++i)
      if (!mep_.parameters[i].pointee.empty()) pointer(i);
    distinctness();
  }

 private:
  static bool is_float(const std::string& type) {
    return type.find("float") != type.npos || type.find("double") != type.npos || type.find("half") != type.npos ||
           type == "_Float16";
  }
  static bool is_unsigned(const std::string& type) { return type.find("unsigned") != type.npos || type == "bool"; }
  /// What compilers and the toolkit's headers define is no choice of the build.
  static bool is_of_toolchain(const std::string& name) {
    static const std::set<std::string> known = {"CUDA_VERSION", "CUDART_VERSION", "THRUST_VERSION", "CUB_VERSION"};
    return known.contains(name) ||
           (name.size() > 1 && name[0] == '_' && (name[1] == '_' || std::isupper(static_cast<unsigned char>(name[1]))));
  }
  static bool is_integer(const std::string& value) {
    static const std::regex integer("-?(?:0|[1-9][0-9]*)");
    return std::regex_match(value, integer);
  }
  /// That the macro is this number; an empty one becomes 0 instead of an error.
  static std::string is_number(const std::string& name, const std::string& value) { return name + " + 0 == " + value; }

  /// Requires the macros that the compile command defines. Those with reserved names are the toolchain's, unless the
  /// kernel's text asks for them.
  std::map<std::string, std::string> of_command(const TestedMacros& tested) {
    std::map<std::string, std::string> given;
    std::vector<std::string> order;
    for (size_t i = 0; i < mep_.compile_flags.size(); ++i) {
      std::string flag = mep_.compile_flags[i];
      if ((flag == "-D" || flag == "-U") && i + 1 < mep_.compile_flags.size()) flag += mep_.compile_flags[++i];
      if (flag.size() < 3 || (!flag.starts_with("-D") && !flag.starts_with("-U"))) continue;
      const size_t equals = std::min(flag.find('='), flag.size());
      const std::string name = flag.substr(2, equals - 2);
      std::erase(order, name), given.erase(name);  // The last one counts.
      if (flag.starts_with("-U")) continue;
      order.push_back(name), given[name] = equals < flag.size() ? flag.substr(equals + 1) : "1";
      plain_[name] = equals == flag.size();
    }
    for (auto& name : order) {
      const std::string& value = given[name];
      const bool spellable = std::ranges::all_of(name, word_character);
      if (name[0] == '_' && !tested.names.contains(name)) continue;
      if (spellable && is_integer(value))
        guard_.macros.push_back(
            {"defined(" + name + ") && " + is_number(name, value), plain_[name] ? name : name + "=" + value});
      else guard_.unguarded.push_back("the macro in -D" + name + (plain_[name] ? "" : "=" + value));
    }
    return given;
  }

  /// The build may give it another value than the source does, which had its way when the launch was recorded.
  void default_macro(const std::string& name, const std::string& value) {
    if (is_integer(value))
      guard_.macros.push_back({"(!defined(" + name + ") || " + is_number(name, value) + ")", name + "=" + value});
    else guard_.unguarded.push_back("that '" + name + "' is what the source defines if the build does not");
  }

  std::string argument(size_t i) const { return "a[" + std::to_string(i) + "]"; }
  const std::string& name(size_t i) const { return mep_.parameters[i].name; }
  uint32_t size_of(size_t i) const { return mep_.instances[0].parameters[i].size; }
  static std::vector<uint64_t> values(size_t i, const Instances& among) {
    return distinct<uint64_t>(among, [i](auto& instance) { return bits_of(instance, i); });
  }
  std::vector<Dim3> all_blocks() const {
    return distinct<Dim3>(all_, [](auto& i) { return i.geometry.block; });
  }
  std::vector<uint32_t> all_shared() const {
    return distinct<uint32_t>(all_, [](auto& i) { return i.geometry.shared_bytes; });
  }
  static GuardClause block_is(const Dim3& dim) { return {"same(block, " + dims(dim) + ")", dim.text()}; }
  static GuardClause shared_is(uint32_t bytes) { return {"shared == " + std::to_string(bytes), std::to_string(bytes)}; }
  void add(std::string code, std::string text) { guard_.clauses.push_back({std::move(code), std::move(text)}); }
  void add(const std::vector<GuardClause>& more) {
    guard_.clauses.insert(guard_.clauses.end(), more.begin(), more.end());
  }

  /// Indices of the parameters that are a single number.
  std::vector<size_t> scalars() {
    std::vector<size_t> found;
    for (size_t i = 0; i < mep_.parameters.size(); ++i) {
      if (!mep_.parameters[i].pointee.empty()) continue;
      if (mep_.parameters[i].scalar.empty() || size_of(i) > 8 || !std::has_single_bit(size_of(i)))
        guard_.unguarded.push_back("the members of '" + name(i) + "'");
      else found.push_back(i);
    }
    return found;
  }
  std::vector<GuardClause> scalar(size_t i, const Instances& among) {
    return is_float(mep_.parameters[i].scalar) ? real(i, values(i, among)) : integer(i, values(i, among));
  }

  void pointer(size_t i) {
    std::vector<uint64_t> seen = values(i, all_);
    bool null = seen[0] == 0;
    if (null && seen.size() == 1) return add("address(" + argument(i) + ") == 0", name(i) + " null");
    uint64_t alignment = kWidestAccess;
    for (uint64_t value : seen) alignment = power_of_two_in(value, alignment);
    if (!null) add("address(" + argument(i) + ") != 0", name(i) + " not null");
    if (alignment > 1)
      add("address(" + argument(i) + ") % " + std::to_string(alignment) + " == 0",
          name(i) + " aligned to " + std::to_string(alignment) + " bytes");
    pointers_.push_back(i);
  }

  std::string argument_as(const char* what, size_t i) const {
    return std::string(what) + "<" + std::to_string(size_of(i)) + ">(" + argument(i) + ")";
  }

  std::vector<GuardClause> real(size_t i, const std::vector<uint64_t>& seen) {
    if (seen.size() > 1) return unbound_.insert(i), std::vector<GuardClause>();
    double shown = 0;
    if (size_of(i) == 8) std::memcpy(&shown, &seen[0], 8);
    float single = 0;
    if (size_of(i) == 4) std::memcpy(&single, &seen[0], 4), shown = single;
    char text[40];
    std::snprintf(text, sizeof text, size_of(i) == 2 ? "(as recorded)" : "%.9g", shown);
    return {{argument_as("bits", i) + " == " + hex(seen[0]), name(i) + " == " + text}};
  }

  std::vector<GuardClause> integer(size_t i, const std::vector<uint64_t>& seen) const {
    bool positive = is_unsigned(mep_.parameters[i].scalar);
    auto shown = [&](uint64_t value) {
      return positive ? std::to_string(value) : std::to_string(signed_value(value, size_of(i)));
    };
    if (seen.size() == 1) return {{argument_as("bits", i) + " == " + hex(seen[0]), name(i) + " == " + shown(seen[0])}};
    std::vector<GuardClause> clauses;
    uint64_t divisor = kLargestDivisor, low = seen.front(), high = seen.back();
    for (uint64_t value : seen) {
      divisor = power_of_two_in(value, divisor);
      if (positive) continue;
      if (signed_value(value, size_of(i)) < signed_value(low, size_of(i))) low = value;
      if (signed_value(value, size_of(i)) > signed_value(high, size_of(i))) high = value;
    }
    if (divisor > 1)
      clauses.push_back({argument_as("bits", i) + " % " + std::to_string(divisor) + " == 0",
                         name(i) + " divisible by " + std::to_string(divisor)});
    auto limit = [&](uint64_t value) {
      return positive ? hex(value) : signed_literal(signed_value(value, size_of(i)));
    };
    clauses.push_back(
        {"within(" + argument_as(positive ? "bits" : "number", i) + ", " + limit(low) + ", " + limit(high) + ")",
         name(i) + " from " + shown(low) + " to " + shown(high)});
    return clauses;
  }

  /// Bytes of recorded memory before a pointer and after it.
  struct Reach {
    uint64_t before = 0, after = 1;
  };
  struct Seen {
    uint64_t pointer = 0;
    const MepRegion* region = nullptr;
  };

  Seen seen(const MepInstance& instance, size_t i) const {
    Seen found{bits_of(instance, i)};
    for (auto& region : instance.regions)
      if (region.address <= found.pointer && found.pointer - region.address < region.size) found.region = &region;
    return found;
  }
  Reach reach(size_t i) const {
    Reach most;
    for (auto& instance : mep_.instances)
      if (Seen at = seen(instance, i); at.region) {
        most.before = std::max(most.before, at.pointer - at.region->address);
        most.after = std::max(most.after, at.region->address + at.region->size - at.pointer);
      }
    return most;
  }

  /// The tuner may have added __restrict__, so memory that was disjoint must be disjoint to the last byte. Pointers
  /// that overlapped, or may have because they pointed into one allocation, must have the same distance as recorded.
  void distinctness() {
    for (size_t a = 0; a < pointers_.size(); ++a)
      for (size_t b = a + 1; b < pointers_.size(); ++b) pair(pointers_[a], pointers_[b]);
  }

  void pair(size_t i, size_t j) {
    bool apart = false, null = false;
    std::set<int64_t> differences;
    for (auto& instance : mep_.instances) {
      Seen first = seen(instance, i), second = seen(instance, j);
      if (!first.pointer || !second.pointer) null = true;
      else if (first.pointer == second.pointer ||
               (first.region && second.region && first.region->allocation() == second.region->allocation()))
        differences.insert(static_cast<int64_t>(second.pointer - first.pointer));
      else apart = true;
    }
    const std::string p = "address(" + argument(i) + ")", q = "address(" + argument(j) + ")";
    std::vector<GuardClause> ways;
    if (null) ways.push_back({p + " == 0 || " + q + " == 0", "one of " + name(i) + " and " + name(j) + " null"});
    if (apart) {
      Reach first = reach(i), second = reach(j);
      ways.push_back({"apart(" + p + ", " + std::to_string(first.after + second.before) + "ull, " + q + ", " +
                          std::to_string(second.after + first.before) + "ull)",
                      name(i) + " (" + std::to_string(first.after) + " bytes) disjoint from " + name(j) + " (" +
                          std::to_string(second.after) + " bytes)"});
    }
    for (int64_t difference : differences)
      ways.push_back({q + " - " + p + " == static_cast<unsigned long long>(" + signed_literal(difference) + ")",
                      difference == 0 ? name(i) + " == " + name(j)
                                      : name(j) + " " + std::to_string(difference) + " bytes from " + name(i)});
    guard_.clauses.push_back(any_of(ways, ""));
  }

  const Mep& mep_;
  ShapeGuard& guard_;
  Instances all_;
  std::vector<size_t> pointers_;
  std::map<std::string, bool> plain_;  ///< Macros of the command line: whether it spells no value.
  std::set<size_t> unbound_;           ///< Floating-point parameters that varied: their values cannot be required.
};

}  // namespace

bool is_only_recompiled(const Mep& mep, const std::string& original, const Candidate& candidate) {
  if (candidate.source != original || !candidate.recipe.fast_math.empty() || candidate.recipe.unit_flags.fast_math)
    return false;
  for (auto& knob : mep.knobs)
    if (auto value = candidate.values.find(knob.name); value != candidate.values.end() && value->second != knob.value)
      return false;
  for (auto& launch : candidate.launches) {
    CandidateLaunch recorded = CandidateLaunch::as_recorded(launch.kernel);
    for (int axis = 0; axis < 3; ++axis)
      if (!(launch.grid[axis] == recorded.grid[axis]) || !(launch.block[axis] == recorded.block[axis])) return false;
    if (!(launch.shared == recorded.shared)) return false;
  }
  return true;
}

Result<ShapeGuard> shape_guard(const Mep& mep, const std::string& original, const Candidate& candidate,
                               const LaunchGuard& asked, const OtherSizes* settled, const TestedMacros& tested) {
  if (mep.instances.empty())
    return refused("the MEP of '" + mep.kernel_name +
                   "' holds no recorded launch, so it is not known for which launches the code is valid");
  for (auto& instance : mep.instances) {
    if (instance.geometry.cooperative)
      return refused("'" + mep.kernel_name +
                     "' is launched cooperatively, which the launcher of embedded code does not support");
    const Dim3& cluster = instance.settings.cluster;
    if (cluster.x > 1 || cluster.y > 1 || cluster.z > 1)
      return refused("'" + mep.kernel_name +
                     "' is launched in clusters, which the launcher of embedded code does not support");
    if (instance.settings.programmatic)
      return refused(
          "'" + mep.kernel_name +
          "' is launched with programmatic stream serialisation, which the launcher of embedded code does not support");
    if (instance.parameters.size() != mep.parameters.size())
      return refused("the recorded launches of '" + mep.kernel_name + "' have " +
                     std::to_string(instance.parameters.size()) + " parameters and its source has " +
                     std::to_string(mep.parameters.size()));
  }
  ShapeGuard guard;
  GuardWriter writer(mep, guard);
  writer.types(), writer.macros(tested);
  writer.blocks();
  // Where the user wants no guards, nothing asks what the proof needs: then what was recorded is asked.
  if (settled && asked.empty() && (settled->premise || std::ranges::any_of(settled->assumptions, [](auto& one) {
                                     return one.kind == Premise::Kind::Aligned;
                                   })))
    settled = nullptr;
  const bool at_all_sizes = is_only_recompiled(mep, original, candidate) || settled;
  guard.any_arguments = at_all_sizes && asked.empty();
  if (!asked.empty()) KERNELIFT_TRY(writer.asked(asked));
  if (!at_all_sizes) writer.shapes(), writer.pointers(), writer.constants();
  if (settled)
    for (auto& one : settled->assumptions) guard.unguarded.push_back("that " + one.text());
  auto assumes = [&](const char* flag) {
    return std::ranges::find(candidate.recipe.fast_math, flag) != candidate.recipe.fast_math.end();
  };
  if (assumes("nnan") || assumes("ninf"))
    guard.unguarded.push_back("that all numbers are finite, which the code assumes");
  return guard;
}

}  // namespace kernelift::reintegrate
