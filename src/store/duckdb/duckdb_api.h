// DuckDB's C functions, found at run time. The library is 64 MB: linking it costs 7–90 ms of every start of the
// program, `wherefore --version` included (measured: 90 ms cold, 7–13 ms warm), so it is opened when a store is.
//
// Thread safety: Load may be called from any thread; the table never changes after it succeeded.
#pragma once

#include <duckdb.h>

#include "base/result.h"

namespace wf::store::duckdb::duck {

// Every function used, once; a missing one is an error that names it.
// clang-format, which gives the list another shape each time, leaves it alone.
// clang-format off
#define WF_DUCKDB_FUNCTIONS(X)                                                                   \
  X(library_version) X(create_config) X(set_config) X(destroy_config) X(open_ext) X(close)       \
  X(connect) X(disconnect) X(query) X(destroy_result) X(result_error) X(fetch_chunk)             \
  X(destroy_data_chunk) X(data_chunk_get_size) X(data_chunk_set_size) X(data_chunk_get_vector)   \
  X(data_chunk_get_column_count) X(vector_get_data) X(vector_get_validity) X(column_count)       \
  X(rows_changed) X(prepare) X(prepare_error) X(destroy_prepare) X(bind_blob) X(bind_int64)      \
  X(bind_uint64) X(execute_prepared) X(create_logical_type) X(destroy_logical_type)              \
  X(create_table_function) X(destroy_table_function) X(table_function_set_name)                  \
  X(table_function_set_extra_info) X(table_function_set_bind) X(table_function_set_init)         \
  X(table_function_set_function) X(register_table_function) X(bind_get_extra_info)               \
  X(bind_add_result_column) X(init_set_max_threads) X(function_get_extra_info)                   \
  X(function_set_error) X(free) X(bind_double) X(bind_varchar_length)                            \
  X(vector_ensure_validity_writable) X(column_name) X(prepared_statement_type) X(interrupt)
// clang-format on

struct Api {
#define WF_DUCKDB_POINTER(name) decltype(&::duckdb_##name) name = nullptr;
  WF_DUCKDB_FUNCTIONS(WF_DUCKDB_POINTER)
#undef WF_DUCKDB_POINTER
};

// Opens the library: $WHEREFORE_DUCKDB, beside the program, ../lib/wherefore, the system's, the one built against.
Status Load();
// The loaded table; only after Load succeeded.
const Api& api();

}  // namespace wf::store::duckdb::duck
