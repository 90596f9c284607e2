/* libwherefore for C and for whatever calls C. What each function means is said in instrument.h, tracer.h and rpc.h;
 * names here are the same with a prefix. Texts are zero-terminated and copied. Everything may be called from any
 * thread; blocks and scopes end on the thread that began them. Nothing here blocks, and nothing fails: what cannot be
 * recorded is dropped and counted. */
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

/* 1, or 0 when this thread works for no request; then `out` is all zero. Async-signal-safe, allocates nothing. Other
 * libraries may find this symbol weakly. */
WHEREFORE_C_API int wherefore_current_context(wherefore_context* out);

/* --- The tracer of the process. A second start is ignored. `service` and `endpoint` may be NULL: the environment, then
 * defaults, as in tracer.h. */
WHEREFORE_C_API void wherefore_start(const char* service, const char* endpoint);
WHEREFORE_C_API int wherefore_flush(unsigned milliseconds); /* 1: all settled */
WHEREFORE_C_API void wherefore_stop(unsigned milliseconds);

/* --- Requests that come from elsewhere */

typedef struct wherefore_scope wherefore_scope;
/* Any header may be NULL. NULL if traceparent is malformed; wherefore_detach(NULL) is fine. */
WHEREFORE_C_API wherefore_scope* wherefore_attach(const char* traceparent, const char* tracestate,
                                                  const char* baggage);
WHEREFORE_C_API void wherefore_detach(wherefore_scope* scope);
/* The header to send on, zero-terminated; returns its length, or 0 when there is no request. `size` >= 56. */
WHEREFORE_C_API size_t wherefore_traceparent(char* out, size_t size);
WHEREFORE_C_API size_t wherefore_tracestate(char* out, size_t size);
/* With the tuples of queries; `size` of 8193 always suffices. Send it with the response too, and join what comes with
 * one. */
WHEREFORE_C_API size_t wherefore_baggage(char* out, size_t size);
WHEREFORE_C_API void wherefore_join_baggage(const char* header);

/* Work for this thread's request that is done on another thread and waited for (Branch in baggage.h). Attached and
 * done on that thread, then joined, which ends it, where it was waited for. */
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
/* Without a request, starts a trace. NULL when nothing is recorded, which every function below takes. */
WHEREFORE_C_API wherefore_block* wherefore_block_begin(const char* name, int kind);
WHEREFORE_C_API void wherefore_block_fail(wherefore_block* block, const char* message);
WHEREFORE_C_API void wherefore_block_end(wherefore_block* block);

/* --- Of the current block */

WHEREFORE_C_API void wherefore_inform(const char* text);
WHEREFORE_C_API void wherefore_point(const char* name);
WHEREFORE_C_API void wherefore_label(const char* key, const char* value);
WHEREFORE_C_API void wherefore_count(const char* name, int64_t value, const char* unit);

/* --- Edges, queues, locks, continuations. Ids are 0 when not recorded, and then ignored. */

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
/* 0 when `type` is not known. */
WHEREFORE_C_API int wherefore_log_event(const char* type, uint64_t id1, uint64_t id2,
                                        const wherefore_annotation* annotations, size_t count);
WHEREFORE_C_API uint64_t wherefore_new_id(void);

#ifdef __cplusplus
}
#endif

#endif
