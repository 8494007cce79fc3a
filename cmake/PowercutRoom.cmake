# powercut_add_room(<name> [FOLDERS <folder>...] [LIBRARIES <library>...] [TEST_LIBRARIES <library>...]
#                   [TEST_PROPERTIES <property> <value>...])
#
# Builds the static library powercut_<name> of all sources below FOLDERS (here, unless named) and the test program
# powercut_<name>_test of their *_test.cc; a new file needs no line. LIBRARIES are linked publicly.
#
# Most of the time that files of the engine take to compile goes into headers of libraries and what these are made of for
# each file anew. So they are compiled once, where there are enough files for it to pay, and the files some at a time
# (POWERCUT_UNITY): no two files of a room give one name to different things, even in their unnamed namespaces.
set(POWERCUT_PRECOMPILED
    <nlohmann/json.hpp> <algorithm> <filesystem> <fstream> <functional> <map> <memory> <optional> <set> <span> <string>
    <vector> <absl/container/btree_map.h> <absl/container/flat_hash_map.h> <absl/container/flat_hash_set.h>
    <absl/strings/str_cat.h>)
set(POWERCUT_PRECOMPILED_TESTS <gmock/gmock.h> <gtest/gtest.h>)
# Tests run once for each time that they are compiled: to optimise them costs more than it saves.
set(POWERCUT_TEST_OPTIMISED -O0)

function(powercut_add_room name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "FOLDERS;LIBRARIES;TEST_LIBRARIES;TEST_PROPERTIES")
  if(NOT arg_FOLDERS)
    set(arg_FOLDERS .)
  endif()
  list(TRANSFORM arg_FOLDERS APPEND "/*.cc" OUTPUT_VARIABLE patterns)
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "(_test|/main)\\.cc$")
  add_library(powercut_${name} STATIC ${sources})
  target_link_libraries(powercut_${name} PUBLIC ${arg_LIBRARIES} nlohmann_json::nlohmann_json absl::flat_hash_map
                        absl::flat_hash_set absl::btree absl::inlined_vector absl::strings)
  # Line tables alone: what a call stack needs.
  target_compile_options(powercut_${name} PRIVATE -g1)
  set_target_properties(powercut_${name} PROPERTIES UNITY_BUILD ${POWERCUT_UNITY} UNITY_BUILD_BATCH_SIZE 8)
  list(LENGTH sources count)
  if(count GREATER 12)
    if(TARGET powercut_replayer AND NOT name STREQUAL "replayer")
      target_precompile_headers(powercut_${name} REUSE_FROM powercut_replayer)
    else()
      target_precompile_headers(powercut_${name} PRIVATE ${POWERCUT_PRECOMPILED})
    endif()
  endif()

  if(POWERCUT_BUILD_TESTS AND tests)
    add_executable(powercut_${name}_test ${tests})
    target_link_libraries(powercut_${name}_test PRIVATE powercut_${name} ${arg_TEST_LIBRARIES} GTest::gtest_main
                          GTest::gmock)
    target_compile_options(powercut_${name}_test PRIVATE -g1 ${POWERCUT_TEST_OPTIMISED})
    set_target_properties(powercut_${name}_test PROPERTIES UNITY_BUILD ${POWERCUT_UNITY} UNITY_BUILD_BATCH_SIZE 6)
    list(LENGTH tests count)
    if(count GREATER 3)
      target_precompile_headers(powercut_${name}_test PRIVATE ${POWERCUT_PRECOMPILED} ${POWERCUT_PRECOMPILED_TESTS})
    endif()
    # Tests that compare addresses or map the pool need the same fixed addresses as the engine.
    set_target_properties(powercut_${name}_test PROPERTIES ENABLE_EXPORTS ON)
    target_compile_definitions(powercut_${name}_test PRIVATE
                               POWERCUT_TEST_LIBRARIES="${PROJECT_BINARY_DIR}/lib/test"
                               POWERCUT_TEST_ENGINE="${PROJECT_BINARY_DIR}/bin/powercut-engine")
    gtest_discover_tests(powercut_${name}_test DISCOVERY_TIMEOUT 60 PROPERTIES ${arg_TEST_PROPERTIES})
  endif()
endfunction()
