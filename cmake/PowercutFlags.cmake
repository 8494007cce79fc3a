# Language level, flags and output folders of everything native.

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

# One kind of build: optimised, with line tables and frame pointers (call stacks are walked through
# them), and with assertions on, since an invariant that broke must never become a verdict.
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g")
add_compile_options(-UNDEBUG -fno-omit-frame-pointer -Wall -Wextra -Werror)
# Debug information and assertions name files as if the project lay in /powercut, wherever it was built: who runs it
# finds them in the project's folder of then (powercut.base.paths).
add_compile_options(-fdebug-prefix-map=${PROJECT_SOURCE_DIR}=/powercut -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)
# A trace names modules by build id, so every binary must carry one.
add_link_options(-fuse-ld=lld -Wl,--build-id=sha1 -Wl,--as-needed)

# A target sets POWERCUT_NO_SANITIZE to stay out: the pass (clang itself, which loads it, is not
# sanitized) and the libraries that were compiled through the pass.
if(POWERCUT_SANITIZE)
  set(_sanitize "-fsanitize=${POWERCUT_SANITIZE};-fno-sanitize-recover=undefined")
  set(_wanted "$<NOT:$<BOOL:$<TARGET_PROPERTY:POWERCUT_NO_SANITIZE>>>")
  add_compile_options("$<${_wanted}:${_sanitize}>")
  add_link_options("$<${_wanted}:${_sanitize}>")
endif()

include_directories(${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/targets/include)

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
# From bin/, lib/ and the folders in lib/; relative, so that the build folder can be moved as a whole. Libraries that are
# shipped beside ours find each other through it, so that it is no RUNPATH, which holds for one library alone. The build
# has it as well: CMake fills up a shorter one with empty entries, and each is the working directory.
set(CMAKE_INSTALL_RPATH "$ORIGIN/../lib:$ORIGIN:$ORIGIN/..")
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
add_link_options(-Wl,--disable-new-dtags)

# Tests are listed when ctest starts and not while building: a test that crashes fails as a test.
set(CMAKE_GTEST_DISCOVER_TESTS_DISCOVERY_MODE PRE_TEST)
