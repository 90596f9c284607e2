# wf_folder(NAME [ROOMS sub-folders...] [DEPS other folders...] [LIBS third-party targets...])
#
# One CMake target per source folder: wf_NAME holds every .cc that is not a test, a fuzzer or a benchmark. Tests
# beside the code (x_test.cc) become one executable NAME_test, registered with ctest; fuzzers (x_fuzz.cc) become
# one executable each when WHEREFORE_FUZZ is on; micro-benchmarks (x_bench.cc) one executable NAME_bench.
# TESTS_BY_SCRIPT: the tests need something that a script of tests/system starts, which alone runs them.
# APART: each file is compiled by itself.
# ROOMS: sub-folders that belong to the same target; tools/check-layers holds their order.
# DEPS and LIBS are public: a folder may include what its listed folders may include.
find_package(Threads REQUIRED)
find_package(GTest REQUIRED)
find_package(benchmark QUIET)
configure_file(${CMAKE_SOURCE_DIR}/cmake/test_places.h.in ${CMAKE_BINARY_DIR}/generated/test_places.h @ONLY)

# What nearly every test includes, compiled once: a third of the time of an average test (docs/decisions/0012).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT WHEREFORE_FUZZ AND NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
  file(WRITE ${CMAKE_BINARY_DIR}/generated/test_headers.cc "int main() {}  // carries the precompiled headers of the tests\n")
  add_executable(wf_test_headers ${CMAKE_BINARY_DIR}/generated/test_headers.cc)
  target_link_libraries(wf_test_headers GTest::gmock GTest::gtest Threads::Threads)
  target_compile_options(wf_test_headers PRIVATE -O1 -fpch-preprocess)
  target_precompile_headers(wf_test_headers PRIVATE
    <gmock/gmock.h> <gtest/gtest.h>
    <algorithm> <array> <atomic> <chrono> <cmath> <cstdint> <cstring> <deque> <filesystem> <fstream> <functional> <map>
    <memory> <mutex> <optional> <random> <set> <span> <sstream> <string> <string_view> <thread> <tuple> <unordered_map>
    <utility> <variant> <vector>)
endif()

# wf_join_sources(TARGET SOURCES...): compiles the sources of one folder a few at a time (WHEREFORE_UNITY files in one
# compilation), because half of a file's time goes into headers. docs/decisions/0012-joined-compilation.md has the figures. 0 turns it off.
function(wf_join_sources target)
  if(WHEREFORE_UNITY LESS 2)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  set(count 0)
  set(folder "")
  foreach(source ${ARGN})
    get_filename_component(place ${source} DIRECTORY)
    if(NOT place STREQUAL folder)
      set(folder ${place})
      set(count 0)
      get_filename_component(room ${place} NAME)
    endif()
    math(EXPR group "${count} / ${WHEREFORE_UNITY}")
    math(EXPR count "${count} + 1")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${room}_${group})
  endforeach()
endfunction()

function(wf_folder name)
  cmake_parse_arguments(ARG "TESTS_BY_SCRIPT;APART" "" "ROOMS;DEPS;LIBS;TEST_LIBS" ${ARGN})
  set(patterns *.cc)
  foreach(room ${ARG_ROOMS})
    list(APPEND patterns ${room}/*.cc)
  endforeach()
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  set(tests ${sources})
  set(fuzzers ${sources})
  set(benches ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER fuzzers INCLUDE REGEX "_fuzz\\.cc$")
  list(FILTER benches INCLUDE REGEX "_bench\\.cc$")
  list(FILTER sources EXCLUDE REGEX "(_test|_fuzz|_bench|/main)\\.cc$")

  set(deps ${ARG_DEPS})
  list(TRANSFORM deps PREPEND wf_)
  if(sources)
    add_library(wf_${name} STATIC ${sources})
    if(NOT ARG_APART)
      wf_join_sources(wf_${name} ${sources})
    endif()
    set(scope PUBLIC)
  else()
    add_library(wf_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(wf_${name} ${scope} ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
  target_link_libraries(wf_${name} ${scope} ${deps} ${ARG_LIBS} Threads::Threads)

  if(tests AND NOT WHEREFORE_FUZZ)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test wf_${name} ${ARG_TEST_LIBS} GTest::gmock GTest::gtest GTest::gtest_main)
    target_include_directories(${name}_test PRIVATE ${CMAKE_BINARY_DIR}/generated)
    # What is tested is optimised in full; the tests' own code is not worth the time to compile it so.
    target_compile_options(${name}_test PRIVATE -O1)
    if(TARGET wf_test_headers)
      # gcc forgets which of the precompiled headers are the system's, and then warns falsely inside std::string.
      target_compile_options(${name}_test PRIVATE -fpch-preprocess -Wno-array-bounds -Wno-stringop-overflow
        -Wno-stringop-overread -Wno-maybe-uninitialized)
      target_precompile_headers(${name}_test REUSE_FROM wf_test_headers)
    endif()
    if(NOT ARG_TESTS_BY_SCRIPT)
      add_test(NAME ${name} COMMAND ${name}_test)
      set_tests_properties(${name} PROPERTIES LABELS unit)
    endif()
  endif()
  if(benches AND benchmark_FOUND AND NOT WHEREFORE_FUZZ)
    add_executable(${name}_bench ${benches})
    target_link_libraries(${name}_bench wf_${name} benchmark::benchmark benchmark::benchmark_main)
  endif()
  if(WHEREFORE_FUZZ)
    foreach(fuzzer ${fuzzers})
      get_filename_component(target ${fuzzer} NAME_WE)
      add_executable(${target} ${fuzzer})
      target_link_libraries(${target} wf_${name})
      target_link_options(${target} PRIVATE -fsanitize=fuzzer)
    endforeach()
  endif()
endfunction()
