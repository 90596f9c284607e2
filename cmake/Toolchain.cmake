# Compiler, linker and sanitizer settings shared by every target.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})

set(WHEREFORE_UNITY 12 CACHE STRING "How many source files of a folder are compiled together; 0: each by itself")
option(WHEREFORE_WERROR "Treat warnings as errors" OFF)
option(WHEREFORE_FUZZ "Build the libFuzzer targets (clang only)" OFF)
set(WHEREFORE_SANITIZE "" CACHE STRING "Sanitizers, comma separated")

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# What -O3 is worth to each benchmark is not measured through yet (docs/decisions/0012-joined-compilation.md).
string(REPLACE "-O3" "-O2" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
string(REPLACE "-O3" "-O2" CMAKE_C_FLAGS_RELEASE "${CMAKE_C_FLAGS_RELEASE}")

add_compile_options(-Wall -Wextra -Wno-missing-field-initializers -fno-omit-frame-pointer)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  add_compile_options(-Wno-restrict)  # gcc 12 warns falsely inside std::string (its bug 105651)
endif()
if(WHEREFORE_UNITY GREATER 1)
  # gcc takes an anonymous namespace outside of the compilation's main file for one in a header; joined files are neither.
  add_compile_options($<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-Wno-subobject-linkage>)
endif()
if(WHEREFORE_WERROR)
  add_compile_options(-Werror)
endif()
if(WHEREFORE_SANITIZE)
  add_compile_options(-fsanitize=${WHEREFORE_SANITIZE} -g1)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Instrumented code hides from gcc that a value was set: it warns falsely all through Boost and <regex>.
    add_compile_options(-Wno-maybe-uninitialized)
  endif()
  add_link_options(-fsanitize=${WHEREFORE_SANITIZE})
  if(WHEREFORE_SANITIZE STREQUAL "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Asio's fences: thousands of lines that bury whatever else a log has to say.
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-tsan>)
  endif()
endif()
if(WHEREFORE_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
