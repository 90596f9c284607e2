#include "answer/trace/stacks_json.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "answer/trace/waterfall_json.h"

namespace wf::answer {
namespace {

// The block a sample belongs to, or kNone where the annotation is no stack, or on neither point nor block.
uint32_t SampledBlock(const Trace& trace, const Annotation& annotation) {
  if (annotation.kind != AnnotationKind::kStack || annotation.value.type != ValueType::kString ||
      annotation.value.text.empty()) {
    return kNone;
  }
  if (annotation.element == ElementKind::kBlock) return annotation.index;
  if (annotation.element == ElementKind::kPoint) return trace.points[annotation.index].block;
  return kNone;
}

// Stacks that begin alike share their beginning: frame i is called by frame parent[i] (-1: the outermost).
class FrameTree {
 public:
  // Frames are separated by newlines, or by ';' where there is none; the outermost comes first.
  int64_t Add(std::string_view stack) {
    const char separator = stack.find('\n') == std::string_view::npos ? ';' : '\n';
    int64_t at = -1;
    while (!stack.empty()) {
      const size_t end = std::min(stack.find(separator), stack.size());
      if (end > 0) at = Child(at, stack.substr(0, end));
      stack.remove_prefix(std::min(end + 1, stack.size()));
    }
    return at;
  }

  void Write(JsonWriter& json) const {
    json.Key("strings").BeginArray();
    for (uint32_t i = 0; i < names_.size(); ++i) json.String(names_.At(i));
    json.EndArray().Key("frames").BeginObject().Key("parent").BeginArray();
    for (const int64_t parent : parent_) json.Int(parent);
    json.EndArray().Key("name").BeginArray();
    for (const uint32_t name : name_) json.Int(name);
    json.EndArray().EndObject();
  }

 private:
  int64_t Child(int64_t parent, std::string_view frame) {
    const uint32_t name = names_.Intern(frame);
    const auto [at, fresh] =
        children_.try_emplace({parent, name}, static_cast<int64_t>(parent_.size()));
    if (fresh) {
      parent_.push_back(parent);
      name_.push_back(name);
    }
    return at->second;
  }

  StringTable names_;
  std::map<std::pair<int64_t, uint32_t>, int64_t> children_;
  std::vector<int64_t> parent_;
  std::vector<uint32_t> name_;
};

struct Sample {
  Nanos time, length;  // length 0: an instant
  int64_t unit, block, stack;
  auto Key() const { return std::tie(time, unit, block, length, stack); }
};

void Column(JsonWriter& json, std::string_view key, const std::vector<Sample>& samples,
            int64_t Sample::*member) {
  json.Key(key).BeginArray();
  for (const Sample& sample : samples) json.Int(sample.*member);
  json.EndArray();
}

}  // namespace

bool IsStackSample(const Trace& trace, uint32_t point) {
  const auto [begin, end] = trace.annotations_of(ElementKind::kPoint, point);
  const bool stack =
      std::any_of(begin, end, [](const Annotation& a) { return a.kind == AnnotationKind::kStack; });
  return stack && std::none_of(begin, end, [](const Annotation& a) {
           return a.kind == AnnotationKind::kLabel && a.name == "marker";
         });
}

std::vector<uint32_t> StackSamplesByUnit(const Trace& trace) {
  std::vector<uint32_t> samples(trace.units.size(), 0);
  for (const Annotation& annotation : trace.annotations) {
    const uint32_t block = SampledBlock(trace, annotation);
    if (block != kNone) ++samples[trace.blocks[block].unit];
  }
  return samples;
}

void WriteStacks(const Trace& trace, JsonWriter& json) {
  const WaterfallOrder order = DepthFirst(trace);
  std::vector<uint32_t> position(trace.blocks.size(), 0);
  for (uint32_t i = 0; i < order.blocks.size(); ++i) position[order.blocks[i]] = i;
  FrameTree frames;
  std::vector<Sample> samples;
  for (const Annotation& annotation : trace.annotations) {
    const uint32_t b = SampledBlock(trace, annotation);
    if (b == kNone) continue;
    const Block& block = trace.blocks[b];
    const bool whole = annotation.element == ElementKind::kBlock;
    const Nanos time = whole ? block.start_ns : trace.points[annotation.index].time_ns;
    samples.push_back({SaturatingSub(time, trace.start_ns), whole ? block.duration() : 0,
                       block.unit, position[b], frames.Add(annotation.value.text)});
  }
  std::sort(samples.begin(), samples.end(),
            [](const Sample& a, const Sample& b) { return a.Key() < b.Key(); });
  json.BeginObject();
  json.Field("trace_id", ToHex(trace.id))
      .Field("start_ns", trace.start_ns)
      .Field("end_ns", trace.end_ns)
      .Field("clock", trace.clock == ClockMode::kAligned ? "aligned" : "raw");
  frames.Write(json);
  json.Key("samples").BeginObject();
  Column(json, "time", samples, &Sample::time);
  Column(json, "length", samples, &Sample::length);
  Column(json, "unit", samples, &Sample::unit);
  Column(json, "block", samples, &Sample::block);
  Column(json, "stack", samples, &Sample::stack);
  json.EndObject().EndObject();
}

}  // namespace wf::answer
