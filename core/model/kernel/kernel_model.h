// What a kernel does with memory, for every size: its objects, its accesses with the element that each touches and the
// condition under which it does, and its barriers. Made from device IR (core/compiler/model), compared by
// core/legality, and shown to people. What is not understood is in it by name and line: a reader that needs an answer
// about it has none.
//
// All integers are Expressions over these variables:
//   tid.x … tid.z, bid.x …, ntid.x …, nctaid.x …   position of the thread, and the launch's geometry
//   arg.a3, arg.a3.o8     the integer parameter with that index, or the integer at that byte offset of a structure;
//                         `members` has the latter's name in the source
//   loop.k1               a loop's iteration, from 0
//   term.t1               a value that is no such expression, such as an element of an array of indices
// They have the values that C gives them on integers without overflow; a parameter is the signed number that its bits
// are (declared_number.h). Divisions truncate.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/model/kernel/term_value.h"
#include "core/model/launch/expression.h"

namespace kernelift {

struct KernelModel {
  using Object = MemoryObject;

  /// A value that is used as an index or decides a condition, and is no expression of the variables above.
  struct Term {
    std::string name;  ///< "term.t1"
    TermValue value;   ///< What it is made of, over `arguments`.
    std::vector<Expression> arguments;
    /// `value` and `arguments` determine it during a launch: nothing that it reads is written by the kernel.
    bool repeats = false;
    unsigned line = 0;
  };

  /// A number or pointer in a structure that the kernel gets by value.
  struct Member {
    size_t parameter = 0;          ///< Index of the kernel's parameter.
    uint32_t offset = 0;           ///< Bytes from the structure's start.
    std::string type;              ///< Canonical: "int", "unsigned long"; "pointer".
    std::string path;              ///< As the source spells it behind the parameter: ".n", ".size.x".
    std::string variable() const;  ///< "arg.a1.o8"
    bool operator==(const Member&) const = default;
  };

  /// What parameters and members ("arg.a2", "arg.a1.o8") are compared with: what a kernel does may change there.
  struct Compared {
    std::map<std::string, std::set<int64_t>> integers = {};  ///< Constants, as the signed numbers that their bits are.
    std::map<std::string, std::set<double>> numbers = {};    ///< The same of floating point.
    std::set<size_t> pointers = {};                          ///< Parameters that are compared with a null pointer.
    void add(const Compared& others);
  };

  /// When a thread does something, to be compared in lexicographic order with what it does else: places in the program
  /// and, between them, the iterations of the loops around.
  using Time = std::vector<Expression>;

  struct Access {
    enum class Kind { Load, Store, Atomic };
    Kind kind = Kind::Load;
    size_t object = 0;                  ///< Index in `objects`.
    unsigned bytes = 0;                 ///< Width.
    unsigned line = 0;                  ///< In the kernel's source; 0: not known.
    Expression offset;                  ///< Bytes from the object's start.
    Expression domain;                  ///< Unequal 0 exactly where a thread makes the access.
    std::vector<std::string> counters;  ///< Variables of the loops around it, the outermost first.
    Time time;
    unsigned alignment = 1;      ///< Bytes that divide the address, or the access faults.
    std::string operation = {};  ///< Of an atomic one: "add i32"; else empty.
    /// Bytes from the object's start, to either side, that a number of 32 bits lets it reach; 0: more numbers decide
    /// it, or wider ones.
    uint64_t reach = 0;
    /// Of a store, a hash of what its value is made of, behind kByThread where positions are part of that; empty: it is
    /// not known.
    std::string stored = {};
    /// Barriers that order no memory: of a load, those that are given its value; else those on whose results it
    /// depends.
    std::set<size_t> exchanges = {};
  };

  static constexpr const char* kByThread = "by thread ";

  struct Barrier {
    bool of_warp = false;       ///< Only the threads of a warp wait for each other: __syncwarp, and shuffles and votes.
    bool orders_memory = true;  ///< What was stored before it is seen behind it: not so for shuffles and votes.
    /// Of a warp: only lanes whose numbers agree in these bits wait for each other; 0: all. nullopt: not known.
    std::optional<uint32_t> apart = 0;
    std::string lanes = {};  ///< Where `apart` is not known, a hash of what the mask is made of; empty: nor is that.
    unsigned line = 0;
    Expression domain;
    std::vector<std::string> counters;
    Time time;
  };

  /// An integer that depends on the thread's position and goes into something that is no integer arithmetic: an
  /// address, a comparison, a stored value, a conversion. With equal data and equal memory two threads do the same.
  struct Datum {
    unsigned line = 0;
    Expression value;
    Expression domain;
    bool stored = false;  ///< It is what a store writes.
  };

  /// A number that is computed in 32 bits, used where it matters what it would be without overflow.
  struct Narrow {
    unsigned line = 0;
    Expression value;
    Expression domain;
    bool is_signed = true;
    std::optional<size_t> index_of = {};  ///< It is part of addresses of this object and nothing else.
    uint64_t unit = 0;                    ///< Then: bytes by which one more moves the address; 0: not known.
    bool operator==(const Narrow&) const = default;
  };

  /// Something that no access describes: inline assembly, an indirect call, an address of unknown origin.
  struct Gap {
    unsigned line = 0;
    std::string what;
  };

  std::vector<Object> objects;
  std::vector<Term> terms;
  std::vector<Member> members = {};  ///< Of structures whose layout the device code names.
  std::vector<Access> accesses;
  std::vector<Barrier> barriers;
  std::vector<Gap> gaps;
  /// What the kernel does, or how, that no access describes: "atomicAdd_block", "__trap", "volatile loads",
  /// "the values of table (1234abcd)". Two kernels are comparable where these are the same.
  std::set<std::string> unmodelled = {};
  static constexpr const char* kFence = "fence ";        ///< Begins those of them that a kernel may have more of.
  static constexpr const char* kUnfenced = "unfenced ";  ///< Begins what no fence orders: it may be less.
  static constexpr const char* kPrint = "print of ";     ///< Begins what is compared under the same launch alone.
  std::vector<Narrow> narrow = {};
  Compared compared = {};
  std::map<std::string, unsigned> widths = {};  ///< Bits of integer parameters: "arg.a2" to 32.
  std::vector<Datum> data = {};                 ///< In the order of the prepared code.
  std::string code = {};                        ///< A hash of the prepared code without these integers.
  /// A hash of all of the prepared code, with what it uses of variables and types: kernels with equal ones do the same
  /// under equal launches. Empty: it depends on what is not part of it.
  std::string whole_code = {};
  /// The prepared code is the source's only if arguments are different memory.
  bool needs_different_memory = false;
  /// Where threads learn of each other: shuffles, results of atomic operations, clocks.
  std::vector<Gap> exchanges = {};
  /// What the model takes for granted: a parameter that the kernel reads as unsigned is not negative as a signed
  /// number.
  std::vector<Expression> assumed = {};

  bool complete() const { return gaps.empty(); }
  /// Accesses whose element and condition follow from positions, the launch, loops and parameters alone.
  size_t known_accesses() const;
  const Term* term(const std::string& name) const;
  /// Adds the variables in the arguments of the terms among `names`, of terms among those as well.
  void add_inner_terms(std::set<std::string>& names) const;
};

/// No values of its variables make the expression negative: positions, geometry and counters are not. Parameters that
/// it needs for that go to `parameters`; without, none of them counts.
bool never_negative(const Expression& expression, std::set<std::string>* parameters = nullptr);

Json to_json(const KernelModel&);
Result<KernelModel> kernel_model_from_json(const Json&, const std::string& where);

/// For a person: one line for each access, barrier and gap. `names`: how the source spells the parameters, "arg.a2" to
/// "n"; members are spelled over them.
std::string to_text(const KernelModel&, VariableNames names = {});

/// `names` with those of members: "arg.a1.o8" to "params.n" where "arg.a1" is "params".
VariableNames with_members(VariableNames names, const std::vector<KernelModel::Member>& members);

}  // namespace kernelift
