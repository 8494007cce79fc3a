# The libraries that the native code uses, all from the distribution. Link them by these names:
# absl::*, PkgConfig::zstd, PkgConfig::xxhash, PkgConfig::libdw, nlohmann_json::nlohmann_json, CLI11::CLI11,
# Boost::context; in tests GTest::gtest_main, GTest::gmock, rapidcheck, benchmark::benchmark.
# LLVM is looked for by tracer/llvm alone.

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(absl REQUIRED CONFIG)
find_package(nlohmann_json REQUIRED CONFIG)
find_package(CLI11 REQUIRED CONFIG)
find_package(Boost REQUIRED COMPONENTS context)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(libdw REQUIRED IMPORTED_TARGET libdw)
# Debian's libzydis-dev ships neither a CMake package nor a .pc file.
find_path(ZYDIS_INCLUDE Zydis/Zydis.h REQUIRED)
find_library(ZYDIS_LIBRARY Zydis REQUIRED)
add_library(Zydis UNKNOWN IMPORTED GLOBAL)
set_target_properties(Zydis PROPERTIES IMPORTED_LOCATION ${ZYDIS_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${ZYDIS_INCLUDE})

if(POWERCUT_BUILD_TESTS)
  find_package(GTest REQUIRED)
  find_package(benchmark REQUIRED CONFIG)
  find_package(rapidcheck CONFIG QUIET)
  if(NOT TARGET rapidcheck)
    # Debian's librapidcheck-dev ships no CMake package.
    find_path(RAPIDCHECK_INCLUDE rapidcheck.h REQUIRED)
    find_library(RAPIDCHECK_LIBRARY rapidcheck REQUIRED)
    add_library(rapidcheck UNKNOWN IMPORTED GLOBAL)
    set_target_properties(rapidcheck PROPERTIES IMPORTED_LOCATION ${RAPIDCHECK_LIBRARY}
                                                INTERFACE_INCLUDE_DIRECTORIES ${RAPIDCHECK_INCLUDE})
  endif()
endif()

# Where Debian keeps LLVM 19's package files; -DLLVM_DIR=... overrides it.
if(NOT LLVM_DIR)
  set(LLVM_DIR /usr/lib/llvm-19/lib/cmake/llvm CACHE PATH "Folder of LLVMConfig.cmake, version 19")
endif()
