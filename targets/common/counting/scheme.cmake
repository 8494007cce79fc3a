# powercut_add_counting(<name>): one counting table, from the shared code and the folder's target.cc.
set(POWERCUT_COUNTING_SOURCES "")
foreach(file IN ITEMS change data draw operations options recover unbuffered verify)
  list(APPEND POWERCUT_COUNTING_SOURCES ${PROJECT_SOURCE_DIR}/targets/common/counting/${file}.cc)
endforeach()
powercut_add_common(NAME counting SOURCES ${POWERCUT_COUNTING_SOURCES})
if(POWERCUT_BUILD_TESTS AND NOT TARGET powercut_counting_tests)
  add_library(powercut_counting_tests OBJECT ${PROJECT_SOURCE_DIR}/targets/common/counting/model_test.cc
              ${PROJECT_SOURCE_DIR}/targets/common/counting/cut_test.cc
              ${PROJECT_SOURCE_DIR}/targets/common/counting/fidelity/simulation_test.cc)
  target_link_libraries(powercut_counting_tests PRIVATE GTest::gtest)
  target_compile_options(powercut_counting_tests PRIVATE -fPIE ${POWERCUT_TEST_OPTIONS})
  set_target_properties(powercut_counting_tests PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_precompile_headers(powercut_counting_tests REUSE_FROM powercut_precompiled_test)
endif()

function(powercut_add_counting name)
  powercut_add_target(NAME ${name} SOURCES target.cc COMMON counting
                      PLAIN_LIBRARIES powercut_plain_device)
  if(POWERCUT_BUILD_TESTS)
    add_executable(powercut_${name}_test $<TARGET_OBJECTS:powercut_counting_tests>)
    set_target_properties(powercut_${name}_test PROPERTIES LINKER_LANGUAGE CXX)
    target_link_libraries(powercut_${name}_test PRIVATE powercut_${name}_plain GTest::gtest_main)
    powercut_add_tests(powercut_${name}_test DISCOVERED TEST_PREFIX ${name}.)
  endif()
endfunction()

# powercut_add_counting_fidelity(<name>): its rows of the paper's tables and figures, from fidelity/main.cc.
if(NOT TARGET powercut_counting_fidelity)
  add_library(powercut_counting_fidelity STATIC ${PROJECT_SOURCE_DIR}/targets/common/counting/fidelity/table2.cc
              ${PROJECT_SOURCE_DIR}/targets/common/counting/fidelity/ssd.cc)
endif()

function(powercut_add_counting_fidelity name)
  powercut_add_fidelity(NAME ${name} SOURCES fidelity/main.cc)
  target_link_libraries(powercut_fidelity_${name} PRIVATE powercut_counting_fidelity)
endfunction()
