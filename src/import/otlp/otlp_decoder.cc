// The ingest path. protozero walks the bytes; every field goes to its column at once. Attributes stand first in a
// row's packed bytes, so they are packed while the span is walked; events and links are only remembered (as views into
// the request) and packed after, whatever their order on the wire.
#include "import/otlp/otlp_decoder.h"

#include <fmt/format.h>

#include <protozero/pbf_reader.hpp>

#include "import/decode/attribute_writer.h"
#include "import/otlp/otlp_fields.h"
#include "import/otlp/otlp_row.h"

namespace wf::otlp {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;
using namespace otlp;

constexpr uint32_t Bytes(uint32_t field) {
  return protozero::tag_and_type(field, pbf_wire_type::length_delimited);
}
constexpr uint32_t Number(uint32_t field) {
  return protozero::tag_and_type(field, pbf_wire_type::varint);
}
constexpr uint32_t Fixed64(uint32_t field) {
  return protozero::tag_and_type(field, pbf_wire_type::fixed64);
}
constexpr uint32_t Fixed32(uint32_t field) {
  return protozero::tag_and_type(field, pbf_wire_type::fixed32);
}

// Offsets inside a batch are 32 bits. Packing can grow a hostile request, but never eightfold.
constexpr size_t kMaxRequestBytes = size_t{512} << 20;

// protozero keeps the low 32 bits of a length. A longer one is a lie about a request that is shorter: five bytes hold
// 32 bits when the fifth is at most 15.
void CheckLength(const pbf_reader& reader) {
  const protozero::data_view rest = reader.data();
  const auto* p = reinterpret_cast<const unsigned char*>(rest.data());
  size_t n = 0;
  while (n < rest.size() && n < 4 && p[n] >= 0x80) ++n;
  if (n == 4 && rest.size() > 4 && p[4] > 15) throw protozero::end_of_buffer_exception{};
}

std::string_view View(pbf_reader& reader) {
  CheckLength(reader);
  const protozero::data_view view = reader.get_view();
  return {view.data(), view.size()};
}
void Skip(pbf_reader& reader) {
  if (reader.wire_type() == pbf_wire_type::length_delimited) CheckLength(reader);
  reader.skip();
}
pbf_reader Message(std::string_view view) { return pbf_reader{view.data(), view.size()}; }

class ProtobufDecoder {
 public:
  ProtobufDecoder(std::string_view request, const decode::DecodeOptions& options, EventBatch& out,
                  decode::DecodeReport& report)
      : batch_(out),
        report_(report),
        writer_(out, options, report),
        max_depth_(options.max_value_depth),
        at_(request.data()) {}

  const char* at() const { return at_; }  // the field being read

  void Request(std::string_view request) {
    pbf_reader reader = Message(request);
    while (Next(reader)) {
      if (Tag(reader) == Bytes(kRequestResourceSpans)) {
        ResourceSpans(View(reader));
      } else {
        Unknown(reader);
      }
    }
  }

 private:
  bool Next(pbf_reader& reader) {
    at_ = reader.data().data();
    return reader.next();
  }
  static uint32_t Tag(const pbf_reader& reader) { return reader.tag_and_type(); }
  void Unknown(pbf_reader& reader) {
    Skip(reader);
    report_.Repair("unknown_field");
  }

  // Resource and scope may follow the spans on the wire, so each level is walked twice; skipping a span costs nothing.
  void ResourceSpans(std::string_view view) {
    const uint32_t attrs_begin = batch_.ArenaSize();
    std::string_view schema_url;
    int64_t dropped = 0;
    writer_.StartList(decode::AttributePlace::kProcess);
    pbf_reader reader = Message(view);
    while (Next(reader)) {
      switch (Tag(reader)) {
        case Bytes(kResourceSpansResource):
          dropped += AttributeList(View(reader), Bytes(kResourceAttributes),
                                   Number(kResourceDroppedAttributes));
          break;
        case Bytes(kResourceSpansSchemaUrl):
          schema_url = View(reader);
          break;
        case Bytes(kResourceSpansScopeSpans):
        case Bytes(kResourceSpansLibrarySpans):
          Skip(reader);
          break;
        default:
          Unknown(reader);
      }
    }
    PutDropped(kDroppedAttributes, dropped);
    if (!schema_url.empty()) writer_.Text(kSchemaUrl, schema_url);
    const uint32_t process = decode::FinishProcess(batch_, attrs_begin);

    reader = Message(view);
    while (Next(reader)) {
      const uint32_t tag = Tag(reader);
      if (tag == Bytes(kResourceSpansScopeSpans) || tag == Bytes(kResourceSpansLibrarySpans)) {
        ScopeSpans(View(reader), process);
      } else {
        Skip(reader);
      }
    }
  }

  void ScopeSpans(std::string_view view, uint32_t process) {
    const uint32_t attrs_begin = batch_.ArenaSize();
    std::string_view schema_url, name, version;
    int64_t dropped = 0;
    writer_.StartList(decode::AttributePlace::kScope);
    pbf_reader reader = Message(view);
    while (Next(reader)) {
      switch (Tag(reader)) {
        case Bytes(kScopeSpansScope):
          dropped += ScopeFields(View(reader), name, version);
          break;
        case Bytes(kScopeSpansSchemaUrl):
          schema_url = View(reader);
          break;
        case Bytes(kScopeSpansSpans):
          Skip(reader);
          break;
        default:
          Unknown(reader);
      }
    }
    PutDropped(kDroppedAttributes, dropped);
    if (!schema_url.empty()) writer_.Text(kSchemaUrl, schema_url);
    const uint32_t scope =
        decode::FinishScope(batch_, writer_.Intern(name), writer_.Intern(version), attrs_begin);

    reader = Message(view);
    while (Next(reader)) {
      if (Tag(reader) == Bytes(kScopeSpansSpans)) {
        Span(View(reader), process, scope);
      } else {
        Skip(reader);
      }
    }
  }

  int64_t ScopeFields(std::string_view view, std::string_view& name, std::string_view& version) {
    int64_t dropped = 0;
    pbf_reader reader = Message(view);
    while (Next(reader)) {
      switch (Tag(reader)) {
        case Bytes(kScopeName):
          name = View(reader);
          break;
        case Bytes(kScopeVersion):
          version = View(reader);
          break;
        case Bytes(kScopeAttributes):
          Attribute(View(reader));
          break;
        case Number(kScopeDroppedAttributes):
          dropped = reader.get_uint32();
          break;
        default:
          Unknown(reader);
      }
    }
    return dropped;
  }

  void Span(std::string_view view, uint32_t process, uint32_t scope) {
    batch_.AddRow();
    batch_.process.back() = process;
    batch_.scope.back() = scope;
    SpanState state;
    events_.clear();
    links_.clear();
    uint32_t dropped_attributes = 0, dropped_events = 0, dropped_links = 0;
    writer_.StartList(decode::AttributePlace::kSpan);
    pbf_reader reader = Message(view);
    while (Next(reader)) {
      switch (Tag(reader)) {
        case Bytes(kSpanTraceId): {
          TraceId id;
          state.trace_id_ok = ReadTraceId(View(reader), id);
          if (!state.trace_id_ok) state.rejected = "trace_id_length";
          batch_.trace_hi.back() = id.hi;
          batch_.trace_lo.back() = id.lo;
          break;
        }
        case Bytes(kSpanSpanId):
          state.span_id_ok = ReadSpanId(View(reader), batch_.id1.back());
          if (!state.span_id_ok) state.rejected = "span_id_length";
          break;
        case Bytes(kSpanParentSpanId):
          if (!ReadSpanId(View(reader), batch_.id2.back()))
            state.rejected = "parent_span_id_length";
          break;
        case Bytes(kSpanTraceState):
          batch_.tracestate.back() = writer_.Intern(View(reader));
          break;
        case Bytes(kSpanName):
          batch_.name.back() = writer_.Intern(View(reader));
          break;
        case Number(kSpanKind):
          SetKind(batch_, reader.get_enum(), report_);
          break;
        case Fixed64(kSpanStart):
          batch_.start_ns.back() = Time(reader);
          break;
        case Fixed64(kSpanEnd):
          batch_.end_ns.back() = Time(reader);
          break;
        case Bytes(kSpanAttributes):
          Attribute(View(reader));
          if (writer_.is_row_key())
            RestoreRowAttribute(writer_, decode::AttributePlace::kSpan, state);
          break;
        case Number(kSpanDroppedAttributes):
          dropped_attributes = reader.get_uint32();
          break;
        case Bytes(kSpanEvents):
          events_.push_back(View(reader));
          break;
        case Number(kSpanDroppedEvents):
          dropped_events = reader.get_uint32();
          break;
        case Bytes(kSpanLinks):
          links_.push_back(View(reader));
          break;
        case Number(kSpanDroppedLinks):
          dropped_links = reader.get_uint32();
          break;
        case Bytes(kSpanStatus):
          StatusFields(View(reader));
          break;
        case Fixed32(kSpanFlags):
          batch_.flags.back() = reader.get_fixed32();
          break;
        default:
          Unknown(reader);
      }
    }
    PutDropped(kDroppedAttributes, dropped_attributes);
    PutDropped(kDroppedEvents, dropped_events);
    PutDropped(kDroppedLinks, dropped_links);
    batch_.EndAttributes();
    for (const std::string_view event : events_) Point(event);
    batch_.EndPoints();
    for (const std::string_view link : links_) Link(link, state);
    batch_.EndLinks();
    FinishSpan(batch_, state, report_);
  }

  void StatusFields(std::string_view view) {
    pbf_reader reader = Message(view);
    while (Next(reader)) {
      switch (Tag(reader)) {
        case Bytes(kStatusMessage):
          batch_.status_message.back() = writer_.Intern(View(reader));
          break;
        case Number(kStatusCode):
          SetStatus(batch_, reader.get_enum(), report_);
          break;
        default:
          Unknown(reader);
      }
    }
  }

  // Points and links hold their attributes behind a header with fields that may follow on the wire: collect, then
  // write header and attributes.
  void Point(std::string_view view) {
    int64_t time = 0;
    std::string_view name;
    uint32_t dropped = 0;
    attributes_.clear();
    pbf_reader reader = Message(view);
    while (Next(reader)) {
      switch (Tag(reader)) {
        case Fixed64(kEventTime):
          time = Time(reader);
          break;
        case Bytes(kEventName):
          name = View(reader);
          break;
        case Bytes(kEventAttributes):
          attributes_.push_back(View(reader));
          break;
        case Number(kEventDroppedAttributes):
          dropped = reader.get_uint32();
          break;
        default:
          Unknown(reader);
      }
    }
    PutFixed64(static_cast<uint64_t>(time), batch_.bytes);
    PutVarint(writer_.Intern(name), batch_.bytes);
    const size_t begin = writer_.OpenLength();
    writer_.StartList(decode::AttributePlace::kPoint);
    for (const std::string_view attribute : attributes_) Attribute(attribute);
    PutDropped(kDroppedAttributes, dropped);
    writer_.CloseNested(begin);
  }

  void Link(std::string_view view, SpanState& state) {
    PackedLink link;
    uint32_t dropped = 0;
    attributes_.clear();
    pbf_reader reader = Message(view);
    while (Next(reader)) {
      switch (Tag(reader)) {
        case Bytes(kLinkTraceId):
          if (!ReadTraceId(View(reader), link.trace_id)) report_.Repair("link_trace_id_length");
          break;
        case Bytes(kLinkSpanId):
          if (!ReadSpanId(View(reader), link.span_id.value)) report_.Repair("link_span_id_length");
          break;
        case Bytes(kLinkTraceState):
          link.tracestate = writer_.Intern(View(reader));
          break;
        case Bytes(kLinkAttributes):
          attributes_.push_back(View(reader));
          break;
        case Number(kLinkDroppedAttributes):
          dropped = reader.get_uint32();
          break;
        case Fixed32(kLinkFlags):
          link.flags = reader.get_fixed32();
          break;
        default:
          Unknown(reader);
      }
    }
    const size_t header = batch_.bytes.size();
    PutLink(link, batch_.bytes);  // with no attributes: ends in a length of 0, opened again
    const size_t begin = batch_.bytes.size();
    state.link_ref = 0;
    writer_.StartList(decode::AttributePlace::kLink);
    for (const std::string_view attribute : attributes_) {
      Attribute(attribute);
      if (writer_.is_row_key()) RestoreRowAttribute(writer_, decode::AttributePlace::kLink, state);
    }
    PutDropped(kDroppedAttributes, dropped);
    batch_.bytes[header + kPackedLinkRefOffset] = static_cast<char>(state.link_ref);
    writer_.CloseNested(begin);
  }

  // Attributes of a message that has nothing else; returns its dropped_attributes_count.
  int64_t AttributeList(std::string_view view, uint32_t attribute_tag, uint32_t dropped_tag) {
    int64_t dropped = 0;
    pbf_reader reader = Message(view);
    while (Next(reader)) {
      const uint32_t tag = Tag(reader);
      if (tag == attribute_tag) {
        Attribute(View(reader));
      } else if (tag == dropped_tag) {
        dropped = reader.get_uint32();
      } else {
        Unknown(reader);
      }
    }
    return dropped;
  }

  void PutDropped(std::string_view key, int64_t count) {
    if (count != 0) writer_.Int(key, count);
  }

  void KeyValue(std::string_view view, std::string_view& key, std::string_view& value) {
    pbf_reader reader = Message(view);
    while (Next(reader)) {
      switch (Tag(reader)) {
        case Bytes(kKeyValueKey):
          key = View(reader);
          break;
        case Bytes(kKeyValueValue):
          value = View(reader);
          break;
        default:
          Unknown(reader);
      }
    }
  }

  void Attribute(std::string_view view) {
    std::string_view key, value;
    KeyValue(view, key, value);
    writer_.Begin(key);
    AnyValue(value, 0);
    writer_.End();
  }

  void AnyValue(std::string_view view, int depth) {
    const size_t mark = batch_.bytes.size();
    writer_.PutNull();  // an empty AnyValue
    pbf_reader reader = Message(view);
    while (Next(reader)) {
      const uint32_t tag = Tag(reader);
      if (tag == Bytes(kAnyString)) {  // of a oneof given twice the last holds
        batch_.bytes.resize(mark);
        writer_.PutText(View(reader));
      } else if (tag == Number(kAnyInt)) {
        batch_.bytes.resize(mark);
        PutInt(reader.get_int64(), batch_.bytes);
      } else if (tag == Number(kAnyBool)) {
        batch_.bytes.resize(mark);
        PutBool(reader.get_bool(), batch_.bytes);
      } else if (tag == Fixed64(kAnyDouble)) {
        batch_.bytes.resize(mark);
        PutDouble(reader.get_double(), batch_.bytes);
      } else if (tag == Bytes(kAnyBytes)) {
        batch_.bytes.resize(mark);
        writer_.PutText(View(reader), ValueType::kBytes);
      } else if (tag == Bytes(kAnyArray) || tag == Bytes(kAnyMap)) {
        batch_.bytes.resize(mark);
        Nested(View(reader), tag == Bytes(kAnyMap) ? ValueType::kMap : ValueType::kArray,
               depth + 1);
      } else {
        Unknown(reader);
      }
    }
  }

  void Nested(std::string_view view, ValueType type, int depth) {
    if (depth > max_depth_) {
      writer_.PutNull();
      report_.Repair("deep_value");
      return;
    }
    const size_t begin = writer_.OpenNested(type);
    pbf_reader reader = Message(view);
    while (Next(reader)) {
      if (Tag(reader) != Bytes(kListValues)) {
        Unknown(reader);
      } else if (type == ValueType::kArray) {
        AnyValue(View(reader), depth);
      } else {
        std::string_view key, value;
        KeyValue(View(reader), key, value);
        writer_.PutMapKey(key);
        AnyValue(value, depth);
      }
    }
    writer_.CloseNested(begin);
  }

  static bool ReadTraceId(std::string_view bytes, TraceId& id) {
    if (bytes.empty()) return true;  // as good as absent
    if (bytes.size() != 16) return false;
    id = TraceIdFromBytes(bytes.data());
    return true;
  }
  static bool ReadSpanId(std::string_view bytes, uint64_t& id) {
    if (bytes.empty()) return true;
    if (bytes.size() != 8) return false;
    id = LoadBigEndian64(bytes.data());
    return true;
  }
  int64_t Time(pbf_reader& reader) {
    const auto time = static_cast<int64_t>(reader.get_fixed64());
    if (time < 0)
      report_.Repair("time_beyond_2262");  // kept bit for bit: the model sees a time before 1970
    return time;
  }

  EventBatch& batch_;
  decode::DecodeReport& report_;
  decode::AttributeWriter writer_;
  const int max_depth_;
  const char* at_;
  // Of the span being read; views into the request.
  std::vector<std::string_view> events_, links_, attributes_;
};

void ReserveFor(std::string_view request, EventBatch& out) {
  // A span takes a quarter of a kilobyte and more on the wire; the packed part about half of its bytes.
  const size_t rows = out.size() + request.size() / 256 + 8;
  if (out.id1.capacity() < rows) out.Reserve(std::max(rows, out.size() * 2));
  const size_t bytes = out.bytes.size() + request.size();
  if (out.bytes.capacity() < bytes) out.bytes.reserve(std::max(bytes, out.bytes.size() * 2));
}

}  // namespace

Status DecodeOtlpProtobuf(std::string_view request, const decode::DecodeOptions& options,
                          EventBatch& out, decode::DecodeReport& report) {
  if (request.size() > kMaxRequestBytes || out.bytes.size() > kMaxRequestBytes) {
    return BadInput(fmt::format("OTLP request of {} bytes: larger than {} MiB", request.size(),
                                kMaxRequestBytes >> 20),
                    "send smaller batches");
  }
  ReserveFor(request, out);
  const decode::BatchMark mark(out);
  decode::DecodeReport own;
  ProtobufDecoder decoder(request, options, out, own);
  try {
    decoder.Request(request);
  } catch (const protozero::exception& problem) {
    mark.RollBack(out);
    return BadInput(fmt::format("OTLP protobuf: {} at byte {} of {}", problem.what(),
                                decoder.at() - request.data(), request.size()),
                    "check that the body is an ExportTraceServiceRequest and was sent whole");
  }
  report.Add(own);
  return {};
}

}  // namespace wf::otlp
