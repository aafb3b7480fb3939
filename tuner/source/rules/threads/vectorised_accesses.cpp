// vectorised_accesses: threads that follow each other along x access elements that follow each other,
//   int i = blockIdx.x * blockDim.x + threadIdx.x;  if (i < n) out[i] = 2 * x[i];
// Each thread computes some of them, and accesses them at once:
//   int i_first = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
//   if (i_first + 3 < n) {
//     alignas(16) float x_values[4];  alignas(16) float out_values[4];
//     *reinterpret_cast<float4*>(x_values) = *reinterpret_cast<const float4*>(&x[i_first]);
//     for (int u = 0; u < 4; ++u) out_values[u] = 2 * x_values[u];
//     *reinterpret_cast<float4*>(&out[i_first]) = *reinterpret_cast<const float4*>(out_values);
//   } else {
//     for (int i = i_first; i < n; ++i) out[i] = 2 * x[i];
//   }
// In a grid-stride loop, the same becomes of its body, and the stride four times as long. A type behind a name that the
// program defines (`typedef float real;`) may be another one in another build: `sizeof(real) == 4 && …` asks for it.
// That arrays begin at multiples of such a width is a premise. Rows have to be as long by a number of the program: the
// comparison for all sizes refutes a premise on a row's length. Which accesses follow each other is read from
// subscripts as sums of products (shifted_reads.h).
#include <clang/AST/ASTContext.h>
#include <clang/AST/Decl.h>
#include <clang/AST/Expr.h>

#include <algorithm>

#include "tuner/source/rules/spelled_type.h"
#include "tuner/source/rules/stencils/row_kernel.h"
#include "tuner/source/rules/threads/grid_stride_loop.h"
#include "tuner/source/rules/threads/jammed_copies.h"
#include "tuner/source/rules/threads/lane_loops.h"

namespace kernelift::tuner {
namespace {

constexpr int64_t kVectorBytes = 16;  ///< The widest access.
constexpr size_t kMostVectors = 8;

/// The stem of CUDA's vector types: "float" of float4. Empty: there are none.
std::string vector_stem(clang::QualType type) {
  auto* builtin = type->getAs<clang::BuiltinType>();
  if (!builtin) return {};
  using B = clang::BuiltinType;
  static const std::map<B::Kind, std::string> kStems = {
      {B::Float, "float"},       {B::Double, "double"},      {B::Int, "int"},     {B::UInt, "uint"},
      {B::Short, "short"},       {B::UShort, "ushort"},      {B::UChar, "uchar"}, {B::SChar, "char"},
      {B::LongLong, "longlong"}, {B::ULongLong, "ulonglong"}};
  auto found = kStems.find(builtin->getKind());
  return found == kStems.end() ? "" : found->second;
}

class Vectoriser {
 public:
  Vectoriser(const KernelSource& source, const RuleContext& facts, const clang::FunctionDecl* kernel,
             const GlobalIndex& index, int64_t width)
      : source_(source), facts_(facts), kernel_(source, kernel, index, width), width_(width) {}

  std::optional<Opportunity> run();
  const std::string& why_not() const { return why_not_; }

 private:
  using Element = clang::ArraySubscriptExpr;
  /// Accesses to the same element.
  struct Vector {
    const clang::VarDecl* array = nullptr;
    IndexSum place;
    std::string type, stem, name;
    int64_t bytes = 0;     ///< Of an element.
    bool renamed = false;  ///< The type's name means another type in another build.
    std::vector<const Element*> uses = {};
    bool always_read = false, always_stored = false, sometimes_stored = false;
    bool read_first = false;  ///< The element's value before counts.
  };

  std::nullopt_t give_up(const std::string& why) {
    why_not_ = why;
    return std::nullopt;
  }
  void visit(const clang::Stmt* statement, bool always);
  void add(const Element* element, bool always);
  /// The place is a multiple of the width if the index is.
  bool is_aligned(const IndexSum& place) const;
  std::string why_not_stored() const;
  bool mentions(const std::string& text, const std::string& name) const {
    return with_names(text, {{name, name + "#"}}) != text;
  }
  std::string cast(const Vector& vector, bool constant) const {
    return "*reinterpret_cast<" + std::string(constant ? "const " : "") + vector.stem + std::to_string(width_) + "*>";
  }
  std::string text(const std::string& indent) const;

  const KernelSource& source_;
  const RuleContext& facts_;
  RowKernel kernel_;
  const int64_t width_;
  std::string why_not_, counter_;
  std::vector<Vector> vectors_;
};

void Vectoriser::add(const Element* element, bool always) {
  auto* array = named_variable(element->getBase());
  auto place = array ? kernel_.sums().of(element->getIdx()) : std::nullopt;
  auto step = place ? place->coefficient(kernel_.sums().index()) : std::nullopt;
  const clang::Stmt *below = element, *up = source_.parent(element);
  while (llvm::isa_and_nonnull<clang::ParenExpr>(up)) below = up, up = source_.parent(up);
  auto* set = llvm::dyn_cast_or_null<clang::BinaryOperator>(up);
  auto* load = llvm::dyn_cast_or_null<clang::ImplicitCastExpr>(up);
  const bool stored = set && set->isAssignmentOp() && set->getLHS() == below,
             read = load && load->getCastKind() == clang::CK_LValueToRValue;
  const std::string type = array ? spelled_type(source_, array) : "";
  if (!array || !llvm::isa<clang::ParmVarDecl>(array) || !array->getType()->isPointerType() ||
      kernel_.sums().changes(array) || !step || *step != IndexSum(1) || (!stored && !read) ||
      element->getType()->isDependentType() || element->getType().isVolatileQualified() || type.empty() ||
      vector_stem(element->getType()).empty() || source_.spelled(element).empty()) {
    return;
  }
  auto vector = std::ranges::find_if(vectors_, [&](auto& one) { return one.array == array && one.place == *place; });
  if (vector == vectors_.end()) {
    Vector made{array, *place, type, vector_stem(element->getType()), ""};
    made.bytes = source_.context().getTypeSizeInChars(element->getType()).getQuantity();
    made.renamed = !llvm::isa<clang::BuiltinType>(array->getType()->getPointeeType().getLocalUnqualifiedType()) ||
                   spelled_by_macro(source_, array);
    vectors_.push_back(made);
    vector = vectors_.end() - 1;
  }
  // In an assignment the right side is visited before the left.
  if (vector->uses.empty()) vector->read_first = read || set->getOpcode() != clang::BO_Assign || !always;
  vector->uses.push_back(element);
  vector->always_read |= always && (read || (set && set->getOpcode() != clang::BO_Assign));
  vector->always_stored |= always && stored;
  vector->sometimes_stored |= !always && stored;
}

void Vectoriser::visit(const clang::Stmt* statement, bool always) {
  if (!statement) return;
  auto* branch = llvm::dyn_cast<clang::IfStmt>(statement);
  auto* choice = llvm::dyn_cast<clang::ConditionalOperator>(statement);
  auto* binary = llvm::dyn_cast<clang::BinaryOperator>(statement);
  if (auto* element = llvm::dyn_cast<Element>(statement)) {
    visit(element->getIdx(), always);
    add(element, always);
  } else if (branch) {
    visit(branch->getCond(), always);
    visit(branch->getThen(), false);
    visit(branch->getElse(), false);
  } else if (choice) {
    visit(choice->getCond(), always);
    visit(choice->getTrueExpr(), false);
    visit(choice->getFalseExpr(), false);
  } else if (binary && binary->isLogicalOp()) {
    visit(binary->getLHS(), always);
    visit(binary->getRHS(), false);
  } else if (binary && binary->isAssignmentOp()) {
    visit(binary->getRHS(), always);
    visit(binary->getLHS(), always);
  } else {
    const bool once = !llvm::isa<clang::ForStmt, clang::WhileStmt, clang::DoStmt, clang::SwitchStmt>(statement);
    for (auto* child : statement->children()) visit(child, always && once);
  }
}

bool Vectoriser::is_aligned(const IndexSum& place) const {
  return std::ranges::all_of(place.products(), [&](auto& product) {
    return product.second % width_ == 0 || product.first == IndexSum::Factors{kernel_.sums().index()};
  });
}

/// Why not all that the work stores is stored as vectors; empty: it is.
std::string Vectoriser::why_not_stored() const {
  std::set<const clang::Stmt*> stores;
  for (auto& vector : vectors_)
    if (vector.always_stored || vector.sometimes_stored) stores.insert(vector.uses.begin(), vector.uses.end());
  for (auto& vector : vectors_) {
    const std::string name = "`" + vector.array->getNameAsString() + "`";
    if (!vector.always_stored && !vector.sometimes_stored) continue;
    if (!vector.always_stored) return name + " is stored to under a condition";
    // The array has no other accesses: what is stored is seen at once.
    size_t uses = 0;
    walk(kernel_.body(), [&](const clang::Stmt* statement) {
      auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(statement);
      uses += reference && reference->getDecl() == vector.array;
      return true;
    });
    if (uses != vector.uses.size()) return name + " is accessed at several elements";
  }
  const LaneLoops lanes(source_, facts_);
  for (auto* statement : kernel_.work()) {
    bool other = false;
    walk(statement, [&](const clang::Stmt* inner) {
      auto* target = assigned_by(inner);
      auto* variable = target ? variable_of(target) : nullptr;
      other |= target && !(variable && variable->hasLocalStorage()) && !stores.contains(target->IgnoreParens());
      other |= llvm::isa<clang::CallExpr>(inner) && !target && lanes.writes_memory(inner);
      return true;
    });
    if (other) return "the kernel stores to other elements, too, or calls what may";
  }
  return {};
}

std::string Vectoriser::text(const std::string& indent) const {
  const std::string index = kernel_.index_name(), inner = indent + source_.step(), within = inner + source_.step(),
                    last = kernel_.first_name() + " + " + std::to_string(width_ - 1), width = std::to_string(width_);
  std::vector<TextEdit> edits;
  RowKernel::Statements places;
  for (auto& vector : vectors_)
    for (auto* use : vector.uses) {
      auto span = source_.span(use);
      edits.push_back({span->begin, span->end, vector.name + "[" + counter_ + "]"});
      places.push_back(use->getIdx());
    }
  // Names of the first element's index and of what it is computed from.
  std::map<std::string, std::string> first{{index, kernel_.first_name()}};
  const auto needed = kernel_.needed_declarations(places, true);
  for (auto* declaration : needed)
    for (auto* declared : llvm::cast<clang::DeclStmt>(declaration)->decls())
      if (auto* variable = llvm::dyn_cast<clang::VarDecl>(declared))
        first[variable->getNameAsString()] = source_.fresh_name(variable->getNameAsString() + "_first");

  // Where a type has another size, all elements are accessed one by one.
  std::set<std::string> sizes;
  for (auto& vector : vectors_)
    if (vector.renamed) sizes.insert("sizeof(" + vector.type + ") == " + std::to_string(vector.bytes) + " && ");
  std::string as_here;
  for (auto& size : sizes) as_here += size;
  const std::string own = sizes.empty() ? "" : index + " < " + kernel_.first_name() + " + " + width + " && ";
  std::string out = indent + "if (" + as_here + with_names(kernel_.in_bounds(), {{index, last}}) + ") {\n" + inner +
                    "// Each thread accesses " + width + " elements at once.\n" +
                    with_names(kernel_.text_of(inner, needed), first);
  for (auto& vector : vectors_)
    out += inner + "alignas(" + std::to_string(width_ * vector.bytes) + ") " + vector.type + " " + vector.name + "[" +
           width + "];\n";
  auto address = [&](const Vector& vector) {
    return "(&" + with_names(source_.spelled(vector.uses.front()), first) + ")";
  };
  for (auto& vector : vectors_)
    if (vector.read_first)
      out += inner + cast(vector, false) + "(" + vector.name + ") = " + cast(vector, true) + address(vector) + ";\n";
  // Declarations that only the vectors' subscripts needed are left out.
  std::string work = kernel_.work_text(within, edits),
              before = kernel_.text_of(within, kernel_.needed_declarations(kernel_.work(), false));
  for (auto one = needed.rbegin(); one != needed.rend(); ++one) {
    std::string text = kernel_.text_of(within, {*one});
    const bool mentioned = std::ranges::any_of(llvm::cast<clang::DeclStmt>(*one)->decls(), [&](auto* declared) {
      const std::string name = llvm::cast<clang::NamedDecl>(declared)->getNameAsString();
      std::string all = before + work;
      if (size_t at = all.find(text); at != all.npos) all.erase(at, text.size());
      return mentions(all, name);
    });
    for (auto* part : {&before, &work})
      if (size_t at = part->find(text); !mentioned && at != part->npos) part->erase(at, text.size());
  }
  out += inner + "#pragma unroll\n" + inner + "for (int " + counter_ + " = 0; " + counter_ + " < " + width + "; ++" +
         counter_ + ") {\n";
  if (mentions(before + work, index))
    out += within + kernel_.declares(index) + kernel_.first_name() + " + " + counter_ + ";\n";
  out += before + work + inner + "}\n";
  for (auto& vector : vectors_)
    if (vector.always_stored)
      out += inner + cast(vector, false) + address(vector) + " = " + cast(vector, true) + "(" + vector.name + ");\n";
  std::string counted = kernel_.declares(index);
  if (counted.starts_with("const ")) counted.erase(0, 6);
  return out + indent + "} else {\n" + inner + "for (" + counted + kernel_.first_name() + "; " + own +
         kernel_.in_bounds() + "; ++" + index + ") {\n" +
         kernel_.text_of(within, kernel_.needed_declarations(kernel_.work(), false)) + kernel_.work_text(within, {}) +
         inner + "}\n" + indent + "}\n";
}

std::optional<Opportunity> Vectoriser::run() {
  const bool parts = kernel_.find_parts();
  bool loops = false;
  for (auto* statement : kernel_.work()) {
    visit(statement, true);
    walk(statement, [&](const clang::Stmt* inner) {
      return !(loops |= llvm::isa<clang::ForStmt, clang::WhileStmt, clang::DoStmt>(inner));
    });
  }
  if (loops) return std::nullopt;  // Its accesses are few beside what it computes.
  // What is read under a condition alone is read one by one.
  std::erase_if(vectors_, [](auto& one) { return !one.always_read && !one.always_stored && !one.sometimes_stored; });
  if (vectors_.empty() || vectors_.size() > kMostVectors) return std::nullopt;
  const std::string name = kernel_.index_name();
  if (!parts || !kernel_.bounded() || !kernel_.lower_bound().empty())
    return give_up("a condition on " + name + " is more than upper bounds");
  if (auto why = kernel_.why_not_repeated(); !why.empty()) return give_up(why);
  if (auto why = why_not_stored(); !why.empty()) return give_up(why);
  std::set<std::string> taken;
  std::map<std::string, int64_t> aligned;
  const bool wide = std::ranges::any_of(vectors_, [&](auto& one) { return one.bytes * width_ > kVectorBytes; });
  if (wide) return std::nullopt;
  for (auto& vector : vectors_) {
    const std::string array = vector.array->getNameAsString(), stem = array + "_values";
    if (!is_aligned(vector.place))
      return give_up("whether `" + array + "` is accessed at multiples of the width is not known");
    vector.name = source_.fresh_name(stem);
    for (int number = 2; taken.contains(vector.name); ++number)
      vector.name = source_.fresh_name(stem + std::to_string(number));
    taken.insert(vector.name);
    aligned[array] = vector.bytes * width_;
  }
  counter_ = source_.fresh_name("u");

  Opportunity found;
  found.place = "elements along " + name;
  found.summary = std::to_string(width_) + " at once";
  // Elements are stored after all have been read: where a read follows a store, they have to be apart.
  const LaneLoops lanes(source_, facts_);
  bool stored = false, read_after = false;
  for (auto* statement : kernel_.work()) {
    read_after |= stored && accesses_memory({statement});
    stored |= lanes.writes_memory(statement);
  }
  std::set<std::string> apart;
  for (auto& vector : vectors_) {
    if (!vector.always_stored || !touches_other_memory(kernel_.body(), vector.array)) continue;
    if (!facts_.is_unaliased(source_, vector.array, kernel_.body()))
      return give_up("`" + vector.array->getNameAsString() + "` may overlap what the kernel reads");
    if (read_after) apart.insert(vector.array->getNameAsString());
  }
  auto edits = kernel_.edits([&](const std::string& indent) { return text(indent); });
  if (!edits) return std::nullopt;
  found.edits = std::move(*edits);
  if (!kernel_.index().loop) found.divide_grid(kernel_.index().axis, width_);
  for (auto& [array, bytes] : aligned) found.premises.push_back(Premise::aligned(array, static_cast<uint64_t>(bytes)));
  if (!apart.empty()) found.premises.push_back(facts_.no_overlap(apart));
  return found;
}

std::vector<Opportunity> find_vectorised_accesses(const KernelSource& source, const RuleContext& facts,
                                                  const Bindings& values) {
  const int64_t width = values.at("width");
  auto* kernel = source.kernel(facts.kernel);
  if (!kernel || facts.geometries.empty() || !RowKernel::is_fit(source, kernel)) return {};
  auto index = global_index(source, kernel, 0);
  if (!index) index = grid_stride_loop(source, kernel);
  if (!index || !index->declared || index->block_only) return {};
  const bool enough = index->loop || std::ranges::all_of(facts.geometries, [&](auto& geometry) {
                        return static_cast<int64_t>(geometry.grid.x) >= width;
                      });
  Vectoriser vectoriser(source, facts, kernel, *index, width);
  auto found = vectoriser.run();
  if (!found && !vectoriser.why_not().empty() && facts.declined)
    facts.declined(kVectorisedAccesses,
                   "the elements along " + index->variable->getNameAsString() + ": " + vectoriser.why_not());
  if (!found || !enough) return {};
  return {std::move(*found)};
}

}  // namespace

const Rule kVectorisedAccesses = {"vectorised_accesses",
                                  "let each thread access 2 or 4 adjacent elements at once (float4, double2 …)",
                                  "a global index along x with upper bounds, or a grid-stride loop; elements of plain "
                                  "types that follow each other along it; every store is "
                                  "to such an element, under no condition; no barrier or shared memory",
                                  {{"width", {4, 2}}},
                                  find_vectorised_accesses,
                                  {Bound::Memory},
                                  0.05};

}  // namespace kernelift::tuner
