# powercut_add_room(<name> [FOLDERS <folder>...] [WITHOUT <file>...] [FILES <file>...] [LIBRARIES <library>...]
#                   [TEST_FOLDERS <folder>...|NO_TESTS] [TEST_LIBRARIES <library>...] [TEST_OPTIONS <option>...]
#                   [TEST_PROPERTIES <property> <value>...])
#
# Builds the static library powercut_<name> of all sources below FOLDERS (here, unless named) and the test program
# powercut_<name>_test of their *_test.cc, or of those below TEST_FOLDERS; a new file needs no line. WITHOUT names files that
# another room takes; FILES take the place of the folders. LIBRARIES are linked publicly.
#
# The files are compiled some at a time (POWERCUT_UNITY): no two files of a room give one name to different things, even in
# their unnamed namespaces. TEST_OPTIONS are for tests that cannot be compiled like all others (PowercutPrecompiled.cmake).
#
# powercut_compile_together(<target> [<files at a time>])   does so for any target; without a number, for all its files of a
# language. A name that two of them give to different things is then an error.
function(powercut_compile_together target)
  set(files 0)
  if(ARGC GREATER 1)
    set(files ${ARGV1})
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${POWERCUT_UNITY} UNITY_BUILD_BATCH_SIZE ${files})
endfunction()

function(powercut_add_room name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "NO_TESTS" ""
                        "FOLDERS;WITHOUT;FILES;LIBRARIES;TEST_FOLDERS;TEST_LIBRARIES;TEST_OPTIONS;TEST_PROPERTIES")
  if(NOT arg_FOLDERS)
    set(arg_FOLDERS .)
  endif()
  list(TRANSFORM arg_FOLDERS APPEND "/*.cc" OUTPUT_VARIABLE patterns)
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  foreach(file IN LISTS arg_WITHOUT)
    list(REMOVE_ITEM sources ${CMAKE_CURRENT_SOURCE_DIR}/${file} ${CMAKE_CURRENT_SOURCE_DIR}/./${file})
  endforeach()
  if(arg_FILES)
    set(sources ${arg_FILES})
  endif()
  set(tests ${sources})
  if(arg_TEST_FOLDERS)
    list(TRANSFORM arg_TEST_FOLDERS APPEND "/*_test.cc" OUTPUT_VARIABLE patterns)
    file(GLOB tests CONFIGURE_DEPENDS ${patterns})
  endif()
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "(_test|/main)\\.cc$")
  add_library(powercut_${name} STATIC ${sources})
  target_link_libraries(powercut_${name} PUBLIC ${arg_LIBRARIES} nlohmann_json::nlohmann_json absl::flat_hash_map
                        absl::flat_hash_set absl::btree absl::inlined_vector absl::strings)
  powercut_compile_together(powercut_${name} 16)
  powercut_precompile_program(powercut_${name})

  if(POWERCUT_BUILD_TESTS AND tests AND NOT arg_NO_TESTS)
    add_executable(powercut_${name}_test ${tests})
    target_link_libraries(powercut_${name}_test PRIVATE powercut_${name} ${arg_TEST_LIBRARIES} GTest::gtest_main
                          GTest::gmock)
    powercut_compile_together(powercut_${name}_test 6)
    # Tests that compare addresses or map the pool need the same fixed addresses as the engine.
    set_target_properties(powercut_${name}_test PROPERTIES ENABLE_EXPORTS ON)
    target_compile_definitions(powercut_${name}_test PRIVATE
                               POWERCUT_TEST_LIBRARIES="${PROJECT_BINARY_DIR}/lib/test"
                               POWERCUT_TEST_ENGINE="${PROJECT_BINARY_DIR}/bin/powercut-engine")
    powercut_add_tests(powercut_${name}_test OPTIONS ${arg_TEST_OPTIONS}
                       DISCOVERED DISCOVERY_TIMEOUT 60 PROPERTIES ${arg_TEST_PROPERTIES})
  endif()
endfunction()
