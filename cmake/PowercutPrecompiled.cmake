# Most of the time that a file takes to compile goes into headers of libraries and what these are made of, for each file
# anew. So they are compiled once for each way in which files are compiled:
#
# powercut_precompile_program(<target>)   what the engine and programs beside it are made of; its debug information is
#                                         line tables alone: what a call stack needs
# powercut_precompile_scheme(<target>)    schemes, through the pass or not: headers of the language alone
# powercut_add_tests(<target> [OPTIONS <option>...] [DISCOVERED <argument of gtest_discover_tests>...])
#                                         a program of tests; with OPTIONS, what they need precompiled is for it alone
set(POWERCUT_PRECOMPILED_SCHEME
    <algorithm> <array> <atomic> <bit> <cstdint> <cstdio> <cstring> <map> <memory> <new> <optional> <random> <string>
    <string_view> <utility> <vector>)
set(POWERCUT_PRECOMPILED_PROGRAM
    <nlohmann/json.hpp> <algorithm> <filesystem> <fstream> <functional> <map> <memory> <optional> <set> <span> <string>
    <vector> <absl/container/btree_map.h> <absl/container/flat_hash_map.h> <absl/container/flat_hash_set.h>
    <absl/strings/str_cat.h>)
set(POWERCUT_PRECOMPILED_TEST ${POWERCUT_PRECOMPILED_PROGRAM} <gmock/gmock.h> <gtest/gtest.h>)
# Tests run once for each time that they are compiled: to optimise them costs more than it saves. Of their debug
# information somebody reads the lines.
set(POWERCUT_TEST_OPTIONS -g1 -O0)

file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/precompiled.cc CONTENT "")
function(powercut_precompile_headers name)
  add_library(powercut_precompiled_${name} OBJECT ${PROJECT_BINARY_DIR}/precompiled.cc)
  target_precompile_headers(powercut_precompiled_${name} PRIVATE ${ARGN})
endfunction()

powercut_precompile_headers(program ${POWERCUT_PRECOMPILED_PROGRAM})
target_compile_options(powercut_precompiled_program PRIVATE -g1)
target_link_libraries(powercut_precompiled_program PRIVATE nlohmann_json::nlohmann_json absl::flat_hash_map absl::flat_hash_set
                      absl::btree absl::strings)
powercut_precompile_headers(scheme ${POWERCUT_PRECOMPILED_SCHEME})

if(POWERCUT_BUILD_TESTS)
  powercut_precompile_headers(test ${POWERCUT_PRECOMPILED_TEST})
  target_compile_options(powercut_precompiled_test PRIVATE ${POWERCUT_TEST_OPTIONS} -fPIE)
  set_target_properties(powercut_precompiled_test PROPERTIES POSITION_INDEPENDENT_CODE OFF)  # as programs, not libraries
  target_link_libraries(powercut_precompiled_test PRIVATE nlohmann_json::nlohmann_json absl::flat_hash_map
                        absl::flat_hash_set absl::btree absl::strings GTest::gmock GTest::gtest)
endif()

# The precompiled code is a library's, and a program that takes it up is compiled as one.
function(powercut_precompile_program target)
  target_compile_options(${target} PRIVATE -g1 -fPIC)
  target_precompile_headers(${target} REUSE_FROM powercut_precompiled_program)
endfunction()

# Sanitizers are a way of their own, which schemes are compiled with in part.
function(powercut_precompile_scheme target)
  if(NOT POWERCUT_SANITIZE)
    target_compile_options(${target} PRIVATE -fPIC)
    target_precompile_headers(${target} REUSE_FROM powercut_precompiled_scheme)
  endif()
endfunction()

function(powercut_add_tests target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "OPTIONS;DISCOVERED")
  target_compile_options(${target} PRIVATE ${POWERCUT_TEST_OPTIONS} ${arg_OPTIONS})
  if(arg_OPTIONS)
    target_precompile_headers(${target} PRIVATE ${POWERCUT_PRECOMPILED_TEST})
  else()
    target_precompile_headers(${target} REUSE_FROM powercut_precompiled_test)
  endif()
  gtest_discover_tests(${target} ${arg_DISCOVERED})
endfunction()
