// One test per spelling. The same source is compiled by nvcc and by clang, whole and relocatable, and what
// each calls its kernels and variables must come down to one canonical key: by it a capture of a binary that nvcc built
// finds the source that clang reads.
#include <gmock/gmock.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Object/ELFObjectFile.h>

#include "core/base/file.h"
#include "core/base/process.h"
#include "core/compiler/frontend.h"
#include "core/compiler/paths.h"
#include "core/model/kernel_key.h"

namespace kernelift::extractor {
namespace {

namespace fs = std::filesystem;

constexpr const char* kJoined = R"(
static __global__ void static_kernel(int* p) { *p = 1; }
extern "C" __global__ void c_kernel(int* p) { *p = 1; }
extern "C" { static __global__ void static_c_kernel(int* p) { *p = 2; } }
__constant__ int plain_constant[4];
static __constant__ int static_constant[4];
static __device__ float static_device;
extern "C" { __device__ int c_device; }
namespace ns {
__device__ int plain;
static __device__ int local;
inline namespace v1 { __device__ int versioned; __global__ void versioned_kernel(int* p) { *p = versioned; } }
}
namespace {
__constant__ int anonymous_constant[4];
__device__ int anonymous_device;
static __device__ int static_in_anonymous;
__global__ void anonymous_kernel(int* p) { *p = anonymous_constant[1] + anonymous_device++ + static_in_anonymous++; }
namespace inner { __device__ int deep; __global__ void deep_kernel(int* p) { *p = deep++; } }
struct Tag {};
template <class T> __global__ void anonymous_template(T* p) { *p = T(); }
}
template <class T> __global__ void of_type(T* p) { *p = T(); }
template <class T, int N> __global__ void of_number(T* p) { p[N] = 2; }
template <bool B, unsigned long U, char C> __global__ void of_values(int* p) { p[U] = B + C; }
enum Color { Red, Blue };
enum class Mode : short { A, B };
template <Color C, Mode M> __global__ void of_enums(int* p) { p[C] = int(M); }
template <class... Ts> __global__ void of_pack(Ts... ts) {}
template <class T> struct Wrap { T t; };
template <class T> __global__ void of_template(Wrap<Wrap<T>> w, int* p) { *p = w.t.t; }
template <class F> __global__ void apply(F f, int* p) { p[0] = f(p[1]); }
__device__ int target;
template <auto* P> __global__ void of_address(int* p) { *p = *P; }
template <int (*F)(int)> __global__ void of_function(int* p) { *p = F(*p); }
__device__ int twice(int x) { return 2 * x; }
static __device__ int thrice(int x) { return 3 * x; }
template <class T> __device__ T variable_template = T(3);
template <class T> __global__ void uses_template(T* p) { *p = variable_template<T>++; }
__global__ void uses(int* p) {
  static __device__ int local;
  *p = plain_constant[1] + static_constant[0] + static_device + c_device + ns::plain + ns::local + local++;
}
typedef float real;
struct __attribute__((aligned(16))) Four { float x, y, z, w; };
__global__ void odd_types(const real* __restrict__ a, real (&b)[4], const volatile int* c, void** d,
                          unsigned long long e, long f, signed char g, Four h) { b[0] = a[0]; }
void launches(int* p) {
  static_kernel<<<1, 1>>>(p); static_c_kernel<<<1, 1>>>(p); anonymous_kernel<<<1, 1>>>(p); inner::deep_kernel<<<1, 1>>>(p);
  anonymous_template<float><<<1, 1>>>((float*)p); of_type<Tag*><<<1, 1>>>((Tag**)p); of_number<double, 4><<<1, 1>>>((double*)p);
  of_values<true, 7, 'x'><<<1, 1>>>(p); of_enums<Blue, Mode::B><<<1, 1>>>(p); of_pack<int, float*, Tag><<<1, 1>>>(1, nullptr, Tag());
  of_template<int><<<1, 1>>>(Wrap<Wrap<int>>(), p);
  int k = 3;
  apply<<<1, 1>>>([=] __device__ (int x) { return x + 1; }, p);
  apply<<<1, 1>>>([k] __device__ (int x) { return x + k; }, p);
  apply<<<1, 1>>>([=] __host__ __device__ (int x) { return x * k; }, p);
  of_address<&target><<<1, 1>>>(p); of_function<twice><<<1, 1>>>(p); of_function<thrice><<<1, 1>>>(p);
  uses_template<int><<<1, 1>>>(p); ns::versioned_kernel<<<1, 1>>>(p);
}
)";

/// Canonical keys with how often each occurs: a key that two entities share would join the wrong ones.
using Keys = std::multiset<std::string>;
struct Names {
  Keys kernels, variables;
};

class NameJoinTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto toolkit = cuda_toolkit();
    if (!toolkit || !fs::exists(*toolkit / "bin" / "nvcc")) return;
    std::error_code ignored;
    fs::current_path("/", ignored);  // Other tests of this binary leave folders that are gone.
    names_ = new std::map<std::string, Names>;
    auto folder = TemporaryFolder::create("kernelift-names");
    ASSERT_TRUE(folder.ok());
    std::string source = folder->path() / "a-unit.cu", image = folder->path() / "a.cubin";
    ASSERT_TRUE(write_atomically(source, std::string_view(kJoined)).ok());
    std::string bin = *toolkit / "bin";
    for (bool relocatable : {false, true}) {
      auto run = [](std::vector<std::string> command) {
        auto outcome = run_process(command);
        EXPECT_TRUE(outcome.ok() && outcome->ok()) << (outcome.ok() ? outcome->err : outcome.error().message);
      };
      run({bin + "/nvcc", "-std=c++17", "-w", "-arch=sm_90", "-extended-lambda", "-cubin",
           relocatable ? "-rdc=true" : "-rdc=false", "-o", image, source});
      if (relocatable) run({bin + "/nvlink", "-arch=sm_90", image, "-o", image});
      (*names_)[relocatable ? "nvcc, relocatable" : "nvcc"] = of_image(image);
      (*names_)[relocatable ? "clang, relocatable" : "clang"] = of_clang(relocatable);
    }
  }
  static void TearDownTestSuite() { delete names_, names_ = nullptr; }
  void SetUp() override {
    if (!names_) GTEST_SKIP() << "nvcc is not installed";
  }

  static Names of_image(const std::string& file) {
    Names names;
    auto bytes = read_text(file);
    if (!bytes.ok()) return names;
    auto object = llvm::object::ELFObjectFileBase::createELFObjectFile(llvm::MemoryBufferRef(*bytes, file));
    EXPECT_TRUE(bool(object)) << llvm::toString(object.takeError());
    for (llvm::object::ELFSymbolRef symbol : llvm::cast<llvm::object::ELFObjectFileBase>(**object).symbols()) {
      auto name = symbol.getName();
      if (!name || name->starts_with(".") ||
          (symbol.getFlags() && *symbol.getFlags() & llvm::object::SymbolRef::SF_Undefined))
        continue;
      constexpr unsigned char kEntry = 0x10;
      bool kernel = symbol.getELFType() == llvm::ELF::STT_FUNC && symbol.getOther() & kEntry;
      if (kernel) names.kernels.insert(canonical_key(name->str()));
      if (symbol.getELFType() == llvm::ELF::STT_OBJECT) names.variables.insert(canonical_key(name->str()));
    }
    return names;
  }

  static Names of_clang(bool relocatable) {
    llvm::LLVMContext context;
    FrontendOptions options;
    options.file_name = "a-unit.cu", options.flags = {"-std=c++17", "-w", "-cuid=0123456789abcdef"};
    if (relocatable) options.flags.push_back("-fgpu-rdc");
    auto compiled = compile_to_device_ir(context, kJoined, options);
    EXPECT_TRUE(compiled.ok()) << compiled.error().message;
    Names names;
    if (!compiled.ok()) return names;
    for (auto& function : *compiled->module)
      if (function.getCallingConv() == llvm::CallingConv::PTX_Kernel && !function.isDeclaration())
        names.kernels.insert(canonical_key(function.getName().str()));
    for (auto& variable : compiled->module->globals())
      if (!variable.isDeclaration()) names.variables.insert(canonical_key(variable.getName().str()));
    return names;
  }

  static void expect_kernel(const std::string& key) {
    for (auto& [compiler, names] : *names_)
      EXPECT_EQ(names.kernels.count(key), 1u) << compiler << " has " << ::testing::PrintToString(names.kernels);
  }
  static void expect_variable(const std::string& key) {
    for (auto& [compiler, names] : *names_)
      EXPECT_EQ(names.variables.count(key), 1u) << compiler << " has " << ::testing::PrintToString(names.variables);
  }

  static inline std::map<std::string, Names>* names_ = nullptr;
};

TEST_F(NameJoinTest, StaticKernel) { expect_kernel("static_kernel(int*)"); }
TEST_F(NameJoinTest, CKernel) { expect_kernel("c_kernel"); }
TEST_F(NameJoinTest, StaticKernelInExternC) { expect_kernel("static_c_kernel(int*)"); }
TEST_F(NameJoinTest, KernelOfAnAnonymousNamespace) { expect_kernel("(anonymous)::anonymous_kernel(int*)"); }
TEST_F(NameJoinTest, KernelOfANamespaceInAnAnonymousOne) { expect_kernel("(anonymous)::inner::deep_kernel(int*)"); }
TEST_F(NameJoinTest, KernelOfAnInlineNamespace) { expect_kernel("ns::v1::versioned_kernel(int*)"); }
TEST_F(NameJoinTest, TemplateOfAnAnonymousNamespace) {
  expect_kernel("(anonymous)::anonymous_template<float>(float*)");
}
TEST_F(NameJoinTest, TemplateOfATypeOfAnAnonymousNamespace) {
  expect_kernel("of_type<(anonymous)::Tag*>((anonymous)::Tag**)");
}
TEST_F(NameJoinTest, TemplateOfNumbers) {
  expect_kernel("of_number<double,4>(double*)");
  expect_kernel("of_values<true,7ul,(char)120>(int*)");
}
TEST_F(NameJoinTest, TemplateOfEnumerators) { expect_kernel("of_enums<(Color)1,(Mode)1>(int*)"); }
TEST_F(NameJoinTest, TemplateOfAPack) {
  expect_kernel("of_pack<int,float*,(anonymous)::Tag>(int,float*,(anonymous)::Tag)");
}
TEST_F(NameJoinTest, TemplateOfATemplate) { expect_kernel("of_template<int>(Wrap<Wrap<int>>,int*)"); }
TEST_F(NameJoinTest, TemplateOfAnAddress) { expect_kernel("of_address<&target>(int*)"); }
TEST_F(NameJoinTest, TemplateOfAFunction) { expect_kernel("of_function<&twice>(int*)"); }
TEST_F(NameJoinTest, TemplateOfAStaticFunction) { expect_kernel("of_function<&thrice>(int*)"); }
TEST_F(NameJoinTest, TemplateThatUsesAVariableTemplate) { expect_kernel("uses_template<int>(int*)"); }
TEST_F(NameJoinTest, DeviceLambdasInTheOrderOfTheirLines) {
  for (auto number : {"1", "2", "3"}) {
    std::string lambda = std::string("launches(int*)::{lambda(int)#") + number + "}";
    expect_kernel("apply<" + lambda + ">(" + lambda + ",int*)");
  }
}
TEST_F(NameJoinTest, ParametersOfManyKinds) {
  expect_kernel(
      "odd_types(float const*,float(&)[4],int const volatile*,void**,unsigned long long,long,signed char,Four)");
}

TEST_F(NameJoinTest, PlainVariables) {
  expect_variable("plain_constant"), expect_variable("ns::plain"), expect_variable("ns::v1::versioned");
}
TEST_F(NameJoinTest, CVariable) { expect_variable("c_device"); }
TEST_F(NameJoinTest, StaticVariables) {
  expect_variable("static_constant"), expect_variable("static_device"), expect_variable("ns::local");
}
TEST_F(NameJoinTest, VariablesOfAnonymousNamespaces) {
  expect_variable("(anonymous)::anonymous_constant"), expect_variable("(anonymous)::anonymous_device");
  expect_variable("(anonymous)::static_in_anonymous"), expect_variable("(anonymous)::inner::deep");
}
TEST_F(NameJoinTest, VariableOfAFunction) { expect_variable("uses(int*)::local"); }
TEST_F(NameJoinTest, VariableTemplate) { expect_variable("variable_template<int>"); }

TEST_F(NameJoinTest, NoKernelIsKnownToOneCompilerOnly) {
  Keys all;
  for (auto& [compiler, names] : *names_) all.insert(names.kernels.begin(), names.kernels.end());
  for (auto& key : all) EXPECT_EQ(all.count(key), names_->size()) << key;
}

}  // namespace
}  // namespace kernelift::extractor
