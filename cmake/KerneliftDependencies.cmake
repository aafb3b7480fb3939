# All packages that Kernelift uses. All of them are in Debian; nothing is downloaded or vendored.
find_package(Threads REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(CLI11 REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(CURL REQUIRED)
find_package(Eigen3 REQUIRED NO_MODULE)
find_package(TBB REQUIRED)
find_package(Boost 1.74 REQUIRED COMPONENTS context)  # and the headers of Beast, for HTTP
find_package(GTest REQUIRED)
find_package(benchmark REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(SECCOMP REQUIRED IMPORTED_TARGET libseccomp)
pkg_check_modules(HTTPLIB REQUIRED IMPORTED_TARGET cpp-httplib)  # for tests

# The recorder and the CPU runtime are loaded into applications' processes, so they use static archives.
find_library(ZSTD_STATIC libzstd.a REQUIRED)
find_library(BOOST_CONTEXT_STATIC libboost_context.a REQUIRED)
