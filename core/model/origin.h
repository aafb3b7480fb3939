// Where an address was found that leads to a piece of memory: an argument of the kernel, a variable of its module, or
// memory that was reached before; and the member in it, by its offset. Artefacts hold it as text: "arg 2", "arg 0 +16",
// "variable table +8", "0x7f1200000000 +8".
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace kernelift {

struct Origin {
  enum class Root {
    Text,           ///< None of those below: `name` is the whole text, empty where nothing is known.
    Argument,       ///< The kernel's argument number `argument`.
    ArgumentBytes,  ///< The bytes of all arguments, where the kernel's parameters are not known.
    Variable,       ///< The module variable `name`.
    Memory,         ///< The memory that begins at `address`.
    Alive,          ///< No address leads there; it was allocated when the kernel was launched.
  };
  Root root = Root::Text;
  int argument = -1;  ///< -1 for all other roots.
  std::string name;   ///< Mangled in captures, a canonical key in MEPs.
  uint64_t address = 0;
  uint64_t offset = 0;   ///< Bytes from the root's begin to the address that was found.
  std::string variable;  ///< The variable of another module that the address leads to; or empty.

  static Origin of_argument(size_t argument, uint64_t offset = 0);
  static Origin of_argument_bytes(uint64_t offset);
  static Origin of_variable(std::string name, uint64_t offset = 0);
  static Origin of_memory(uint64_t address, uint64_t offset);
  static Origin alive();
  /// Every text is an origin: parse(t).text() is t.
  static Origin parse(std::string_view text);

  bool empty() const { return root == Root::Text && name.empty(); }
  /// The argument is the address itself, and no member of it is.
  bool is_whole_argument() const { return root == Root::Argument && offset == 0 && variable.empty(); }
  std::string text() const;
  bool operator==(const Origin&) const = default;
};

}  // namespace kernelift
