# wf_folder(NAME [DEPS other folders...] [LIBS third-party targets...])
#
# One CMake target per source folder: wf_NAME holds every .cc that is not a test, a fuzzer or a benchmark. Tests
# beside the code (x_test.cc) become one executable NAME_test, registered with ctest; fuzzers (x_fuzz.cc) become
# one executable each when WHEREFORE_FUZZ is on; micro-benchmarks (x_bench.cc) one executable NAME_bench.
# TESTS_BY_SCRIPT: the tests need something that a script of tests/system starts, which alone runs them.
# DEPS and LIBS are public: a folder may include what its listed folders may include.
find_package(Threads REQUIRED)
find_package(GTest REQUIRED)
find_package(benchmark QUIET)

function(wf_folder name)
  cmake_parse_arguments(ARG "TESTS_BY_SCRIPT" "" "DEPS;LIBS;TEST_LIBS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS *.cc)
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
    target_compile_definitions(${name}_test PRIVATE
      WHEREFORE_SOURCE_DIR="${CMAKE_SOURCE_DIR}" WHEREFORE_BINARY_DIR="${CMAKE_BINARY_DIR}")
    # What is tested is optimised in full; the tests' own code is not worth the time to compile it so.
    target_compile_options(${name}_test PRIVATE -O1)
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
