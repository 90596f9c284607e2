// A received span is one event and becomes one block; its span events become points. Its unit and edges follow from
// its parent, process and thread once all spans are linked (span_units.cc).
#include "model/event_handlers.h"

namespace wf {
namespace {

void ReadAttributes(BuildState& state, uint32_t row, Block& block) {
  AttributeReader reader(state.events.attrs(row));
  uint32_t key;
  Value value;
  while (reader.Next(key, value)) {
    if (key == state.thread_key) {
      // Nearly always the thread of the span before.
      if (value.type == ValueType::kInt && state.last_thread != 0 &&
          value.integer == state.last_thread_id) {
        block.thread = state.last_thread;
        continue;
      }
      block.thread = state.trace.Intern(ValueText(value));
      if (value.type == ValueType::kInt) {
        state.last_thread = block.thread;
        state.last_thread_id = value.integer;
      }
    } else if (key == state.async_key) {
      // As a text too: Zipkin's tags know nothing else.
      const bool async = value.type == ValueType::kBool     ? value.boolean
                         : value.type == ValueType::kString ? value.text == "true"
                                                            : false;
      if (async) block.marks |= kBlockAsync;
    }
  }
}

}  // namespace

void HandleSpan(BuildState& state, uint32_t row) {
  const EventBatch& events = state.events;
  Trace& trace = state.trace;
  const uint64_t id = events.id1[row];
  const uint32_t first = id == 0 ? kNone : state.block_by_id.Find(id);
  if (first != kNone) {
    // Content and id in one word; of 2^32 different spans of one trace two would collide.
    const auto content = [&](uint32_t of) { return MixBits(ContentHash(events, of).lo + id); };
    auto& group = state.same_id[id];
    if (group.empty()) {
      group.push_back(first);
      if (trace.blocks[first].row != kNone)
        state.same_id_content.insert(content(trace.blocks[first].row));
    }
    if (!state.same_id_content.insert(content(row)).second) {
      ++trace.doubles;  // sent twice; a store removes these, a live batch may hold them
      return;
    }
    group.push_back(static_cast<uint32_t>(trace.blocks.size()));
  }

  const uint32_t b = state.AddBlock(id, row);
  Block& block = trace.blocks[b];
  if (first == kNone && id != 0) state.block_by_id.Insert(id, b);
  if (id == 0) block.id = DeriveId(ContentHash(events, row).lo, kRoleDuplicate);
  block.kind = static_cast<BlockKind>(events.kind[row]);
  block.status = events.status[row];
  block.status_message = events.status_message[row];
  block.name = events.name[row];
  block.reference = events.parent_ref[row];
  block.marks = kBlockUnlinked;
  state.parent_ids[b] = events.id2[row];

  const uint8_t marks = events.marks[row];
  block.raw_start_ns = events.start_ns[row];
  block.raw_end_ns = events.end_ns[row];
  block.start_ns = state.Align(events.process[row], block.raw_start_ns);
  block.end_ns = state.Align(events.process[row], block.raw_end_ns);
  if (!(marks & kHasStart)) block.marks |= kBlockNoStart;
  if (!(marks & kHasEnd)) block.marks |= kBlockNoEnd;
  if (state.thread_key != kNone || state.async_key != kNone) ReadAttributes(state, row, block);

  PointReader points(events.points(row));
  for (PackedPoint packed; points.Next(packed);) {
    const uint32_t p = state.AddPoint(b, PointType::kEvent, packed.time_ns,
                                      state.Align(events.process[row], packed.time_ns),
                                      0);  // MendPoints names it
    Point& point = trace.points[p];
    point.name = packed.name;
    if (!packed.attrs.empty()) {
      point.attrs_begin = static_cast<uint32_t>(packed.attrs.data() - events.bytes.data());
      point.attrs_end = point.attrs_begin + static_cast<uint32_t>(packed.attrs.size());
    }
  }
}

}  // namespace wf
