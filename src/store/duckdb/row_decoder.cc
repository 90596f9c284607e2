#include "store/duckdb/row_decoder.h"

#include <algorithm>
#include <cstring>

namespace wf {

RowDecoder::RowDecoder(const Part& part, std::vector<const Segment*> segments, const DictionarySource& dictionaries)
    : part_(part), segments_(std::move(segments)), dictionaries_(dictionaries), staged_(segments_.size()),
      place_(kEventColumns, -1) {
  for (size_t i = 0; i < part.selected().size(); ++i) place_[part.selected()[i]] = static_cast<int>(i);
}

Status RowDecoder::AddRow(const duck::Chunk& chunk, size_t i) {
  const auto number = [&]<typename T>(EventColumn column, T fallback) {
    return place_[column] < 0 ? fallback : chunk.Column<T>(static_cast<size_t>(place_[column]))[i];
  };
  const auto text = [&](EventColumn column) {
    return place_[column] < 0 ? std::string_view() : chunk.Text(static_cast<size_t>(place_[column]), i);
  };
  const uint32_t block = number(kColBlock, uint32_t{0});
  const auto found = std::partition_point(segments_.begin(), segments_.end(),
                                          [&](const Segment* s) { return s->last_block < block; });
  if (found == segments_.end() || block < (*found)->first_block) return {};  // another tenant's, or not asked for
  const Segment& segment = **found;
  Staged& staged = staged_[static_cast<size_t>(found - segments_.begin())];
  if (staged.dictionary == nullptr) {
    WF_ASSIGN(staged.dictionary, dictionaries_(segment));
    staged.batch = std::make_shared<EventBatch>(staged.dictionary->base);
    staged.batch->tenant = segment.tenant;
  }
  const SegmentDictionary& dictionary = *staged.dictionary;
  EventBatch& b = *staged.batch;
  const uint32_t shape_number = number(kColShape, uint32_t{0}) - segment.first_shape;
  if (shape_number >= dictionary.shapes.size()) {
    return EnvironmentError("store: " + part_.path() + ": a row names an unknown shape",
                            "the part file is damaged; restore the store from a copy");
  }
  const Shape& shape = dictionary.shapes[shape_number];
  const TraceId trace{number(kColTraceHi, uint64_t{0}), number(kColTraceLo, uint64_t{0})};
  if (!b.empty() && b.trace_id(b.size() - 1) != trace) EndTrace(staged);

  b.AddRow();
  b.trace_hi.back() = trace.hi;
  b.trace_lo.back() = trace.lo;
  b.id1.back() = number(kColId1, uint64_t{0});
  b.id2.back() = number(kColId2, uint64_t{0});
  const int64_t start = number(kColStart, int64_t{0});
  b.start_ns.back() = start;
  b.end_ns.back() =
      static_cast<int64_t>(static_cast<uint64_t>(start) + static_cast<uint64_t>(number(kColDuration, int64_t{0})));
  b.type.back() = static_cast<EventType>(shape.type);
  b.kind.back() = static_cast<SpanKind>(shape.kind);
  b.status.back() = static_cast<SpanStatus>(shape.status);
  b.parent_ref.back() = static_cast<ParentRef>(shape.parent_ref);
  b.marks.back() = shape.marks;
  b.flags.back() = shape.flags;
  b.name.back() = shape.name;
  b.status_message.back() = b.strings.Intern(text(kColStatusMessage));
  b.tracestate.back() = b.strings.Intern(text(kColTracestate));
  b.process.back() = shape.process;
  b.scope.back() = shape.scope;
  b.SetSequence(number(kColSequence, kNoSequence));
  b.SetSource(static_cast<Source>(shape.source), number(kColProbability, 1.0f));
  const int64_t received = number(kColReceived, int64_t{0});
  if (b.size() == 1) b.received_ns = received;
  b.SetReceived(received);
  staged.parents.push_back(number(kColParent, uint32_t{0}));

  const Layout& layout = dictionary.layouts[shape.layout];
  if (shape.layout == 0) {
    b.bytes.append(text(kColMore));
  } else {
    ArrayReader more(text(kColMore));
    Value value;
    for (const LayoutEntry& entry : layout) {
      PutVarint(entry.key, b.bytes);
      if (entry.column == kNoColumn) {
        if (!more.Next(value)) {
          return EnvironmentError("store: " + part_.path() + ": a row lacks an attribute of its layout",
                                  "the part file is damaged; restore the store from a copy");
        }
        PutValue(value, b.bytes);
        continue;
      }
      const auto column = static_cast<EventColumn>(entry.column);
      if (entry.type == static_cast<uint8_t>(ValueType::kString)) {
        PutString(text(column), b.bytes);
        continue;
      }
      const int64_t bits = number(column, int64_t{0});
      if (entry.type == static_cast<uint8_t>(StoredType::kHex16)) {
        b.bytes.push_back(static_cast<char>(ValueType::kString));
        PutVarint(16, b.bytes);
        AppendHex16(static_cast<uint64_t>(bits), b.bytes);
      } else if (entry.type == static_cast<uint8_t>(ValueType::kInt)) {
        PutInt(bits, b.bytes);
      } else if (entry.type == static_cast<uint8_t>(ValueType::kBool)) {
        PutBool(bits != 0, b.bytes);
      } else {
        double real;
        std::memcpy(&real, &bits, 8);
        PutDouble(real, b.bytes);
      }
    }
  }
  b.EndAttributes();
  b.bytes.append(text(kColPoints));
  b.EndPoints();
  b.bytes.append(text(kColLinks));
  b.EndLinks();
  return {};
}

void RowDecoder::EndTrace(Staged& staged) {
  EventBatch& b = *staged.batch;
  for (size_t i = staged.trace_begin; i < b.size(); ++i) {
    const uint32_t place = staged.parents[i];
    if (place != 0 && staged.trace_begin + place <= b.size()) b.id2[i] = b.id1[staged.trace_begin + place - 1];
  }
  staged.trace_begin = b.size();
}

std::shared_ptr<const EventBatch> RowDecoder::TakeWholeTraces() {
  Staged& staged = staged_.front();
  if (staged.batch == nullptr || staged.trace_begin == 0) return nullptr;
  // The last trace may go on in the next chunk: its rows move to a fresh batch.
  auto fresh = std::make_shared<EventBatch>(staged.dictionary->base);
  fresh->tenant = staged.batch->tenant;
  fresh->received_ns = staged.batch->received_ns;
  RowCopier copier(*staged.batch, *fresh);
  for (size_t i = staged.trace_begin; i < staged.batch->size(); ++i) copier.Copy(i);
  while (staged.batch->size() > staged.trace_begin) staged.batch->DropLastRow();
  std::shared_ptr<const EventBatch> whole = std::move(staged.batch);
  staged.batch = std::move(fresh);
  staged.parents.erase(staged.parents.begin(), staged.parents.begin() + static_cast<ptrdiff_t>(staged.trace_begin));
  staged.trace_begin = 0;
  return whole;
}

BatchList RowDecoder::Finish(std::vector<uint64_t>* segments) {
  BatchList out;
  for (size_t i = 0; i < staged_.size(); ++i) {
    Staged& staged = staged_[i];
    if (staged.batch == nullptr) continue;
    EndTrace(staged);
    if (segments != nullptr) segments->push_back(segments_[i]->id);
    out.push_back(std::move(staged.batch));
  }
  return out;
}

}  // namespace wf
