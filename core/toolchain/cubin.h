// Reader of cubins (ELF files of NVIDIA's machine): kernels, module variables, machine code, texture use. The bytes
// come from a driver, a compiler or a user's cache; every offset in them is checked before it is followed. Throws
// nothing but std::bad_alloc: the recorder reads images with it inside the user's process.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace kernelift {

struct CubinVariable {
  std::string name;            ///< Mangled name, as the linker spells it.
  uint64_t size = 0;           ///< Bytes.
  bool constant = false;       ///< __constant__
  bool managed = false;        ///< __managed__
  bool local = false;          ///< Has local binding: a static variable.
  bool compiler_made = false;  ///< A string literal, a switch table and the like: part of the code, never written.
};

struct CubinSymbols {
  std::vector<std::string> kernels;  ///< Mangled names of functions that can be launched.
  std::vector<CubinVariable> variables;
};

/// True if the bytes begin as an ELF file does; PTX text does not.
bool is_cubin(std::string_view image);

/// Kernels and variables. An Error says what is damaged.
Result<CubinSymbols> read_cubin(std::string_view image);

/// Only the kernels; none if the image is not a sound cubin.
std::vector<std::string> cubin_kernels(std::string_view image);

/// The machine code of the kernel whose canonical key is `key`, as a view into `image`; empty if it has no such kernel.
std::string_view cubin_code(std::string_view image, const std::string& key);

/// The functions that access memory through the texture unit, by the instruction encoding of Volta and later.
struct CubinTextureUse {
  std::vector<std::string> kernels;
  bool functions = false;  ///< A function that is not a kernel does so.
};
Result<CubinTextureUse> read_texture_use(std::string_view image);

}  // namespace kernelift
