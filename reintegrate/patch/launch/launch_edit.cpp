// The launch's own expressions are reused, axis by axis: `grid.x` of a dim3, `(n + 255) / 256` and 1 and 1 of a number,
// `a` and `b` of `dim3(a, b)`. Worked example: the candidate's grid is (ceil_div(gx, 2), gy, gz) and the launch is
// `k<<<grid, block>>>`: the grid becomes `dim3((grid.x + 1) / 2, grid.y, grid.z)`. If the type of the expression is not
// known, `dim3(<expression>).x` is right for every type. Only numbers that the launch itself contains are folded; a
// name stays a name, because the next build may give it another value. So `<<<grid, THREADS>>>` in blocks of 32 becomes
// not `grid.x * 4` but `(size_t(grid.x) * THREADS + 31) / 32`; the product counts threads, hence size_t.
#include "reintegrate/patch/launch/launch_edit.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <set>

#include "core/base/words.h"
#include "core/model/kernel/declared_number.h"
#include "core/model/launch/limits.h"
#include "core/model/launch/rounding_up.h"
#include "core/model/launch_values.h"
#include "reintegrate/patch/launch/guarded_launch.h"
#include "reintegrate/patch/launch/launch_text.h"
#include "reintegrate/patch/launch/line_breaks.h"
#include "reintegrate/patch/launch/site_terms.h"

namespace kernelift::reintegrate {
namespace {

const char* const kAxis = "xyz";
enum class Piece { Grid, Block, Shared };

class LaunchEditor {
 public:
  LaunchEditor(const Mep& mep, const LaunchSite& site, const CandidateLaunch& launch, const Bindings& values,
               const Bindings& changed, const std::string& source, bool one_template, const LaunchGuard& guard,
               const std::string& beside)
      : mep_(mep),
        site_(site),
        launch_(launch),
        values_(values),
        changed_(changed),
        source_(source),
        one_template_(one_template),
        guard_(guard),
        beside_(beside) {}

  Result<LaunchEdits> run() {
    KERNELIFT_TRY(read_site());
    guard_ = guard_.without(written_numbers());
    KERNELIFT_ASSIGN(bool grid, needs_edit(Piece::Grid));
    KERNELIFT_ASSIGN(bool block, needs_edit(Piece::Block));
    KERNELIFT_ASSIGN(bool shared, needs_edit(Piece::Shared));
    KERNELIFT_TRY(check_threads());
    if (grid || block || shared) KERNELIFT_TRY(check_shared());
    if (!guard_.empty() && !changed_.empty()) return refused(one_for_all_launches(guard_, changed_));
    if (!beside_.empty()) KERNELIFT_TRY(choose_kernel());
    if (!grid && !block && !shared) {
      if (!result_.edits.empty()) KERNELIFT_TRY(finish());
      return std::move(result_);
    }
    if (!site_.spells_geometry())
      return refused("the launch at " + place_of(site_.range) +
                     " is written by a macro: its geometry cannot be changed in place");
    if (site_.kernels.size() > 1 && !one_template_)
      return refused("the launch at " + place_of(site_.range) + " serves " + std::to_string(site_.kernels.size()) +
                     " kernels: changing its geometry for one would break the others");
    if (grid) KERNELIFT_TRY(rewrite(Piece::Grid));
    if (block) KERNELIFT_TRY(rewrite(Piece::Block));
    if (shared) KERNELIFT_TRY(rewrite(Piece::Shared));
    KERNELIFT_TRY(finish());
    return std::move(result_);
  }

 private:
  Status finish() {
    KERNELIFT_TRY(check_evaluations());
    if (!guard_.empty()) {
      for (auto& edit : result_.edits)
        if (edit.begin < site_.range.begin || edit.end > site_.range.end)
          return refused(edit.what + " is written before the launch, where it is not known yet whether " +
                         guard_.text());
      KERNELIFT_ASSIGN(std::string condition, asked("the launch at " + place_of(site_.range)));
      guard_launch(source_, site_, condition, instance_, result_.edits);
    }
    break_line_of(site_, source_, result_.edits);
    return done();
  }

  /// "gridDim.y" is 1 and n is 1024, where the launch writes those numbers.
  Bindings written_numbers() const {
    Bindings numbers;
    for (size_t p = 0; p < mep_.parameters.size(); ++p) {
      auto& parameter = mep_.parameters[p];
      auto value = Expression::parse(site_.repeatable_argument(p));
      auto number = value.ok() ? value->as_constant() : std::nullopt;
      const auto declared = DeclaredNumber::of(parameter.scalar);
      if (number && *number >= 0 && *number <= INT32_MAX && declared && declared->bits >= 32)
        numbers[parameter.name] = *number;
    }
    for (auto& [builtin, piece] : {std::pair("gridDim.", Piece::Grid), std::pair("blockDim.", Piece::Block)})
      for (int axis = 0; axis < 3; ++axis)
        if (auto size = known_.find(variable(piece, axis)); size != known_.end())
          numbers[std::string(builtin) + kAxis[axis]] = size->second;
    return numbers;
  }

  /// Reads how the site spells the variables of the candidate's expressions, and which axes of its block change.
  Status read_site() {
    written_[kSharedVariable] = as_spelled(Piece::Shared).empty() ? "0" : as_spelled(Piece::Shared);
    names_[kSharedVariable] = as_operand(site_, written_[kSharedVariable]);
    if (auto bytes = Expression::parse(written_[kSharedVariable]); bytes.ok() && bytes->as_constant())
      known_[kSharedVariable] = *bytes->as_constant();
    spell_axes(Piece::Grid, site_.grid_form);
    spell_axes(Piece::Block, site_.block_form);
    for (auto& [name, text] : arguments_) names_.emplace(name, text);
    for (int axis = 0; axis < 3; ++axis) {
      auto& size = spelled(Piece::Block, axis);
      if (size && mentions_changed(*size)) following_.insert(variable(Piece::Block, axis));
    }
    for (int axis = 0; axis < 3; ++axis) {
      KERNELIFT_ASSIGN(bool same, as_it_is(Piece::Block, axis));
      block_changes_[axis] = !following_.contains(variable(Piece::Block, axis)) && !same;
    }
    return done();
  }

  static const char* name(Piece piece) {
    return piece == Piece::Grid ? "grid" : piece == Piece::Block ? "block" : "shared memory";
  }
  const Expression& wanted(Piece piece, int axis) const {
    return piece == Piece::Grid ? launch_.grid[axis] : piece == Piece::Block ? launch_.block[axis] : launch_.shared;
  }
  const std::optional<Expression>& spelled(Piece piece, int axis) const {
    return piece == Piece::Grid ? site_.grid[axis] : piece == Piece::Block ? site_.block[axis] : site_.shared;
  }
  const SourceRange& range(Piece piece) const {
    return piece == Piece::Grid ? site_.grid_range : piece == Piece::Block ? site_.block_range : site_.shared_range;
  }
  static int axes(Piece piece) { return piece == Piece::Shared ? 1 : 3; }

  /// True if the site, unedited, would not launch the geometry with which the candidate was verified.
  Result<bool> needs_edit(Piece piece) {
    bool needed = false;
    for (int axis = 0; axis < axes(piece); ++axis) {
      auto& size = spelled(piece, axis);
      if (size && mentions_changed(*size)) {
        following_.insert(variable(piece, axis));
        KERNELIFT_ASSIGN(bool more, needs_more(piece, axis, *size));
        needed |= more;
        continue;
      }
      KERNELIFT_ASSIGN(bool same, as_it_is(piece, axis));
      if (!same && !size && !changed_.empty())
        return refused("the " + std::string(name(piece)) + " of the launch at " + place_of(site_.range) +
                       " would have to change along " + kAxis[axis] + ", and it is not known whether it follows '" +
                       changed_.begin()->first + "' by itself");
      needed |= !same;
    }
    return needed;
  }

  bool mentions_changed(const Expression& size) const {
    return std::any_of(changed_.begin(), changed_.end(), [&](auto& knob) { return size.uses(knob.first); });
  }

  /// True if the site's own expression may stay on this axis: what the candidate wants is that expression, or the
  /// number that is written there, whatever the application launches. That both agree at the recorded sizes is not
  /// enough: `min(gx, 4096)` does up to 4096 blocks.
  Result<bool> as_it_is(Piece piece, int axis) const {
    for (auto& instance : mep_.instances)
      KERNELIFT_TRY(launch_.evaluate(instance.geometry, with_arguments(mep_, instance, values_)));
    auto is_argument = [&](const Expression& node) {
      return node.as_variable() && arguments_.contains(*node.as_variable());
    };
    const Expression simple = simplified(piece, axis);
    if (auto& size = spelled(piece, axis);
        size && wanted(piece, axis).find(is_argument) && same_size(simple, *size, arguments_))
      return true;
    const std::string self = variable(piece, axis);
    if (simple.is_variable(self)) return true;
    const auto number = simple.as_constant();
    const auto written = known_.find(self);
    return number && written != known_.end() && written->second == *number;
  }

  /// The variable's name in candidates' expressions: gx, by, shared.
  static std::string variable(Piece piece, int axis) {
    if (piece == Piece::Shared) return kSharedVariable;
    return piece == Piece::Grid ? kGridVariables[axis] : kBlockVariables[axis];
  }

  static uint32_t component(const Geometry& geometry, Piece piece, int axis) {
    if (piece == Piece::Shared) return geometry.shared_bytes;
    return along(piece == Piece::Grid ? geometry.grid : geometry.block, axis);
  }

  /// For an axis that the source computes from a knob set by the patch. If the expression has no other variable, its
  /// new value is known and must be the verified one. Otherwise the remaining factor must still be written; true if so.
  Result<bool> needs_more(Piece piece, int axis, const Expression& size) {
    const std::string what = "the " + std::string(name(piece)) + " of the launch at " + place_of(site_.range);
    Bindings knobs = changed_;
    for (auto& knob : mep_.knobs) knobs.emplace(knob.name, knob.value);
    if (auto value = size.evaluate(knobs); value.ok()) {
      for (auto& instance : mep_.instances) {
        KERNELIFT_ASSIGN(Geometry geometry,
                         launch_.evaluate(instance.geometry, with_arguments(mep_, instance, values_)));
        const int64_t verified = component(geometry, piece, axis);
        // Some neighbours in one thread: a part of what the knob says.
        const bool part = piece == Piece::Block && verified > 0 && *value % verified == 0 &&
                          (&instance == &mep_.instances[0] || block_part_[axis] == *value / verified);
        if (part) block_part_[axis] = *value / verified;
        else if (*value != verified)
          return refused(what + " would become " + std::to_string(*value) + " along " + kAxis[axis] +
                         ", but the candidate was verified with " + std::to_string(component(geometry, piece, axis)));
      }
      return piece == Piece::Block && block_part_[axis] > 1;
    }
    if (piece != Piece::Grid || same_size(wanted(piece, axis), size, arguments_)) return false;
    auto rest = beyond_following(axis);
    if (!rest)
      return refused(what + " follows '" + changed_.begin()->first + "' along " + kAxis[axis] +
                     ", and it is not known whether to the verified value (" + wanted(piece, axis).text() + ")");
    rest_[axis] = *rest;
    return !rest->is_variable(variable(piece, axis));
  }

  /// The candidate's expression relative to a grid that follows BLOCK by itself: `gx * 32` for
  /// `ceil_div(gx * 64, BLOCK) * 32`.
  std::optional<Expression> beyond_following(int axis) const {
    const Expression grid = Expression::variable(variable(Piece::Grid, axis));
    auto part = wanted(Piece::Grid, axis).find([&](const Expression& node) {
      auto quotient = node.as_quotient();
      return quotient && quotient->ceiling && quotient->dividend.op() == Expression::Op::Multiply &&
             quotient->dividend.operands()[0] == grid && mentions_changed(node);
    });
    if (!part) return std::nullopt;
    Expression rest = wanted(Piece::Grid, axis).rewritten([&](const Expression& node) {
      return node == *part ? std::optional(grid) : std::nullopt;
    });
    return mentions_changed(rest) ? std::nullopt : std::optional(rest);
  }

  Status rewrite(Piece piece) {
    const SourceRange& where = range(piece);
    std::string what = "the " + std::string(name(piece)) + " of the launch at " + place_of(site_.range);
    if (where.begin >= where.end || where.file != site_.range.file)
      return refused(what + " is not written at the launch: it cannot be changed in place");
    if (where.end > source_.size() || !looks_like_argument(where))
      return refused(what + " is not where the scan found it: " + site_.range.file +
                     " has changed since; run `kernelift scan` again");
    KERNELIFT_ASSIGN(std::string text, replacement(piece, what));
    result_.edits.push_back({where.file, where.begin, where.end, text, what});
    return done();
  }

  /// `k<<<…` becomes `(guard ? k_tuned : k)<<<…`.
  Status choose_kernel() {
    const std::string what = "the launch at " + place_of(site_.range);
    const SourceRange& where = site_.kernel_range;
    const size_t begin = where.begin;
    if (site_.kernels.size() > 1) return refused(what + " serves " + std::to_string(site_.kernels.size()) + " kernels");
    if (where.begin >= where.end || where.file != site_.range.file || where.begin < site_.range.begin ||
        where.end > site_.range.end)
      return refused(what + (site_.through_macro ? " is written by a macro that spells the kernel's name: it cannot "
                                                   "choose between two kernels"
                                                 : " does not spell the kernel in front of <<<"));
    if (where.end > source_.size()) return refused(what + " is not where the scan found it");
    const std::string callee = source_.substr(begin, where.end - begin);
    // A template's instance is named on both sides: a choice between two templates would be none of types.
    const size_t of_template = mep_.kernel_name.find('<');
    const bool is_template = of_template != std::string::npos;
    const size_t spelled = is_template ? std::min(callee.find('<'), callee.size()) : callee.size();
    const std::string path = without_outer_blanks(callee.substr(0, spelled));
    const std::string instance = spelled < callee.size() ? callee.substr(spelled)
                                 : is_template           ? mep_.kernel_name.substr(of_template)
                                                         : "";
    size_t name = path.size();
    while (name > 0 && word_character(path[name - 1])) --name;
    const bool plain = std::ranges::all_of(path, [](char c) { return word_character(c) || c == ':'; });
    if (path.empty() || name == path.size() || !plain || (!instance.empty() && instance.back() != '>'))
      return refused(what + " does not spell the kernel in front of <<<");
    instance_ = instance;
    std::string text = path.substr(0, name) + beside_ + instance;
    result_.edits.push_back({site_.range.file, begin, begin + callee.size(), text, what, Author::Generated});
    return done();
  }

  /// The guard in the words of the launch: its arguments in place of the kernel's parameters.
  Result<std::string> asked(const std::string& what) const {
    std::map<std::string, AskedNumber> numbers;
    std::map<std::string, std::string> addresses;
    // A member of a structure is one of what the launch passes for it: "(params).n" for `params.n`.
    auto written = [&](const std::string& variable) {
      const size_t dot = std::min(variable.find('.'), variable.size());
      for (size_t p = 0; p < mep_.parameters.size(); ++p) {
        if (mep_.parameters[p].name != variable.substr(0, dot)) continue;
        const std::string text = site_.repeatable_argument(p);
        const bool plain = std::ranges::all_of(text, [](char c) { return word_character(c) || c == '.'; });
        if (dot == variable.size() || text.empty()) return text;
        return (plain ? text : "(" + text + ")") + variable.substr(dot);
      }
      return std::string();
    };
    auto unknown = [&](const std::string& variable) {
      return refused(what + " would have to ask whether " + guard_.text() + ", and the launch has no plain text for " +
                     variable);
    };
    for (auto& pointer : guard_.addresses()) {
      const std::string text = written(pointer);
      if (text.empty()) return unknown(pointer);
      addresses[pointer] = "(unsigned long long)(" + text + ")";
    }
    for (auto& variable : guard_.numbers()) {
      std::string text = written(variable);
      for (auto& [builtin, piece] : {std::pair("gridDim.", Piece::Grid), std::pair("blockDim.", Piece::Block)})
        if (const auto own = as_spelled(piece); variable.starts_with(builtin) && !own.empty() && !has_effects(own))
          text = as_dim3(piece) + "." + variable.substr(std::strlen(builtin));
      if (text.empty()) return unknown(variable);
      numbers[variable] = as_kernel_sees(mep_, site_, variable, text);
    }
    return guard_.cpp(numbers, addresses);
  }

  bool looks_like_argument(const SourceRange& where) const {
    size_t before = where.begin, after = where.end;
    while (before > 0 && std::isspace(static_cast<unsigned char>(source_[before - 1]))) --before;
    while (after < source_.size() && std::isspace(static_cast<unsigned char>(source_[after]))) ++after;
    // `<<<grid, block>>>`, a call's arguments, or the fields of a launch configuration.
    bool opens = before > 0 && std::strchr("<,(={", source_[before - 1]);
    return opens && after < source_.size() && std::strchr(">,);}", source_[after]);
  }

  std::string as_spelled(Piece piece) const {
    const SourceRange& where = range(piece);
    return where.file == site_.range.file && where.end <= source_.size() && where.begin < where.end
               ? source_.substr(where.begin, where.end - where.begin)
               : std::string();
  }

  /// Text of which `.x` is the size along x: the launch's own where that is the name of a dim3.
  std::string as_dim3(Piece piece) const {
    const std::string text = as_spelled(piece);
    const bool plain = std::ranges::all_of(text, [](char c) { return word_character(c) || c == '.' || c == ':'; });
    const std::string& form = piece == Piece::Grid ? site_.grid_form : site_.block_form;
    if (inside_dim3(text) != text) return text;
    return form == "dim3" && plain && as_operand(site_, text) == text ? text : "dim3(" + text + ")";
  }

  Result<std::string> replacement(Piece piece, const std::string& what) {
    std::vector<std::string> text;
    for (int axis = 0; axis < axes(piece); ++axis) {
      const std::string self = variable(piece, axis);
      const bool follows = following_.contains(self);
      KERNELIFT_ASSIGN(bool same, as_it_is(piece, axis));
      const Expression* rest = piece == Piece::Grid && rest_[axis] ? &*rest_[axis] : nullptr;
      if (follows && piece == Piece::Block && block_part_[axis] > 1) {
        text.push_back(names_.at(self) + " / " + std::to_string(block_part_[axis]));
        continue;
      }
      if (follows ? !rest || rest->is_variable(self) : same) {
        text.push_back(written_.at(self));
        continue;
      }
      if (piece == Piece::Grid) KERNELIFT_TRY(check_block(axis, what));
      Expression simple = follows ? rest->simplified(known_) : simplified(piece, axis);
      for (auto& name : simple.variables()) {
        if (!names_.contains(name))
          return refused(what + " depends on '" + name + "', for which the source has no expression");
        if (following_.contains(name) && name != self)
          return refused(what + " depends on '" + name + "', which itself changes with '" + changed_.begin()->first +
                         "'");
      }
      auto names = names_;
      if (piece == Piece::Grid && simple.uses(self) &&
          simple.uses_any({std::begin(kBlockVariables), std::end(kBlockVariables)}))
        names[self] = "size_t(" + names[self] + ")";
      text.push_back(in_own_terms(piece, axis, simple).value_or(simple.cpp(names)));
    }
    if (piece == Piece::Shared) return text[0];
    bool number = is_number(as_spelled(piece), piece == Piece::Grid ? site_.grid_form : site_.block_form);
    while (text.size() > 1 && text.back() == "1") text.pop_back();
    std::string all = text[0];
    for (size_t axis = 1; axis < text.size(); ++axis) all += ", " + text[axis];
    return number && text.size() == 1 ? all : "dim3(" + all + ")";
  }

  /// The size over what the launch computes its own size from, where that takes fewer divisions: `(n + 63) / 64` for
  /// half as many blocks as `(n + 31) / 32`.
  std::optional<std::string> in_own_terms(Piece piece, int axis, const Expression& size) const {
    const std::string self = variable(piece, axis);
    auto& own = spelled(piece, axis);
    // A cast, or the name of a variable for all of it, is no part of the expression, and stays.
    if (piece != Piece::Grid || !own || without_brackets(own->text()) != without_brackets(written_.at(self)) ||
        std::ranges::any_of(own->variables(), [&](auto& name) { return names_.contains(name); }))
      return std::nullopt;
    const Expression whole = size.substitute({{self, *own}}), once = rounded_up_once(whole);
    return divisions(once) < divisions(whole) ? std::optional(once.cpp(names_)) : std::nullopt;
  }

  /// The candidate's expression with the parameters' values and the launch's own numbers substituted.
  Expression simplified(Piece piece, int axis) const {
    Bindings known = values_;
    for (auto& [name, value] : known_) known[name] = value;
    return wanted(piece, axis).simplified(known);
  }

  /// Refuses a block that may exceed the limit on threads: it grows along one axis, and along another axis it may be
  /// larger than recorded.
  Status check_threads() const {
    for (int axis = 0; axis < 3; ++axis) {
      const bool follows = following_.contains(variable(Piece::Block, axis));
      bool grows = block_changes_[axis];
      for (auto& instance : mep_.instances) {
        KERNELIFT_ASSIGN(Geometry wanted, launch_.evaluate(instance.geometry, with_arguments(mep_, instance, values_)));
        grows |= follows && component(wanted, Piece::Block, axis) > component(instance.geometry, Piece::Block, axis);
      }
      const bool relative = block_changes_[axis] && !simplified(Piece::Block, axis).variables().empty();
      for (int other = 0; grows && other < 3; ++other)
        if ((other == axis ? relative : !block_changes_[other]) &&
            !following_.contains(variable(Piece::Block, other)) && !own_size(other))
          return refused("the block of the launch at " + place_of(site_.range) + " would change along " + kAxis[axis] +
                         ", and its size along " + kAxis[other] +
                         " is not known before the program runs: it may exceed 1024 threads");
      if (int64_t threads = grows ? threads_known() : 0; threads > kMostThreadsPerBlock)
        return refused("the block of the launch at " + place_of(site_.range) + " would have " +
                       std::to_string(threads) +
                       " threads, which is more than 1024: this launch's block has another size than the recorded one");
    }
    return done();
  }

  /// Refuses more dynamic shared memory than a launch gets unless cudaFuncSetAttribute asks for it: a patch writes no
  /// such call into the application, and the launch would fail there, though not where the candidate was measured.
  Status check_shared() const {
    uint32_t most = 0;
    for (auto& instance : mep_.instances)
      most = std::max({most, instance.geometry.shared_bytes, instance.settings.max_dynamic_shared});
    // Where the kernel's own limit was not recorded, which leaves room for its static arrays.
    const bool known =
        std::ranges::any_of(mep_.instances, [](auto& one) { return one.settings.max_dynamic_shared > 0; });
    if (!known) most = std::max(most, mep_.language == "hip" ? kOrdinarySharedBytesOfHip : kOrdinarySharedBytes);
    for (auto& instance : mep_.instances) {
      KERNELIFT_ASSIGN(Geometry wanted, launch_.evaluate(instance.geometry, with_arguments(mep_, instance, values_)));
      if (wanted.shared_bytes > most)
        return refused("the launch at " + place_of(site_.range) + " would ask for " +
                       std::to_string(wanted.shared_bytes) +
                       " bytes of dynamic shared memory, and the application may use " + std::to_string(most) +
                       " there: it has not set a larger cudaFuncAttributeMaxDynamicSharedMemorySize for the kernel");
    }
    return done();
  }

  /// Size of this launch's block along an axis; nothing if it is not known before the program runs.
  std::optional<int64_t> own_size(int axis) const {
    if (auto number = known_.find(variable(Piece::Block, axis)); number != known_.end()) return number->second;
    auto& own = spelled(Piece::Block, axis);
    Bindings knobs = changed_;
    for (auto& knob : mep_.knobs) knobs.emplace(knob.name, knob.value);
    if (!own) return std::nullopt;
    auto size = own->evaluate(knobs);
    return size.ok() ? std::optional(*size / block_part_[axis]) : std::nullopt;
  }

  /// Number of threads of this launch's block after the patch; 0 if it is not known.
  int64_t threads_known() const {
    Bindings own = values_;
    for (int axis = 0; axis < 3; ++axis)
      if (auto size = own_size(axis)) own[variable(Piece::Block, axis)] = *size;
    int64_t threads = 1;
    for (int axis = 0; axis < 3; ++axis) {
      auto wanted_size =
          block_changes_[axis] ? wanted(Piece::Block, axis).evaluate(own) : Result<int64_t>(own_size(axis).value_or(0));
      threads *= wanted_size.ok() ? *wanted_size : 0;
    }
    return threads;
  }

  /// Refuses a grid that is scaled by the recorded block size as a number, if this launch may have another block: a
  /// site that was not recorded, or this one in the next build. The grid would then be too small or too large.
  Status check_block(int axis, const std::string& what) const {
    std::string grid = variable(Piece::Grid, axis), block = variable(Piece::Block, axis);
    const Expression &wanted_grid = wanted(Piece::Grid, axis), &wanted_block = wanted(Piece::Block, axis);
    if (!block_changes_[axis] || !wanted_grid.uses(grid) || wanted_grid.uses(block) || wanted_block.uses(block))
      return done();
    auto here = known_.find(block);
    if (here != known_.end() ? is_recorded(Piece::Block, axis, here->second) : grid_ignores_block(axis)) return done();
    return refused(what + " would have to follow its block, which along " + kAxis[axis] + " is " +
                   (here == known_.end() ? "not a number" : std::to_string(here->second)) +
                   " there: the candidate was verified with blocks of " +
                   std::to_string(component(mep_.instances[0].geometry, Piece::Block, axis)));
  }

  /// True if the expressions of grid and block are both known and have no name in common.
  bool grid_ignores_block(int axis) const {
    auto &grid = spelled(Piece::Grid, axis), &block = spelled(Piece::Block, axis);
    return grid && block && !grid->uses_any(block->variables());
  }

  /// Refuses a replacement that evaluates an expression with side effects more often than before, or no longer.
  Status check_evaluations() {
    std::string before, after;
    for (Piece piece : {Piece::Grid, Piece::Block, Piece::Shared}) {
      const SourceRange& where = range(piece);
      auto edit = std::find_if(result_.edits.begin(), result_.edits.end(),
                               [&](auto& one) { return one.begin == where.begin && one.end == where.end; });
      before += as_spelled(piece) + "\n";
      after += (edit == result_.edits.end() ? as_spelled(piece) : edit->text) + "\n";
    }
    auto count = [](const std::string& text, const std::string& part) {
      int times = 0;
      for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + part.size())) ++times;
      return times;
    };
    std::set<std::string> parts;
    for (Piece piece : {Piece::Grid, Piece::Block, Piece::Shared}) {
      auto arguments = dim3_arguments(as_spelled(piece));
      if (arguments.empty()) arguments = {as_spelled(piece)};
      parts.insert(arguments.begin(), arguments.end());
    }
    for (auto& part : parts) {
      if (part.empty()) continue;
      int then = count(before, part), now = count(after, part);
      if (now != then && has_effects(part))
        return refused("the launch at " + place_of(site_.range) + " would evaluate '" + part +
                       "', which has side effects, " + (now > then ? "more than once" : "no longer"));
      if (now > then && calls_something(part))
        result_.notes.push_back("The launch at " + place_of(site_.range) + " now evaluates '" + part +
                                "' more than once.");
    }
    return done();
  }

  /// Reads how the site spells gx, gy and gz (or bx, by and bz), and which of them are numbers.
  void spell_axes(Piece piece, const std::string& form) {
    std::string text = as_spelled(piece);
    if (text.empty()) return;
    std::vector<std::string> parts = dim3_arguments(text);
    // The name of a number, and not of a dim3, is the size along x.
    const std::string in = inside_dim3(text);
    auto one = Expression::parse(in);
    if (parts.empty() && (is_number(text, form) || (in != text && one.ok() && spelled(piece, 0) == *one))) parts = {in};
    const std::string whole = as_dim3(piece);
    const std::set<size_t>& real = piece == Piece::Grid ? site_.real_grid : site_.real_block;
    for (int axis = 0; axis < 3; ++axis) {
      std::string name = variable(piece, axis);
      if (parts.empty()) {
        names_[name] = written_[name] = whole + "." + kAxis[axis];
        continue;
      }
      const size_t part = static_cast<size_t>(axis);
      written_[name] = part < parts.size() ? parts[part] : "1";
      // A size of floating point is rounded before it is multiplied, as dim3 does it.
      names_[name] = real.contains(part) ? "unsigned(" + written_[name] + ")" : as_operand(site_, written_[name]);
      auto value = Expression::parse(written_[name]);
      if (!value.ok() || !value->variables().empty()) continue;
      if (auto constant = value->evaluate({}); constant.ok()) known_[name] = *constant;
    }
  }

  bool is_recorded(Piece piece, int axis, int64_t value) const {
    return std::all_of(mep_.instances.begin(), mep_.instances.end(),
                       [&](auto& instance) { return component(instance.geometry, piece, axis) == value; });
  }

  const Mep& mep_;
  const LaunchSite& site_;
  const CandidateLaunch& launch_;
  const Bindings& values_;
  const Bindings& changed_;
  const std::string& source_;
  bool one_template_;
  LaunchGuard guard_;          ///< Without what the launch's own numbers answer.
  std::string instance_;       ///< Of the template that is launched: "<float, 8>"; empty: it is none.
  const std::string& beside_;  ///< Name of the kernel that is launched where the guard holds; empty: the same.
  const std::map<std::string, std::string> arguments_ = plain_arguments(mep_, site_);
  std::map<std::string, std::string> names_;    ///< The site's text for gx, by, …, shared and the kernel's parameters.
  std::map<std::string, std::string> written_;  ///< The same for its sizes where they stay alone: without brackets.
  Bindings known_;                              ///< Those of them that are numbers.
  bool block_changes_[3] = {};                  ///< Axes of the block that change, other than by following a knob.
  std::set<std::string> following_;             ///< Variables (gx, by, …) that the source computes from a changed knob.
  int64_t block_part_[3] = {1, 1, 1};  ///< Of what a block's axis computes from a changed knob: this part is launched.
  std::optional<Expression> rest_[3];  ///< For grid axes that follow a knob: the candidate's grid relative to that.
  LaunchEdits result_;
};

}  // namespace

Result<LaunchEdits> edit_launch(const Mep& mep, const LaunchSite& site, const CandidateLaunch& launch,
                                const Bindings& values, const Bindings& changed, const std::string& source,
                                bool one_template, const LaunchGuard& guard, const std::string& beside) {
  return LaunchEditor(mep, site, launch, values, changed, source, one_template, guard, beside).run();
}

}  // namespace kernelift::reintegrate
