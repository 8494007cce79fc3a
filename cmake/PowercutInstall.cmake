# What is installed, into a prefix of its own: bin/, lib/, include/, lib/cmake/powercut/ for C++ projects, and in
# share/powercut/ what is read from the project's folder (scenarios, sources of the schemes). The Python package
# carries the component `powercut` (pyproject.toml) as its folder powercut/native.
get_property(schemes GLOBAL PROPERTY POWERCUT_SCHEMES)
get_property(passes GLOBAL PROPERTY POWERCUT_PASSES)
get_property(programs GLOBAL PROPERTY POWERCUT_PROGRAMS)
list(TRANSFORM schemes PREPEND powercut_target_)
list(TRANSFORM schemes APPEND _plain OUTPUT_VARIABLE plain_schemes)

# Programs and libraries; the debug information of those that no report shows lines of stays behind.
set(no_lines powercut_engine powercut_run_server ${programs} powercut_rt powercut_decode powercut_fork ${passes})
install(TARGETS ${no_lines} powercut_canary ${schemes} RUNTIME_DEPENDENCY_SET powercut_needed
        RUNTIME DESTINATION bin COMPONENT powercut LIBRARY DESTINATION lib COMPONENT powercut)
install(TARGETS ${plain_schemes} LIBRARY DESTINATION lib/plain COMPONENT powercut)
foreach(target IN LISTS no_lines)
  get_target_property(type ${target} TYPE)
  set(folder $<IF:$<STREQUAL:${type},EXECUTABLE>,bin,lib>)
  install(CODE "execute_process(COMMAND ${CMAKE_STRIP} --strip-debug
    \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${folder}/$<TARGET_FILE_NAME:${target}>\" COMMAND_ERROR_IS_FATAL ANY)"
          COMPONENT powercut)
endforeach()
# Libraries of the distribution that another one may have in another version.
install(RUNTIME_DEPENDENCY_SET powercut_needed
        PRE_EXCLUDE_REGEXES "^ld-linux" "^lib(c|m|dl|pthread|gcc_s|stdc\\+\\+)\\.so" "^libpowercut"
        LIBRARY DESTINATION lib COMPONENT powercut)

install(DIRECTORY targets/include/ DESTINATION include COMPONENT powercut
        FILES_MATCHING PATTERN *.h PATTERN *.specs)
install(FILES docs/words.md DESTINATION share/powercut/docs COMPONENT powercut) # definitions in reports
install(DIRECTORY scenarios DESTINATION share/powercut COMPONENT powercut FILES_MATCHING PATTERN *.toml)
install(DIRECTORY replayer/media/files/profiles DESTINATION share/powercut/replayer/media/files COMPONENT powercut)
install(DIRECTORY targets DESTINATION share/powercut COMPONENT powercut
        FILES_MATCHING PATTERN *.cc PATTERN *.h PATTERN claims.toml PATTERN *_test.cc EXCLUDE PATTERN fidelity EXCLUDE
        PATTERN regression EXCLUDE PATTERN pmdk EXCLUDE)

if(SKBUILD)
  set(data ${SKBUILD_DATA_DIR})
else()
  set(data .)
endif()
# The man page is made from the commands' --help, by the Python that builds a package or that of a checkout.
if(NOT Python_EXECUTABLE)
  find_program(Python_EXECUTABLE NAMES python3 HINTS ${PROJECT_SOURCE_DIR}/.venv/bin REQUIRED)
endif()
install(CODE "execute_process(
  COMMAND \"${CMAKE_COMMAND}\" -E env \"PYTHONPATH=${PROJECT_SOURCE_DIR}/reports\"
          \"${Python_EXECUTABLE}\" -m tools.man_page \"${PROJECT_BINARY_DIR}/powercut.1\"
  WORKING_DIRECTORY \"${PROJECT_SOURCE_DIR}\" COMMAND_ERROR_IS_FATAL ANY)"
        COMPONENT powercut)
install(FILES ${PROJECT_BINARY_DIR}/powercut.1 DESTINATION ${data}/share/man/man1 COMPONENT powercut)

include(CMakePackageConfigHelpers)
string(REGEX MATCH "^[0-9]+" own_major ${CMAKE_CXX_COMPILER_VERSION})
configure_package_config_file(cmake/powercut-config.cmake.in ${PROJECT_BINARY_DIR}/powercut-config.cmake
                              INSTALL_DESTINATION lib/cmake/powercut)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/powercut-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/powercut-config.cmake ${PROJECT_BINARY_DIR}/powercut-config-version.cmake
        DESTINATION lib/cmake/powercut COMPONENT powercut)
