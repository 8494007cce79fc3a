# powercut_add_target(NAME <name> SOURCES <file>... [COMMON <name>] [INCLUDES <dir>...] [LIBRARIES <target>...]
#                     [PLAIN_LIBRARIES <target>...] [DEFINITIONS <macro>...])
#
# Builds one scheme from the same sources, with and without instrumentation:
#   powercut_target_<name>   build/lib/libpowercut-<name>.so, compiled through the pass: what the
#                            engine loads. LIBRARIES must be instrumented too, or free of stores to
#                            the pool: the tracer sees only code that went through the pass.
#   powercut_<name>_plain    a static library without instrumentation, for unit tests and fidelity
#                            programs; no report shows its lines, so it has line tables alone. PLAIN_LIBRARIES defaults
#                            to LIBRARIES.
#   powercut_target_<name>_plain   build/lib/plain/libpowercut-<name>.so, the same objects as a library that
#                            can be loaded: what `powercut audit` holds the instrumented one against.
#   powercut_target_<name>_coverage   build/lib/coverage/libpowercut-<name>.so, which counts the lines that run (`make
#                            coverage`); built on request only.
# DEFINITIONS are macros of the scheme's own sources in each of these ways.
# COMMON names sources that several schemes have: they are compiled once for all of them, in each of the ways.
#
# powercut_add_common(NAME <name> SOURCES <file>...) compiles such sources; a second call with the name does nothing.
#
# powercut_add_fidelity(NAME <name> SOURCES <file>... [COUNTED <file>...])
#
# Builds build/bin/powercut-fidelity-<name>, which prints the paper's figures beside ours, on the plain library; with
# COUNTED on these sources of the scheme instead, compiled with the counters of pmem.h.
#
# powercut_instrument(<target>) compiles any target of this folder through the pass.

set(POWERCUT_PASS_FILE ${PROJECT_BINARY_DIR}/lib/libpowercut_pass.so)

function(powercut_instrument target)
  target_compile_options(${target} PRIVATE -fpass-plugin=${POWERCUT_PASS_FILE})
  target_link_libraries(${target} PRIVATE powercut_rt)
  add_dependencies(${target} powercut_pass powercut_rt)
  set_target_properties(${target} PROPERTIES POWERCUT_NO_SANITIZE ON)
  # The compiler does not list a plugin among an object's dependencies; without this line a changed
  # pass would leave objects of the old one in place.
  get_target_property(sources ${target} SOURCES)
  set_property(SOURCE ${sources} APPEND PROPERTY OBJECT_DEPENDS ${POWERCUT_PASS_FILE})
endfunction()

function(powercut_add_common)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME" "SOURCES")
  set(common powercut_common_${arg_NAME})
  if(TARGET ${common}_plain)
    return()
  endif()
  add_library(${common}_plain OBJECT ${arg_SOURCES})
  target_compile_options(${common}_plain PRIVATE -g1)
  powercut_precompile_scheme(${common}_plain)
  if(TARGET powercut_pass AND TARGET powercut_rt)
    add_library(${common} OBJECT ${arg_SOURCES})
    powercut_instrument(${common})
    powercut_precompile_scheme(${common})
  endif()
endfunction()

function(powercut_add_target)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;COMMON" "SOURCES;INCLUDES;LIBRARIES;PLAIN_LIBRARIES;DEFINITIONS")
  if(NOT arg_NAME OR NOT arg_SOURCES)
    message(FATAL_ERROR "powercut_add_target: NAME and SOURCES are needed.")
  endif()
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "powercut_add_target(${arg_NAME}): unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT arg_PLAIN_LIBRARIES)
    set(arg_PLAIN_LIBRARIES ${arg_LIBRARIES})
  endif()

  set(common)
  set(common_plain)
  set(common_sources)
  if(arg_COMMON)
    set(common $<TARGET_OBJECTS:powercut_common_${arg_COMMON}>)
    set(common_plain $<TARGET_OBJECTS:powercut_common_${arg_COMMON}_plain>)
    get_target_property(common_sources powercut_common_${arg_COMMON}_plain SOURCES)
  endif()

  set(plain powercut_${arg_NAME}_plain)
  add_library(${plain} STATIC ${arg_SOURCES} ${common_plain})
  target_include_directories(${plain} PUBLIC ${arg_INCLUDES})
  target_compile_definitions(${plain} PUBLIC ${arg_DEFINITIONS})
  target_compile_options(${plain} PRIVATE -g1)
  target_link_libraries(${plain} PUBLIC ${arg_PLAIN_LIBRARIES})
  powercut_precompile_scheme(${plain})
  add_library(powercut_target_${arg_NAME}_plain SHARED $<TARGET_OBJECTS:${plain}> ${common_plain})
  target_link_libraries(powercut_target_${arg_NAME}_plain PRIVATE ${arg_PLAIN_LIBRARIES})
  set_target_properties(powercut_target_${arg_NAME}_plain PROPERTIES OUTPUT_NAME powercut-${arg_NAME} LINKER_LANGUAGE CXX
                        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/plain)
  target_link_options(powercut_target_${arg_NAME}_plain PRIVATE -Wl,-z,defs)

  # Counters in a mapped file: they outlive processes that are killed or leave without atexit.
  set(coverage powercut_target_${arg_NAME}_coverage)
  add_library(${coverage} SHARED EXCLUDE_FROM_ALL ${arg_SOURCES} ${common_sources})
  target_include_directories(${coverage} PRIVATE ${arg_INCLUDES})
  target_compile_definitions(${coverage} PRIVATE ${arg_DEFINITIONS})
  target_link_libraries(${coverage} PRIVATE ${arg_PLAIN_LIBRARIES})
  target_compile_options(${coverage} PRIVATE -O0 -fprofile-instr-generate -fcoverage-mapping
                         "SHELL:-mllvm -runtime-counter-relocation")
  target_link_options(${coverage} PRIVATE -fprofile-instr-generate)
  set_target_properties(${coverage} PROPERTIES OUTPUT_NAME powercut-${arg_NAME} POWERCUT_NO_SANITIZE ON
                        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/coverage)
  if(NOT TARGET powercut_coverage)
    add_custom_target(powercut_coverage)
  endif()
  add_dependencies(powercut_coverage ${coverage})

  # The pass may be absent while the tree is built in parts; then there is nothing to instrument with.
  if(TARGET powercut_pass AND TARGET powercut_rt)
    set(shared powercut_target_${arg_NAME})
    add_library(${shared} SHARED ${arg_SOURCES} ${common})
    target_include_directories(${shared} PRIVATE ${arg_INCLUDES})
    target_compile_definitions(${shared} PRIVATE ${arg_DEFINITIONS})
    target_link_libraries(${shared} PRIVATE ${arg_LIBRARIES})
    powercut_instrument(${shared})
    powercut_precompile_scheme(${shared})
    set_target_properties(${shared} PROPERTIES OUTPUT_NAME powercut-${arg_NAME})
    # A symbol that is missing must fail here and not when the engine loads the library.
    target_link_options(${shared} PRIVATE -Wl,-z,defs)
    add_dependencies(powercut_schemes ${shared} powercut_target_${arg_NAME}_plain)
    set_property(GLOBAL APPEND PROPERTY POWERCUT_SCHEMES ${arg_NAME})
  endif()
endfunction()

# powercut_<NAME>_test, on the plain library of TARGET (default: NAME).
function(powercut_add_target_test)
  if(NOT POWERCUT_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;TARGET" "SOURCES;LIBRARIES")
  if(NOT arg_TARGET)
    set(arg_TARGET ${arg_NAME})
  endif()
  set(test powercut_${arg_NAME}_test)
  add_executable(${test} ${arg_SOURCES})
  target_link_libraries(${test} PRIVATE powercut_${arg_TARGET}_plain ${arg_LIBRARIES} GTest::gtest_main)
  powercut_add_tests(${test})
endfunction()

function(powercut_add_fidelity)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME" "SOURCES;COUNTED")
  set(program powercut_fidelity_${arg_NAME})
  add_executable(${program} ${arg_SOURCES} ${arg_COUNTED})
  if(arg_COUNTED)
    target_compile_definitions(${program} PRIVATE POWERCUT_PMEM_COUNT)
  else()
    target_link_libraries(${program} PRIVATE powercut_${arg_NAME}_plain)
  endif()
  target_compile_options(${program} PRIVATE -g1)
  target_link_libraries(${program} PRIVATE powercut_figures)
  powercut_precompile_scheme(${program})
  set_target_properties(${program} PROPERTIES OUTPUT_NAME powercut-fidelity-${arg_NAME})
  add_dependencies(powercut_schemes ${program})
  set_property(GLOBAL APPEND PROPERTY POWERCUT_PROGRAMS ${program})
endfunction()
