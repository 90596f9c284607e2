// jaeger.thrift's Batch. Field numbers as in the public definition; a field of an unexpected type is skipped and
// counted like an unknown one.
#include <fmt/format.h>

#include "import/decode/span_times.h"
#include "import/jaeger/jaeger_decoder.h"
#include "import/jaeger/jaeger_row.h"
#include "import/jaeger/thrift_reader.h"

namespace wf::jaeger {
namespace {

using namespace jaeger;

class BatchDecoder {
 public:
  BatchDecoder(std::string_view bytes, const decode::DecodeOptions& options, EventBatch& out,
               decode::DecodeReport& report)
      : in_(bytes), batch_(out), report_(report), writer_(out, options, report) {}

  const ThriftReader& reader() const { return in_; }

  void Run() {
    ThriftType type;
    int16_t id;
    bool has_process = false, has_spans = false;
    size_t spans_at = 0;
    uint32_t process = 0;
    while (in_.Field(type, id)) {
      if (id == 1 && type == ThriftType::kStruct) {
        process = ReadProcess();
        has_process = true;
      } else if (id == 2 && type == ThriftType::kList) {
        has_spans = true;
        if (has_process) {
          Spans(process);
        } else {
          spans_at = in_.offset();  // spans before their process: legal, if unusual
          in_.Skip(type);
        }
      } else if (id == 3 && type == ThriftType::kI64) {
        in_.I64();  // sequence number of the batch: says nothing about spans
      } else {
        Unknown(type);
      }
    }
    if (in_.ok() && (!has_process || !has_spans))
      return in_.Fail("a Batch without process or spans");
    if (in_.ok() && spans_at != 0) {
      in_.Seek(spans_at);
      Spans(process);
    }
  }

 private:
  void Unknown(ThriftType type) {
    in_.Skip(type);
    report_.Repair("unknown_field");
  }

  uint32_t ReadProcess() {
    const uint32_t begin = batch_.ArenaSize();
    writer_.StartList(decode::AttributePlace::kProcess);
    ThriftType type;
    int16_t id;
    while (in_.Field(type, id)) {
      if (id == 1 && type == ThriftType::kString) {
        const std::string_view service = in_.String();
        if (!service.empty()) writer_.Text("service.name", service);
      } else if (id == 2 && type == ThriftType::kList) {
        Tags([](std::string_view, const Value&) {});
      } else {
        Unknown(type);
      }
    }
    return decode::FinishProcess(batch_, begin);
  }

  void Spans(uint32_t process) {
    const uint32_t scope = decode::FinishScope(batch_, 0, 0, batch_.ArenaSize());
    ForEachStruct([&] { Span(process, scope); });
  }

  // Elements of a list of structs; any other list is skipped.
  template <typename Read>
  void ForEachStruct(const Read& read) {
    ThriftType element;
    int32_t count;
    if (!in_.List(element, count)) return;
    for (int32_t i = 0; i < count && in_.ok(); ++i) {
      if (element == ThriftType::kStruct) {
        read();
      } else {
        Unknown(element);
      }
    }
  }

  void Span(uint32_t process, uint32_t scope) {
    batch_.AddRow();
    batch_.process.back() = process;
    batch_.scope.back() = scope;
    references_.clear();
    uint64_t parent_id = 0;
    std::optional<Nanos> start, duration;
    size_t logs_at = 0;
    writer_.StartList(decode::AttributePlace::kSpan);
    ThriftType type;
    int16_t id;
    while (in_.Field(type, id)) {
      if (type == ThriftType::kI64) {
        const int64_t number = in_.I64();
        switch (id) {
          case 1:
            batch_.trace_lo.back() = static_cast<uint64_t>(number);
            break;
          case 2:
            batch_.trace_hi.back() = static_cast<uint64_t>(number);
            break;
          case 3:
            batch_.id1.back() = static_cast<uint64_t>(number);
            break;
          case 4:
            parent_id = static_cast<uint64_t>(number);
            break;
          case 8:
            start = ScaleTime(number, kMicro, report_);
            break;
          case 9:
            duration = ScaleTime(number, kMicro, report_);
            break;
          default:
            report_.Repair("unknown_field");
        }
      } else if (id == 5 && type == ThriftType::kString) {
        batch_.name.back() = writer_.Intern(in_.String());
      } else if (id == 6 && type == ThriftType::kList) {
        ForEachStruct([&] { ReadReference(); });
      } else if (id == 7 && type == ThriftType::kI32) {
        batch_.flags.back() = static_cast<uint32_t>(in_.I32());
      } else if (id == 10 && type == ThriftType::kList) {
        Tags([&](std::string_view key, const Value& value) { ApplyTag(key, value, writer_); });
      } else if (id == 11 && type == ThriftType::kList) {
        logs_at = in_.offset();  // packed behind the tags, whatever their order
        in_.Skip(type);
      } else {
        Unknown(type);
      }
    }
    batch_.EndAttributes();
    if (!in_.ok()) return;
    if (logs_at != 0) {
      const size_t end = in_.offset();
      in_.Seek(logs_at);
      ForEachStruct([&] { Log(); });
      in_.Seek(end);
    }
    batch_.EndPoints();
    Finish(parent_id, start, duration);
  }

  void Finish(uint64_t parent_id, std::optional<Nanos> start, std::optional<Nanos> duration) {
    const TraceId trace = batch_.trace_id(batch_.size() - 1);
    const char* reason = trace.zero()             ? "trace_id_zero"
                         : batch_.id1.back() == 0 ? "span_id_zero"
                                                  : nullptr;
    if (reason != nullptr) {
      report_.Reject(reason);
      return batch_.DropLastRow();
    }
    decode::SetTimes(
        batch_, start,
        start && duration ? std::optional(SaturatingAdd(*start, *duration)) : std::nullopt);
    // parentSpanId repeats one of the references, or is the only one.
    bool repeated = parent_id == 0;
    for (const Reference& r : references_)
      repeated = repeated || (r.trace_id == trace && r.span_id.value == parent_id);
    if (!repeated)
      references_.insert(references_.begin(), {ParentRef::kChildOf, trace, {parent_id}});
    PutLinks(batch_, references_, ChooseParent(batch_, references_));
    batch_.EndLinks();
    ++report_.accepted;
  }

  void ReadReference() {
    Reference reference;
    ThriftType type;
    int16_t id;
    while (in_.Field(type, id)) {
      if (id == 1 && type == ThriftType::kI32) {
        const int32_t kind = in_.I32();
        if (kind == 1) {
          reference.kind = ParentRef::kFollowsFrom;
        } else if (kind != 0) {
          reference.kind = ParentRef::kNone;
          report_.Repair("unknown_reference");
        }
      } else if (id == 2 && type == ThriftType::kI64) {
        reference.trace_id.lo = static_cast<uint64_t>(in_.I64());
      } else if (id == 3 && type == ThriftType::kI64) {
        reference.trace_id.hi = static_cast<uint64_t>(in_.I64());
      } else if (id == 4 && type == ThriftType::kI64) {
        reference.span_id.value = static_cast<uint64_t>(in_.I64());
      } else {
        Unknown(type);
      }
    }
    references_.push_back(reference);
  }

  void Log() {
    // Fields name the point, whose name stands before them: look for it first.
    Nanos time = 0;
    LogName name;
    size_t fields_at = 0;
    ThriftType type;
    int16_t id;
    while (in_.Field(type, id)) {
      if (id == 1 && type == ThriftType::kI64) {
        time = ScaleTime(in_.I64(), kMicro, report_);
      } else if (id == 2 && type == ThriftType::kList) {
        fields_at = in_.offset();
        ForEachStruct([&] {
          std::string_view key;
          const Value value = ReadTag(key);
          name.Offer(key, value);
        });
      } else {
        Unknown(type);
      }
    }
    if (!in_.ok()) return;
    const size_t end = in_.offset();
    PutFixed64(static_cast<uint64_t>(time), batch_.bytes);
    PutVarint(writer_.Intern(name.text), batch_.bytes);
    const size_t begin = writer_.OpenLength();
    writer_.StartList(decode::AttributePlace::kPoint);
    if (fields_at != 0) {
      in_.Seek(fields_at);
      Tags([](std::string_view, const Value&) {});
      in_.Seek(end);
    }
    writer_.CloseNested(begin);
  }

  template <typename Visit>
  void Tags(const Visit& visit) {
    ForEachStruct([&] {
      std::string_view key;
      const Value value = ReadTag(key);
      if (!in_.ok()) return;
      PutTag(key, value, writer_);
      visit(key, value);
    });
  }

  Value ReadTag(std::string_view& key) {
    Value value;
    int32_t kind = 0;
    std::string_view text, binary;
    ThriftType type;
    int16_t id;
    while (in_.Field(type, id)) {
      if (id == 1 && type == ThriftType::kString) {
        key = in_.String();
      } else if (id == 2 && type == ThriftType::kI32) {
        kind = in_.I32();
      } else if (id == 3 && type == ThriftType::kString) {
        text = in_.String();
      } else if (id == 4 && type == ThriftType::kDouble) {
        value.number = in_.Double();
      } else if (id == 5 && type == ThriftType::kBool) {
        value.boolean = in_.Bool();
      } else if (id == 6 && type == ThriftType::kI64) {
        value.integer = in_.I64();
      } else if (id == 7 && type == ThriftType::kString) {
        binary = in_.String();
      } else {
        Unknown(type);
      }
    }
    static constexpr ValueType kTypes[] = {ValueType::kString, ValueType::kDouble, ValueType::kBool,
                                           ValueType::kInt, ValueType::kBytes};
    if (kind < 0 || kind >= static_cast<int32_t>(std::size(kTypes))) {
      report_.Repair("unknown_tag_type");
      return {};
    }
    Value out;
    out.type = kTypes[kind];
    if (out.type == ValueType::kString) out.text = text;
    if (out.type == ValueType::kBytes) out.text = binary;
    if (out.type == ValueType::kBool) out.boolean = value.boolean;
    if (out.type == ValueType::kInt) out.integer = value.integer;
    if (out.type == ValueType::kDouble) out.number = value.number;
    return out;
  }

  ThriftReader in_;
  EventBatch& batch_;
  decode::DecodeReport& report_;
  decode::AttributeWriter writer_;
  std::vector<Reference> references_;
};

}  // namespace

Status DecodeJaegerThrift(std::string_view batch, const decode::DecodeOptions& options,
                          EventBatch& out, decode::DecodeReport& report) {
  constexpr size_t kMaxBytes = size_t{512} << 20;  // offsets inside a batch are 32 bits
  if (batch.size() > kMaxBytes || out.bytes.size() > kMaxBytes) {
    return BadInput(
        fmt::format("Jaeger Thrift: a batch of {} bytes is larger than 512 MiB", batch.size()),
        "send smaller batches");
  }
  const decode::BatchMark mark(out);
  decode::DecodeReport own;
  BatchDecoder decoder(batch, options, out, own);
  decoder.Run();
  if (!decoder.reader().ok()) {
    mark.RollBack(out);
    return BadInput(fmt::format("Jaeger Thrift: {} at byte {} of {}", decoder.reader().fault(),
                                decoder.reader().offset(), batch.size()),
                    "send one jaeger.thrift Batch in the binary protocol");
  }
  report.Add(own);
  return {};
}

}  // namespace wf::jaeger
