// Blocks of work and the tracer that exports them.
//
//   wherefore::TracerOptions options;
//   options.service_name = "checkout";
//   wherefore::Tracer tracer(options);              // one per process, outlives its blocks
//
//   wherefore::Block block(tracer, "charge card");  // child of this thread's context
//   block.Label("user.id", 4711);
//   if (!ok) block.Fail("card declined");           // the destructor ends the block
//
// Across processes: send block.context().Traceparent() and tracestate() as headers; the receiver
// passes RequestContext::FromHeaders(...) as BlockOptions::parent.
//
// In someone else's process this library never blocks on the network, never throws, keeps bounded
// memory and counts what it drops (TracerStats). WHEREFORE_DISABLED=1 in the environment turns it
// off: no thread, no socket, no record; the context of incoming requests still travels. A child of
// fork() that does not exec records nothing.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "wherefore/api.h"
#include "wherefore/context.h"

namespace wherefore {

namespace client {
class OtlpExporter;
}

// A typed value, borrowed for the length of the call it is passed to.
class LabelValue {
 public:
  enum class Type : uint8_t { kString, kBool, kInt, kDouble };

  LabelValue(std::string_view text) : type_(Type::kString), text_(text) {}    // NOLINT
  LabelValue(const char* text) : type_(Type::kString), text_(text) {}         // NOLINT
  LabelValue(const std::string& text) : type_(Type::kString), text_(text) {}  // NOLINT
  LabelValue(double number) : type_(Type::kDouble), double_(number) {}        // NOLINT
  template <typename T, typename = std::enable_if_t<std::is_integral<T>::value>>
  LabelValue(T number)  // NOLINT
      : type_(std::is_same<T, bool>::value ? Type::kBool : Type::kInt),
        int_(static_cast<int64_t>(number)) {}

  Type type() const { return type_; }
  std::string_view text() const { return text_; }
  int64_t integer() const { return int_; }
  double real() const { return double_; }

 private:
  Type type_;
  std::string_view text_;
  int64_t int_ = 0;
  double double_ = 0;
};

struct Label {
  std::string_view key;
  LabelValue value;
};

struct TracerOptions {
  // Where OTLP/HTTP is received: "http://host:port[/path]". Empty: $WHEREFORE_ENDPOINT, then
  // OpenTelemetry's own $OTEL_EXPORTER_OTLP_TRACES_ENDPOINT and $OTEL_EXPORTER_OTLP_ENDPOINT, then
  // http://127.0.0.1:4318.
  std::string endpoint;
  std::string service_name;  // empty: $OTEL_SERVICE_NAME, else the program's name
  std::string instance_id;   // empty: host name and process id
  std::vector<std::pair<std::string, std::string>>
      process_labels;  // added to those found by itself

  // Whether each block carries `thread.id`. The server tells execution units apart by it.
  enum class ThreadIds : uint8_t { kRecord, kOmit } thread_ids = ThreadIds::kRecord;

  // 8,192 blocks are half a minute of a busy service at 250 blocks/s, and at most 8 MiB.
  size_t queue_blocks = 8192;
  size_t queue_bytes = 8u << 20;
  size_t batch_blocks = 512;
  std::chrono::milliseconds flush_interval{200};
  std::chrono::milliseconds request_timeout{5000};
  int max_attempts = 5;                          // per batch, then it is counted as lost
  std::chrono::milliseconds first_backoff{100};  // doubles up to max_backoff; Retry-After wins
  std::chrono::milliseconds max_backoff{5000};
  std::chrono::milliseconds shutdown_deadline{3000};
};

// Every block ends in exactly one of exported, rejected, lost, dropped, or is still on its way.
struct TracerStats {
  uint64_t recorded = 0;  // blocks ended while sampled
  uint64_t exported = 0;  // acknowledged by the receiver
  uint64_t dropped = 0;   // the queue was full, or the tracer shut down
  uint64_t rejected = 0;  // the receiver refused them for good
  uint64_t lost = 0;      // given up after max_attempts or at the shutdown deadline
  uint64_t retries = 0;   // attempts after the first
};

// Thread-safe. Blocks keep a reference: destroy the tracer after its last block.
class WHEREFORE_API Tracer {
 public:
  explicit Tracer(const TracerOptions& options);
  ~Tracer();  // Shutdown(options.shutdown_deadline)
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  bool enabled() const { return exporter_ != nullptr; }
  TracerStats stats() const;
  std::string LastError() const;  // why the last batch did not arrive; empty when the last one did

  // Waits until all blocks ended before the call are settled; false if the deadline passes first.
  bool Flush(std::chrono::milliseconds deadline);
  // Flushes, then stops the background thread; returns by the deadline. Blocks ended later are counted as dropped.
  void Shutdown(std::chrono::milliseconds deadline);

 private:
  friend class Block;
  // Shared with the background thread, which may outlive us while it is stuck in the name resolver.
  std::shared_ptr<client::OtlpExporter> exporter_;
  TracerOptions::ThreadIds thread_ids_;
  std::chrono::milliseconds shutdown_deadline_;
};

// The numbers are OTLP's.
enum class BlockKind : uint8_t { kInternal = 1, kServer, kClient, kProducer, kConsumer };

struct BlockOptions {
  BlockKind kind = BlockKind::kInternal;
  std::optional<RequestContext>
      parent;                       // default: this thread's context; an invalid one starts a trace
  std::optional<int64_t> start_ns;  // Unix ns; default: now
  // kCurrent: this thread works for the block until it ends. kDetached: for work that ends on another thread.
  enum class Activation : uint8_t { kCurrent, kDetached } activation = Activation::kCurrent;
};

// A segment of work, from construction to End() or destruction. One thread at a time; a kCurrent
// block ends on the thread that began it, after the blocks inside it. A block whose request is not
// sampled costs next to nothing.
class WHEREFORE_API Block {
 public:
  Block(Tracer& tracer, std::string_view name, BlockKind kind = BlockKind::kInternal);
  Block(Tracer& tracer, std::string_view name, BlockOptions options);
  ~Block() { End(); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  bool recording() const { return recording_; }
  const RequestContext& context() const {
    return context_;
  }  // what children and remote callees get as parent

  // What exceeds 16 KiB in one block is left out and counted in the block itself.
  void Label(std::string_view key, LabelValue value);
  void Point(std::string_view name, std::initializer_list<wherefore::Label> labels = {});
  void Link(const RequestContext& to, std::initializer_list<wherefore::Label> labels = {});
  void Succeed();  // an explicit "ok", which later analyses do not second-guess
  void Fail(std::string_view message);  // an error

  void End();  // idempotent
  void EndAt(int64_t unix_ns);

 private:
  enum class Outcome : uint8_t { kUnset = 0, kOk = 1, kError = 2 };  // OTLP's numbers

  Tracer& tracer_;
  RequestContext context_;
  BlockId parent_ = 0;
  bool parent_remote_ = false;
  bool recording_ = false;
  BlockKind kind_;
  Outcome outcome_ = Outcome::kUnset;
  uint32_t left_out_labels_ = 0;
  uint32_t left_out_points_ = 0;
  uint32_t left_out_links_ = 0;
  int64_t start_ns_ = 0;
  std::string name_;
  std::string error_;
  std::string body_;  // labels, points and links, already encoded
  std::optional<ContextScope> scope_;
};

}  // namespace wherefore
