# The structure of the build: folder = target = namespace = layer (see framework/README.md).
#
#   turnpike_layer(registry LINKS Turnpike::base PRIVATE_LINKS yaml-cpp)
#     a static library of every *.cpp in the calling folder. LINKS propagate to users of the layer,
#     PRIVATE_LINKS are third-party libraries that only this layer may use.
#   turnpike_test(registry LINKS Turnpike::registry)
#     one GoogleTest binary `registry_test` of every *_test.cpp in the calling folder. LABELS
#     sanitize: it reads untrusted bytes, so `./dev test` runs it under ASan and UBSan, and not in
#     the release build, unless IN_RELEASE_TOO says that it tests something else there (then the
#     tests that SANITIZE_FILTER names, if given, run under ASan); LABELS
#     threads: it is concurrent, so it also runs under TSan: of the THREADS_SOURCES and the tests
#     that THREADS_FILTER names, if given (others have no threads, are too slow there, or fork,
#     which TSan does not follow). LONG: it is among the longest, so it begins before the others.
#   turnpike_benchmark(match LINKS Turnpike::registry)
#     one Google Benchmark binary `match_bench` of match_bench.cpp in the calling folder.

find_program(TURNPIKE_CCACHE ccache)
if(TURNPIKE_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${TURNPIKE_CCACHE})
endif()
find_program(TURNPIKE_MOLD mold)

# GCC builds releases. Clang builds what is instrumented, in half of GCC's time (CMakePresets.json).
add_library(turnpike_options INTERFACE)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(turnpike_options INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Werror
    -fno-omit-frame-pointer
    # By default GCC spends a sixth of its time on collecting its garbage, for a fifth less memory.
    --param=ggc-min-heapsize=1000000)  # kB
  # GCC 12 reports moved-from variants and optionals as "maybe uninitialized" where it inlines (GCC
  # bug 80635 and related); ASan, UBSan and the tests detect real cases.
  if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    target_compile_options(turnpike_options INTERFACE -Wno-maybe-uninitialized)
  endif()
  # In a unity build (CMakePresets.json says where), a name in one source is visible in the later
  # ones, which the two disabled warnings report as a mistake. Names within one function are still
  # checked by -Wshadow.
  target_compile_options(turnpike_options INTERFACE
    $<$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>:-Wno-shadow;-Wshadow=local;-Wno-subobject-linkage>)
else()
  # The warnings that must be heeded are those of GCC.
  target_compile_options(turnpike_options INTERFACE -fno-omit-frame-pointer -w)
endif()
# GCC defines these macros itself, clang 14 does not; the sources ask for a sanitizer by them.
if(TURNPIKE_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
    -D__SANITIZE_ADDRESS__)
  add_link_options(-fsanitize=address,undefined)
elseif(TURNPIKE_SANITIZER STREQUAL "address")
  # The check of function types compares addresses of type information, of which each plugin has
  # a hidden copy of its own.
  add_compile_options(-fsanitize=address,undefined -fno-sanitize=function
    -fno-sanitize-recover=all -D__SANITIZE_ADDRESS__)
  add_link_options(-fsanitize=address,undefined)
elseif(TURNPIKE_SANITIZER STREQUAL "thread")
  add_compile_options(-fsanitize=thread -D__SANITIZE_THREAD__)
  add_link_options(-fsanitize=thread)
endif()
if(TURNPIKE_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# Tests are compiled without optimisation, unless they are OPTIMISED: what they test is optimised,
# and their own code mostly costs more to compile than to run.
set(turnpike_test_options -O0)

# Replacements of `operator new` stay in a source file of their own: compiled together with their
# callers, they would be optimised away.
macro(turnpike_keep_allocations_apart)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/tests/support/allocations.cpp
    PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endmacro()

function(turnpike_layer name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  if(NOT ARG_SOURCES)
    file(GLOB ARG_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  endif()
  if(ARG_SOURCES)
    add_library(turnpike_${name} STATIC ${ARG_SOURCES})
    target_include_directories(turnpike_${name} PUBLIC ${PROJECT_SOURCE_DIR}/framework)
    target_link_libraries(turnpike_${name}
      PUBLIC ${ARG_LINKS} PRIVATE turnpike_options ${ARG_PRIVATE_LINKS})
  else()
    add_library(turnpike_${name} INTERFACE)
    target_include_directories(turnpike_${name} INTERFACE ${PROJECT_SOURCE_DIR}/framework)
    target_link_libraries(turnpike_${name} INTERFACE ${ARG_LINKS})
  endif()
  add_library(Turnpike::${name} ALIAS turnpike_${name})
endfunction()

function(turnpike_test name)
  cmake_parse_arguments(ARG
    "IN_RELEASE_TOO;LONG;OPTIMISED" "TIMEOUT;THREADS_FILTER;SANITIZE_FILTER"
    "SOURCES;LINKS;LABELS;THREADS_SOURCES" ${ARGN})
  if(TURNPIKE_SANITIZER STREQUAL "thread" AND ARG_THREADS_SOURCES)
    set(ARG_SOURCES ${ARG_THREADS_SOURCES})
  elseif(NOT ARG_SOURCES)
    file(GLOB ARG_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_test.cpp)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 900)  # four times what the slowest takes under a sanitizer on a busy machine
  endif()
  turnpike_keep_allocations_apart()
  add_executable(${name}_test ${ARG_SOURCES})
  set_target_properties(${name}_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_include_directories(${name}_test PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${name}_test PRIVATE ${ARG_LINKS} turnpike_test_files turnpike_options
    GTest::gtest GTest::gmock GTest::gtest_main)
  if(NOT ARG_OPTIMISED)
    target_compile_options(${name}_test PRIVATE ${turnpike_test_options})
  endif()
  set(arguments "")
  if(TURNPIKE_SANITIZER STREQUAL "thread" AND ARG_THREADS_FILTER)
    set(arguments --gtest_filter=${ARG_THREADS_FILTER})
  elseif(TURNPIKE_SANITIZER STREQUAL "address" AND ARG_IN_RELEASE_TOO AND ARG_SANITIZE_FILTER)
    set(arguments --gtest_filter=${ARG_SANITIZE_FILTER})
  endif()
  if("sanitize" IN_LIST ARG_LABELS)
    add_dependencies(sanitized_tests ${name}_test)
    if(NOT ARG_IN_RELEASE_TOO)
      list(APPEND ARG_LABELS sanitized_alone)
      set_target_properties(${name}_test PROPERTIES TURNPIKE_SANITIZED_ALONE ON)
    endif()
  endif()
  add_test(NAME ${name} COMMAND ${name}_test ${arguments})
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT})
  if(ARG_LONG)
    set_tests_properties(${name} PROPERTIES COST 100)
  endif()
  if("threads" IN_LIST ARG_LABELS)
    add_dependencies(threaded_tests ${name}_test)
  endif()
endfunction()

# turnpike_fuzz(NAME LINKS Turnpike::wire): <NAME>_fuzz.cpp with LLVMFuzzerTestOneInput, seeds in
# <NAME>_seeds/. In a normal build it is a part of one program, tests/fuzz/seed_driver.h, which runs
# it on the seeds, as a test; with TURNPIKE_FUZZ (clang) it is a libFuzzer binary for `./dev fuzz`.
function(turnpike_fuzz name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
  set(source ${CMAKE_CURRENT_SOURCE_DIR}/${name}_fuzz.cpp)
  if(TURNPIKE_FUZZ)
    add_executable(${name}_fuzz ${source} ${ARG_SOURCES})
    target_include_directories(${name}_fuzz PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    target_link_libraries(${name}_fuzz PRIVATE ${ARG_LINKS} turnpike_options)
    set_target_properties(${name}_fuzz PROPERTIES
      RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
    target_link_options(${name}_fuzz PRIVATE -fsanitize=fuzzer)
    add_dependencies(fuzz_harnesses ${name}_fuzz)
  else()
    set(part ${CMAKE_CURRENT_BINARY_DIR}/${name}_seeds.cpp)
    file(CONFIGURE OUTPUT ${part} @ONLY CONTENT [[
// Made by CMake: one harness as a part of the program that runs all of them on their seeds.
#define LLVMFuzzerTestOneInput feed_@name@
#include "@source@"
#undef LLVMFuzzerTestOneInput
#include "fuzz/seed_driver.h"
static const turnpike::fuzz::Harness harness_@name@("@name@", feed_@name@);
]])
    target_sources(fuzz_seeds PRIVATE ${part} ${ARG_SOURCES})
    target_link_libraries(fuzz_seeds PRIVATE ${ARG_LINKS})
    add_test(NAME ${name}_seeds
      COMMAND fuzz_seeds ${name} ${CMAKE_CURRENT_SOURCE_DIR}/${name}_seeds)
    set_tests_properties(${name}_seeds PROPERTIES
      LABELS "sanitize;sanitized_alone" TIMEOUT 120)
  endif()
endfunction()

# turnpike_add_release_tests(TARGET FOLDER): makes TARGET depend on every program and module below
# FOLDER except the tests that run under sanitizers only.
function(turnpike_add_release_tests target folder)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(each IN LISTS targets)
    get_target_property(type ${each} TYPE)
    get_target_property(is_left_out ${each} TURNPIKE_SANITIZED_ALONE)
    if(type MATCHES "^(EXECUTABLE|MODULE_LIBRARY)$" AND NOT is_left_out)
      add_dependencies(${target} ${each})
    endif()
  endforeach()
  get_property(folders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(each IN LISTS folders)
    turnpike_add_release_tests(${target} ${each})
  endforeach()
endfunction()

function(turnpike_benchmark name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
  turnpike_keep_allocations_apart()
  add_executable(${name}_bench ${CMAKE_CURRENT_SOURCE_DIR}/${name}_bench.cpp ${ARG_SOURCES})
  set_target_properties(${name}_bench PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/benchmarks)
  target_include_directories(${name}_bench PRIVATE
    ${PROJECT_SOURCE_DIR}/benchmarks ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${name}_bench PRIVATE ${ARG_LINKS} turnpike_options benchmark::benchmark)
endfunction()
