/* libwherefore for C and for languages that call C. instrument.h, tracer.h and rpc.h describe the functions; names here
 * are the same with a prefix. Strings are zero-terminated and copied. All functions may be called from any thread;
 * blocks and scopes end on the thread that began them. Nothing here blocks or fails: what cannot be recorded is dropped
 * and counted. */
#ifndef WHEREFORE_WHEREFORE_H
#define WHEREFORE_WHEREFORE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WHEREFORE_C_API __attribute__((visibility("default")))

/* --- What this thread works on */

typedef struct {
  uint64_t trace_hi, trace_lo; /* the trace id, its first and second half */
  uint64_t block;              /* the innermost block */
  uint8_t sampled;
  uint8_t detail; /* 0 to 3, when sampled */
} wherefore_context;

/* Returns 1, or 0 with `out` all zero when this thread works for no request. Async-signal-safe, allocates nothing. Other
 * libraries may refer to this symbol weakly. */
WHEREFORE_C_API int wherefore_current_context(wherefore_context* out);

/* --- The tracer of the process. A second start is ignored. If `service` or `endpoint` is NULL, the environment and then
 * the defaults of tracer.h apply. */
WHEREFORE_C_API void wherefore_start(const char* service, const char* endpoint);
WHEREFORE_C_API int wherefore_flush(unsigned milliseconds); /* 1: all settled */
WHEREFORE_C_API void wherefore_stop(unsigned milliseconds);

/* --- Requests received from other processes */

typedef struct wherefore_scope wherefore_scope;
/* Any header may be NULL. Returns NULL if traceparent is malformed; wherefore_detach(NULL) is allowed. */
WHEREFORE_C_API wherefore_scope* wherefore_attach(const char* traceparent, const char* tracestate,
                                                  const char* baggage);
WHEREFORE_C_API void wherefore_detach(wherefore_scope* scope);
/* The header to send on, zero-terminated; returns its length, or 0 when there is no request. `size` >= 56. */
WHEREFORE_C_API size_t wherefore_traceparent(char* out, size_t size);
WHEREFORE_C_API size_t wherefore_tracestate(char* out, size_t size);
/* With the tuples of queries; `size` of 8193 always suffices. Send it with responses too, and join the baggage that a
 * response brings. */
WHEREFORE_C_API size_t wherefore_baggage(char* out, size_t size);
WHEREFORE_C_API void wherefore_join_baggage(const char* header);

/* Work for this thread's request that another thread does while this one waits (Branch in baggage.h). That thread calls
 * attach and done; the thread that waited calls join, which frees the branch. */
typedef struct wherefore_branch wherefore_branch;
WHEREFORE_C_API wherefore_branch* wherefore_branch_begin(void);
WHEREFORE_C_API wherefore_scope* wherefore_branch_attach(wherefore_branch* branch);
WHEREFORE_C_API void wherefore_branch_done(wherefore_branch* branch);
WHEREFORE_C_API void wherefore_branch_join(wherefore_branch* branch);

/* --- Blocks */

enum {
  WHEREFORE_INTERNAL = 1,
  WHEREFORE_SERVER,
  WHEREFORE_CLIENT,
  WHEREFORE_PRODUCER,
  WHEREFORE_CONSUMER
};

typedef struct wherefore_block wherefore_block;
/* Starts a trace if there is no request. Returns NULL when nothing is recorded; every function below accepts NULL. */
WHEREFORE_C_API wherefore_block* wherefore_block_begin(const char* name, int kind);
WHEREFORE_C_API void wherefore_block_fail(wherefore_block* block, const char* message);
WHEREFORE_C_API void wherefore_block_end(wherefore_block* block);

/* --- Annotations of the current block */

WHEREFORE_C_API void wherefore_inform(const char* text);
WHEREFORE_C_API void wherefore_point(const char* name);
WHEREFORE_C_API void wherefore_label(const char* key, const char* value);
WHEREFORE_C_API void wherefore_count(const char* name, int64_t value, const char* unit);

/* --- Edges, queues, locks, continuations. An id is 0 when nothing is recorded, and is then ignored. */

WHEREFORE_C_API uint64_t wherefore_edge_begin(const char* type);
WHEREFORE_C_API void wherefore_edge_end(uint64_t edge, const char* type);
WHEREFORE_C_API uint64_t wherefore_enqueue(const char* queue);
WHEREFORE_C_API void wherefore_dequeue(uint64_t item, const char* queue);
WHEREFORE_C_API void wherefore_complete(uint64_t item);
WHEREFORE_C_API uint64_t wherefore_lock_request(const char* lock);
WHEREFORE_C_API void wherefore_lock_acquire(uint64_t hold);
WHEREFORE_C_API void wherefore_lock_release(uint64_t hold);
WHEREFORE_C_API uint64_t wherefore_task_create(const char* name);
WHEREFORE_C_API void wherefore_task_run(uint64_t task);

/* --- The raw event. `type` is a name of the contract ("point"); keys are label|message|counter|set|stack:NAME[:UNIT]. */

typedef struct {
  const char* key;
  const char* value;
} wherefore_annotation;
/* Returns 0 when `type` is not known. */
WHEREFORE_C_API int wherefore_log_event(const char* type, uint64_t id1, uint64_t id2,
                                        const wherefore_annotation* annotations, size_t count);
WHEREFORE_C_API uint64_t wherefore_new_id(void);

#ifdef __cplusplus
}
#endif

#endif
