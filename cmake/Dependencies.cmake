# Third-party libraries. Each one's headers are used in one folder only (tools/check-layers).
find_package(PkgConfig REQUIRED)

# DuckDB: a system installation if there is one, else what tools/setup fetched into build/deps, where npm names the
# library's folder after the architecture.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(duckdb_architecture arm64)
else()
  set(duckdb_architecture x64)
endif()
# A build folder remembers where they were, and a new version may lie elsewhere.
if(NOT EXISTS "${DUCKDB_INCLUDE}/duckdb.h" OR NOT EXISTS "${DUCKDB_LIBRARY}")
  unset(DUCKDB_INCLUDE CACHE)
  unset(DUCKDB_LIBRARY CACHE)
endif()
find_path(DUCKDB_INCLUDE duckdb.h HINTS ${CMAKE_SOURCE_DIR}/build/deps/include)
find_library(DUCKDB_LIBRARY duckdb
  HINTS ${CMAKE_SOURCE_DIR}/build/deps/node_modules/@duckdb/node-bindings-linux-${duckdb_architecture})
if(NOT DUCKDB_INCLUDE OR NOT DUCKDB_LIBRARY)
  message(FATAL_ERROR "DuckDB not found: run tools/setup first")
endif()
add_library(wherefore_duckdb SHARED IMPORTED)
set_target_properties(wherefore_duckdb PROPERTIES
  IMPORTED_LOCATION ${DUCKDB_LIBRARY}
  INTERFACE_INCLUDE_DIRECTORIES ${DUCKDB_INCLUDE})

find_package(ZLIB REQUIRED)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(NGHTTP2 REQUIRED IMPORTED_TARGET libnghttp2)
pkg_check_modules(KISSFFT REQUIRED IMPORTED_TARGET kissfft-float)
pkg_check_modules(PCAP REQUIRED IMPORTED_TARGET libpcap)
find_package(OpenSSL REQUIRED)
pkg_check_modules(LIBBPF REQUIRED IMPORTED_TARGET libbpf)
pkg_check_modules(RDKAFKA REQUIRED IMPORTED_TARGET rdkafka)
find_package(simdjson REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(yaml-cpp REQUIRED)
find_path(CLI11_INCLUDE CLI/CLI.hpp REQUIRED)
find_path(PROTOZERO_INCLUDE protozero/pbf_reader.hpp REQUIRED)
find_path(RAPIDJSON_INCLUDE rapidjson/writer.h REQUIRED)
find_path(BOOST_BEAST_INCLUDE boost/beast.hpp REQUIRED)
